package checker

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// reign is a stretch of time in which enough nodes held a client's value for
// the lock to be granted. A node holds it when all the keys do that are locked as
// one.
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
	lives := ks.of(holder, owner)
	out := reignsOf(lives, ix.h.Header.Topology.Quorum, ix.together())
	if ix.ordered {
		out = ix.bridge(out, lives)
	}
	ks.quorum[value] = out
	return out
}

// together is how many keys of a node are locked as one.
func (ix *index) together() int { return 1 + len(ix.h.Header.Lock.Also) }

// bridge joins reigns between which the value only waited for a primary: when
// the old one was demoted there was no other, and the next one was promoted with
// the value. As long as none is, nothing has ended it.
func (ix *index) bridge(reigns []reign, lives []*life) []reign {
	var out []reign
	for _, r := range reigns {
		if n := len(out) - 1; n >= 0 && out[n].last.how == demoted {
			at, vacant := ix.vacancy(out[n].last)
			if vacant && r.from == at && slices.ContainsFunc(lives, func(l *life) bool { return l.from == at && l.since < at }) {
				out[n].to, out[n].last = r.to, r.last
				continue
			}
		}
		out = append(out, r)
	}
	if n := len(out) - 1; n >= 0 && out[n].last != nil && out[n].last.how == demoted {
		if at, vacant := ix.vacancy(out[n].last); vacant && at == forever {
			out[n].to, out[n].last = forever, nil
		}
	}
	return out
}

// reignsOf sweeps over the lives' beginnings and ends. At one instant the
// beginnings come first: a value that went from one node at the instant in which
// it came to another was held throughout.
func reignsOf(lives []*life, quorum, keys int) []reign {
	if quorum == 1 && keys == 1 && len(lives) == 1 {
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
	held := newHeld(keys)
	for _, e := range edges {
		before := held.nodes
		held.add(e.life.place, e.step)
		switch {
		case before < quorum && held.nodes == quorum:
			out = append(out, reign{span{e.at, forever}, nil})
		case before == quorum && held.nodes < quorum:
			out[len(out)-1].to, out[len(out)-1].last = e.at, e.life
		}
	}
	return out
}

// held counts the nodes that hold a value.
type held struct {
	keys   int // of a node that must have it
	lives  map[place]int
	having map[string]int // by node: its keys that have it
	nodes  int
}

func newHeld(keys int) *held {
	return &held{keys: keys, lives: map[place]int{}, having: map[string]int{}}
}

// add takes a life that begins (+1) or ends (-1).
func (h *held) add(at place, step int) {
	switch h.lives[at] += step; {
	case step > 0 && h.lives[at] == 1:
		if h.having[at.node]++; h.having[at.node] == h.keys {
			h.nodes++
		}
	case step < 0 && h.lives[at] == 0:
		if h.having[at.node]--; h.having[at.node] == h.keys-1 {
			h.nodes--
		}
	}
}

// heldBy returns how many nodes hold the value whose lives these are.
func (ix *index) heldBy(lives []*life) int {
	held := newHeld(ix.together())
	for _, l := range lives {
		held.add(l.place, +1)
	}
	return held.nodes
}

// served returns how long the servers held a lease for its client: the newest
// reign of its value that meets the time from the call of Acquire to its
// return, or that of an acquire nested in it. It is false when they had never
// granted it.
func (ix *index) served(l *lease) (reign, bool) { return ix.servedBy(l, forever) }

// servedBy is served for what had been acquired by t.
func (ix *index) servedBy(l *lease, t time.Duration) (reign, bool) {
	reigns := ix.reigns(l.client.name, l.owner)
	for _, n := range slices.Backward(ix.nested[l.acquire]) {
		if ix.ops[n].to <= t {
			if r, ok := newestIn(reigns, ix.ops[n].span); ok {
				return r, true
			}
		}
	}
	return newestIn(reigns, ix.ops[l.acquire].span)
}

// newestIn returns the newest reign that meets s.
func newestIn(reigns []reign, s span) (reign, bool) {
	k := sort.Search(len(reigns), func(k int) bool { return reigns[k].from > s.to }) - 1
	if k < 0 || !reigns[k].meets(s) {
		return reign{}, false
	}
	return reigns[k], true
}

// expiryOf returns when the servers will have ended a client's value, as they
// knew it at t: when it leaves a node without which there is no quorum. It is
// false when fewer nodes ever had it.
func (ix *index) expiryOf(holder, owner string, since, t time.Duration) (time.Duration, bool) {
	best := map[place]time.Duration{}
	for _, l := range ix.keys().of(holder, owner) {
		if l.from <= t && l.to >= since {
			best[l.place] = max(best[l.place], l.expiryAt(t))
		}
	}
	nodes := map[string][]time.Duration{} // when its keys will be gone
	for at, e := range best {
		nodes[at.node] = append(nodes[at.node], e)
	}
	var ends []time.Duration
	for _, keys := range nodes {
		switch {
		case ix.together() == 1:
			ends = append(ends, slices.Max(keys))
		case len(keys) >= ix.together():
			ends = append(ends, slices.Min(keys))
		}
	}
	quorum := ix.h.Header.Topology.Quorum
	if len(ends) < quorum || quorum < 1 {
		return 0, false
	}
	slices.Sort(ends)
	return ends[len(ends)-quorum], true
}
