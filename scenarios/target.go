package scenarios

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"lockpick/faults"
)

// Whether a fault can strike a Sentinel.
const (
	withSentinels    = true
	withoutSentinels = false
)

// clientField reads the client that a fault strikes.
func clientField(word string) field[draft] {
	return field[draft]{name: word, required: true, read: func(r *reader, n *yaml.Node, d *draft) {
		if name, ok := r.text(n, word); ok {
			d.client, _ = r.client(n, name, d.scenario.Workload.Clients)
		}
	}}
}

// nodeField reads the node of the lock that a fault strikes.
func nodeField(word string, sentinels bool) field[draft] {
	return field[draft]{name: word, required: true, read: func(r *reader, n *yaml.Node, d *draft) {
		name, ok := r.text(n, word)
		switch {
		case !ok:
		case beyond(name, sentinels):
			r.wrong(n, "%s strikes the nodes of the lock, and %q is not one of them; expected a node such as redis-1", word, name)
		default:
			d.node = r.node(n, name, d.scenario.Topology)
		}
	}}
}

// partyField reads the client or the node of the lock that a fault strikes.
func partyField(word string, sentinels bool) field[draft] {
	return field[draft]{name: word, required: true, read: func(r *reader, n *yaml.Node, d *draft) {
		name, ok := r.text(n, word)
		switch {
		case !ok:
			return
		case beyond(name, sentinels):
			r.wrong(n, "%s strikes clients and the nodes of the lock, and %q is neither; expected one such as client-1 or redis-1", word, name)
			return
		}
		if party := r.party(n, name, d.scenario); party.Kind == faults.Client {
			d.client = party.Name
		} else {
			d.node = party.Name
		}
	}}
}

// beyond reports whether a node cannot be struck but over its links.
func beyond(node string, sentinels bool) bool {
	return node == Store || !sentinels && sentinelText.MatchString(node)
}

// linkField reads the two ends of a link: a client and a node, or two nodes.
func linkField(word string) field[draft] {
	return field[draft]{name: word, required: true, read: func(r *reader, n *yaml.Node, d *draft) {
		const example = "of a client and a node, such as [client-1, redis-1], or of two nodes, such as [redis-1, redis-2]"
		ends, ok := r.list(n, word, example)
		switch {
		case !ok:
			return
		case len(ends) != 2:
			r.wrong(n, "%s has %d ends; expected a list %s", word, len(ends), example)
			return
		}
		first, okFirst := r.text(ends[0], "the first end of "+word)
		second, okSecond := r.text(ends[1], "the second end of "+word)
		switch {
		case !okFirst || !okSecond:
		case isNode(first) && clientText.MatchString(second):
			r.wrong(ends[0], "%s names the node first; expected the client first, as in [client-1, redis-1]", word)
		case isNode(first):
			d.link = r.peers(word, ends, d.scenario.Topology)
		default:
			d.link.Client, _ = r.client(ends[0], first, d.scenario.Workload.Clients)
			d.link.Node = r.node(ends[1], second, d.scenario.Topology)
		}
	}}
}

// peers reads a link between two nodes.
func (r *reader) peers(word string, ends []*yaml.Node, t Topology) faults.Link {
	for _, end := range ends {
		if end.Value == Store {
			r.wrong(end, "only clients have a link to %q; expected a client and %s, or two nodes of the lock", Store, Store)
			return faults.Link{}
		}
	}
	l := faults.Link{Peer: r.node(ends[0], ends[0].Value, t), Node: r.node(ends[1], ends[1].Value, t)}
	if l.Peer == l.Node && l.Peer != "" {
		r.wrong(ends[1], "both ends of %s are %s; expected two nodes", word, l.Node)
	}
	return l
}

// directionField follows the link. That between two nodes has no direction: which
// of them speaks first depends on who is the primary.
var directionField = field[draft]{name: "direction", read: func(r *reader, n *yaml.Node, d *draft) {
	v, ok := choice(r, n, "direction", []faults.Direction{faults.Both, faults.ToNode, faults.ToClient})
	switch {
	case !ok:
	case v != faults.Both && d.link.Peer != "":
		r.wrong(n, "direction is %s, and a link between two nodes is struck both ways; expected both, or no direction", v)
	default:
		d.direction = v
	}
}}

// readSide reads one side of a partition.
func readSide(r *reader, n *yaml.Node, d *draft) {
	const example = "of clients and nodes, such as [client-1, redis-1]"
	items, ok := r.list(n, "partition", example)
	if ok && len(items) == 0 {
		r.wrong(n, "partition names nobody, so nothing would be cut; expected a list %s", example)
	}
	for _, item := range items {
		name, ok := r.text(item, "a name in partition")
		if !ok {
			continue
		}
		switch party := r.party(item, name, d.scenario); {
		case party.Name == "":
		case slices.Contains(d.side, party):
			r.wrong(item, "%s is listed twice in partition; expected it once", party.Name)
		default:
			d.side = append(d.side, party)
		}
	}
	clients, nodes := d.scenario.Workload.Clients, d.scenario.Topology.nodes()
	if all := clients + nodes + d.scenario.Topology.sentinels() + 1; clients > 0 && nodes > 0 && len(d.side) == all {
		r.wrong(n, "partition names everybody, so nothing would be cut; expected one side alone")
	}
}
