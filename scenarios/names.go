package scenarios

import (
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"lockpick/faults"
)

var (
	clientText   = regexp.MustCompile(`^client-([1-9][0-9]{0,8})$`)
	nodeText     = regexp.MustCompile(`^redis-([1-9][0-9]{0,8})$`)
	sentinelText = regexp.MustCompile(`^sentinel-([1-9][0-9]{0,8})$`)
)

// isNode reports whether word is what a node is called, be there such a node or
// not.
func isNode(word string) bool {
	return word == Store || nodeText.MatchString(word) || sentinelText.MatchString(word)
}

// nodes is how many nodes of the lock some version can have, at most; 0 when that
// cannot be told.
func (t Topology) nodes() int {
	if t.Quorum == 0 || t.Redis == Sentinel && t.Replicas == 0 {
		return 0
	}
	return max(t.Quorum, 1+t.Replicas)
}

// sentinels is how many Sentinels there are.
func (t Topology) sentinels() int {
	if t.Redis == Sentinel {
		return Sentinels
	}
	return 0
}

// has reports whether there is a node of that name, or may be one.
func (t Topology) has(node string) bool {
	if m := nodeText.FindStringSubmatch(node); m != nil {
		return t.nodes() == 0 || number(m[1]) <= t.nodes()
	}
	if m := sentinelText.FindStringSubmatch(node); m != nil {
		return t.Redis == "" || number(m[1]) <= t.sentinels()
	}
	return node == Store
}

// list says which nodes there are, for a message.
func (t Topology) list() string {
	list := []string{oneTo(NodeName, t.nodes())}
	if n := t.sentinels(); n > 0 {
		list = append(list, oneTo(SentinelName, n))
	}
	return enumerate(append(list, Store), "and")
}

// candidates are the names of the nodes, for somebody who has misspelt one.
func (t Topology) candidates() []string {
	list := []string{Store}
	for i := range max(t.nodes(), 1) {
		list = append(list, NodeName(i+1))
	}
	for i := range t.sentinels() {
		list = append(list, SentinelName(i+1))
	}
	return list
}

// clientCandidates are the names of the clients, or the first of them.
func clientCandidates(clients int) []string {
	var list []string
	for i := range min(max(clients, 1), 9) {
		list = append(list, ClientName(i+1))
	}
	return list
}

// client reads the name of one of the scenario's clients; 0 of them means that
// their number is unknown. Where the name stands, the words in also would do.
func (r *reader) client(n *yaml.Node, word string, clients int, also ...string) (string, bool) {
	m := clientText.FindStringSubmatch(word)
	switch {
	case m != nil && (clients == 0 || number(m[1]) <= clients):
		return word, true
	case m != nil:
		r.wrong(n, "client %s does not exist; the workload has %s", quote(word), oneTo(ClientName, clients))
	case isNode(word):
		r.wrong(n, "%s is a node; expected a client, such as client-1", quote(word))
	default:
		r.wrong(n, "%s is no client; %s", quote(word), meant(word, append(also, clientCandidates(clients)...)))
	}
	return "", false
}

// node reads the name of one of the topology's nodes, "" when it is none.
func (r *reader) node(n *yaml.Node, word string, t Topology) string {
	switch {
	case t.has(word):
		return word
	case isNode(word):
		r.wrong(n, "node %s does not exist; the topology has %s", quote(word), t.list())
	case clientText.MatchString(word):
		r.wrong(n, "%s is a client; expected a node, such as redis-1", quote(word))
	default:
		r.wrong(n, "%s is no node; %s", quote(word), meant(word, t.candidates()))
	}
	return ""
}

// party reads the name of a client or a node. Its Name is "" when it is neither.
func (r *reader) party(n *yaml.Node, word string, s *Scenario) faults.Use {
	switch {
	case clientText.MatchString(word):
		name, _ := r.client(n, word, s.Workload.Clients)
		return faults.Use{Name: name, Kind: faults.Client}
	case isNode(word):
		return faults.Use{Name: r.node(n, word, s.Topology), Kind: faults.Node}
	}
	candidates := append(clientCandidates(s.Workload.Clients), s.Topology.candidates()...)
	r.wrong(n, "%s is no client and no node; %s", quote(word), meant(word, candidates))
	return faults.Use{}
}

// number is the value of digits that a pattern has let through.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// oneTo writes the names from 1 to n.
func oneTo(name func(int) string, n int) string {
	if n == 1 {
		return name(1) + " alone"
	}
	return fmt.Sprintf("%s to %s", name(1), name(n))
}
