package checker

import (
	"sort"
	"time"

	"lockpick/checker/history"
)

// Where one of several nodes is the primary of the others, a key's life counts
// on a node only while that node takes itself for the primary: the replicas
// repeat what it did. Nodes that vote all count, whatever they replicate.

// turn is what a node is from a record on.
type turn struct {
	at      time.Duration
	record  int // -1 for what it is from the start
	primary bool
}

// firstRoles gives the nodes the roles that the header says.
func (ix *index) firstRoles() {
	t := ix.h.Header.Topology
	if t.Primary == "" || t.Quorum > 1 {
		return
	}
	ix.ordered = true
	for _, n := range t.Nodes {
		ix.turns[n] = []turn{{0, -1, n == t.Primary}}
	}
}

// turn takes record i of a node's role.
func (ix *index) turn(i int) {
	r := ix.rec(i)
	primary := r.Text == history.Primary
	if !ix.nodes[r.Who] || ix.h.Header.Topology.Quorum > 1 || ix.primary(r.Who, i) == primary {
		return
	}
	ix.ordered = true
	ix.turns[r.Who] = append(ix.turns[r.Who], turn{r.T, i, primary})
}

// primary reports whether a node took itself for the primary before record i;
// every node does that has no role.
func (ix *index) primary(node string, i int) bool {
	turns := ix.turns[node]
	k := sort.Search(len(turns), func(k int) bool { return turns[k].record >= i }) - 1
	return k < 0 || turns[k].primary
}

// counts reports whether record i, of a node, is of one that counts.
func (ix *index) counts(i int) bool { return !ix.ordered || ix.primary(ix.rec(i).Who, i) }

// promoted returns the node that was the last to become the primary, by t, and
// when; the first primary's turn has no record. It is false where the nodes have
// no roles.
func (ix *index) promoted(t time.Duration) (node string, last turn, ok bool) {
	if !ix.ordered {
		return "", turn{}, false
	}
	for _, n := range ix.h.Header.Topology.Nodes {
		for _, u := range ix.turns[n] {
			if u.primary && u.at <= t && (!ok || u.record > last.record) {
				node, last, ok = n, u, true
			}
		}
	}
	return node, last, ok
}

// vacancy reports whether there was no primary any more when life l ended with
// its node's demotion, and when the next one was promoted; forever when none was.
func (ix *index) vacancy(l *life) (until time.Duration, vacant bool) {
	until = forever
	for node, turns := range ix.turns {
		if node != l.node && ix.primary(node, l.end) {
			return 0, false
		}
		for _, u := range turns {
			if u.primary && u.record > l.end {
				until = min(until, u.at)
			}
		}
	}
	return until, true
}

// without says which node had been promoted by t without the value that a client
// had by then, and the record of it; "" when none had.
func (ix *index) without(holder, owner string, t time.Duration) (text string, record int) {
	node, u, ok := ix.promoted(t)
	if !ok || u.record < 0 {
		return "", -1
	}
	newest := time.Duration(-1)
	for _, l := range ix.keys().of(holder, owner) {
		if l.from <= t {
			newest = max(newest, l.from)
		}
	}
	if newest < 0 || newest >= u.at {
		return "", -1 // it came later, or with the node
	}
	return phrase("%s was promoted at %v without the key", node, u.at), u.record
}

// follower returns the life of a client's value that ended by t on the node that
// was promoted last, while an older primary may have it still; or nil.
func (ix *index) follower(l *lease, t time.Duration) *life {
	node, _, ok := ix.promoted(t)
	var last *life
	for _, life := range ix.keys().of(l.client.name, l.owner) {
		if ok && life.node == node && life.to <= t && life.to >= l.from {
			last = life
		}
	}
	return last
}

// apart says that two primaries at once have a value each at t, or "".
func (ix *index) apart(x, y *lease, t time.Duration) string {
	on := func(l *lease) string {
		for _, life := range ix.keys().of(l.client.name, l.owner) {
			if life.covers(t) {
				return life.node
			}
		}
		return ""
	}
	a, b := on(x), on(y)
	if !ix.ordered || a == "" || b == "" || a == b {
		return ""
	}
	return phrase("%s had granted it to %s and %s to %s, each as the primary", a, x.client.name, b, y.client.name)
}
