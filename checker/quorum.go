package checker

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// reign is a stretch of time in which enough nodes held a client's value for
// the lock to be granted.
type reign struct {
	span
	last *life // whose end broke it; nil while it lasts
}

// reigns returns the reigns of a client's value, in order.
func (ix *index) reigns(holder, owner string) []reign {
	ks := ix.keys()
	value := owned(holder, owner)
	if out, ok := ks.quorum[value]; ok {
		return out
	}
	out := reignsOf(ks.of(holder, owner), ix.h.Header.Topology.Quorum)
	ks.quorum[value] = out
	return out
}

// reignsOf sweeps over the lives' beginnings and ends. At one instant the
// beginnings come first: a value that went from one node at the instant in which
// it came to another was held throughout.
func reignsOf(lives []*life, quorum int) []reign {
	if quorum == 1 && len(lives) == 1 {
		l := lives[0]
		if l.to == forever {
			return []reign{{l.span, nil}}
		}
		return []reign{{l.span, l}}
	}
	type edge struct {
		at   time.Duration
		step int
		life *life
	}
	edges := make([]edge, 0, 2*len(lives))
	for _, l := range lives {
		edges = append(edges, edge{l.from, +1, l})
		if l.to != forever {
			edges = append(edges, edge{l.to, -1, l})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step))
	})
	var out []reign
	n := 0                   // nodes that hold the value
	held := map[string]int{} // by node: its keys that do
	for _, e := range edges {
		before := n
		held[e.life.node] += e.step
		switch count := held[e.life.node]; {
		case e.step > 0 && count == 1:
			n++
		case e.step < 0 && count == 0:
			n--
		}
		switch {
		case before < quorum && n == quorum:
			out = append(out, reign{span{e.at, forever}, nil})
		case before == quorum && n < quorum:
			out[len(out)-1].to, out[len(out)-1].last = e.at, e.life
		}
	}
	return out
}

// served returns how long the servers held a lease for its client: the newest
// reign of its value that meets the time from the call of Acquire to its
// return. It is false when they had never granted it.
func (ix *index) served(l *lease) (reign, bool) {
	during := ix.ops[l.acquire].span
	reigns := ix.reigns(l.client.name, l.owner)
	k := sort.Search(len(reigns), func(k int) bool { return reigns[k].from > during.to }) - 1
	if k < 0 || !reigns[k].meets(during) {
		return reign{}, false
	}
	return reigns[k], true
}

// expiryOf returns when the servers will have ended a client's value, as they
// knew it at t: when it leaves a node without which there is no quorum. It is
// false when fewer nodes ever had it.
func (ix *index) expiryOf(holder, owner string, since, t time.Duration) (time.Duration, bool) {
	best := map[string]time.Duration{} // by node
	for _, l := range ix.keys().of(holder, owner) {
		if l.from <= t && l.to >= since {
			best[l.node] = max(best[l.node], l.expiryAt(t))
		}
	}
	var ends []time.Duration
	for _, e := range best {
		ends = append(ends, e)
	}
	quorum := ix.h.Header.Topology.Quorum
	if len(ends) < quorum || quorum < 1 {
		return 0, false
	}
	slices.Sort(ends)
	return ends[len(ends)-quorum], true
}
