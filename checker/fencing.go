package checker

import (
	"cmp"
	"slices"

	"lockpick/checker/history"
)

func fencing() Check {
	return Check{
		Name:    "fencing",
		Letter:  "N",
		Promise: "Fences grow in the order of the grants, and the store never applies an older one after a newer one.",
		How: "A grant whose Acquire was called after that of another grant had returned must have a larger fence. Two " +
			"grants never have the same one, unless both are shared. What the store applied must come with fences that do " +
			"not fall; where the store was not observed, a write that was acknowledged before another one was called must " +
			"not have the larger fence. Grants and writes without a fence do not count. One sweep, O(n log n). Unknown when " +
			"no grant had a fence.",
		judge: judgeFencing,
	}
}

func judgeFencing(ix *index) Result {
	var fenced []int // leases
	highest := uint64(0)
	for i := range ix.leases {
		if f := ix.fence(i); f > 0 {
			fenced = append(fenced, i)
			highest = max(highest, f)
		}
	}
	if len(fenced) == 0 {
		return idle("no grant had a fence")
	}
	var ev evidence
	ix.fenceOrder(&ev, fenced)
	ix.sameFence(&ev, fenced)
	if !ix.applied(&ev) {
		ix.acknowledged(&ev)
	}
	return ev.result(
		Figure{Name: "grants with a fence", Value: float64(len(fenced))},
		Figure{Name: "highest fence", Value: float64(highest)})
}

func (ix *index) fence(lease int) uint64 { return ix.rec(ix.ops[ix.leases[lease].acquire].end).Fence }

// fenceOrder walks over the grants in the order in which they were called, with
// those in the order in which they returned running behind: the largest fence of
// what had returned must be smaller.
func (ix *index) fenceOrder(ev *evidence, fenced []int) {
	called := slices.Clone(fenced)
	slices.SortStableFunc(called, func(a, b int) int {
		return cmp.Compare(ix.ops[ix.leases[a].acquire].from, ix.ops[ix.leases[b].acquire].from)
	})
	newest := -1 // of those that had returned, the one with the largest fence
	next := 0    // fenced is in the order of the returns
	for _, b := range called {
		call := ix.ops[ix.leases[b].acquire].from
		for ; next < len(fenced) && ix.leases[fenced[next]].from < call; next++ {
			if a := fenced[next]; newest < 0 || ix.fence(a) > ix.fence(newest) {
				newest = a
			}
		}
		if newest < 0 || ix.fence(newest) <= ix.fence(b) {
			continue // that they are equal is told elsewhere
		}
		x, y := &ix.leases[newest], &ix.leases[b]
		cause := phrase("%s got fence %d at %v, after %s had got fence %d at %v",
			y.client.name, ix.fence(b), y.from, x.client.name, ix.fence(newest), x.from)
		ev.add(y.from, []string{y.client.name, x.client.name}, cause, ix.ops[x.acquire].end, ix.ops[y.acquire].end, ix.ops[y.acquire].begin)
	}
}

// sameFence finds grants with one and the same fence.
func (ix *index) sameFence(ev *evidence, fenced []int) {
	type firsts struct{ any, exclusive int } // leases; -1 when there is none
	first := map[uint64]firsts{}
	for _, b := range fenced {
		f, ok := first[ix.fence(b)]
		if !ok {
			f = firsts{-1, -1}
		}
		y := &ix.leases[b]
		a := f.any
		if y.shared {
			a = f.exclusive
		}
		if a >= 0 {
			x := &ix.leases[a]
			cause := phrase("%s, at %v, and %s, at %v, got the same fence %d",
				x.client.name, x.from, y.client.name, y.from, ix.fence(b))
			ev.add(y.from, []string{y.client.name, x.client.name}, cause, ix.ops[x.acquire].end, ix.ops[y.acquire].end)
		}
		if f.any < 0 {
			f.any = b
		}
		if f.exclusive < 0 && !y.shared {
			f.exclusive = b
		}
		first[ix.fence(b)] = f
	}
}

// applied judges the order in which the store applied writes. It is false when
// the store recorded none.
func (ix *index) applied(ev *evidence) bool {
	newest, seen := -1, false
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || r.Op != history.Apply {
			continue
		}
		seen = true
		switch {
		case r.Fence == 0:
		case newest < 0 || r.Fence >= ix.rec(newest).Fence:
			newest = i
		default:
			n := ix.rec(newest)
			cause := phrase("the store applied %s's write with fence %d at %v, after %s's with fence %d at %v",
				r.Client, r.Fence, r.T, n.Client, n.Fence, n.T)
			ev.add(r.T, []string{r.Client, n.Client}, cause, newest, i)
		}
	}
	return seen
}

// acknowledged judges the writes by what their clients learned.
func (ix *index) acknowledged(ev *evidence) {
	var writes []int // in the order of their calls
	for n := range ix.ops {
		if o := &ix.ops[n]; o.name == history.Write && o.outcome == history.OK && ix.rec(o.begin).Fence > 0 {
			writes = append(writes, n)
		}
	}
	ended := slices.Clone(writes)
	slices.SortStableFunc(ended, func(a, b int) int { return cmp.Compare(ix.ops[a].to, ix.ops[b].to) })
	fence := func(n int) uint64 { return ix.rec(ix.ops[n].begin).Fence }
	newest := -1
	for _, b := range writes {
		y := &ix.ops[b]
		for len(ended) > 0 && ix.ops[ended[0]].to < y.from {
			if newest < 0 || fence(ended[0]) > fence(newest) {
				newest = ended[0]
			}
			ended = ended[1:]
		}
		if newest < 0 || fence(newest) <= fence(b) {
			continue
		}
		x := &ix.ops[newest]
		cause := phrase("the store took %s's write with fence %d at %v, after %s's with fence %d at %v",
			y.client.name, fence(b), y.to, x.client.name, fence(newest), x.to)
		ev.add(y.to, []string{y.client.name, x.client.name}, cause, x.end, y.begin, y.end)
	}
}
