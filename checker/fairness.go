package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// definiteGap is how far apart two calls must lie to count as ordered when no
// node tells which came first. A message takes less.
const definiteGap = time.Second

func fairness() Check {
	return Check{
		Name:    "fairness",
		Letter:  "Q",
		Promise: "Nobody is overtaken more than k times.",
		How: "A client stands in line from the instant in which enough nodes had executed a command of its Acquire that " +
			"names the lock's key and did not fail; until it is granted the lock or gives up. It is overtaken by each Acquire " +
			"that another client called after that and that returned with the lock before, unless both share it. Calls of which the second came " +
			"before the first one's command had arrived are not ordered; where no node recorded commands, calls less than 1 s " +
			"apart (times the scale of time) are not. A client stands in line no more once it is paused or dead, or a fault " +
			"strikes it or what all use. The bound k is the header's, by default 0: a queue never needs " +
			"more. One sweep, O(n log n). Unknown when no client ever stood in line.",
		judge: judgeFairness,
	}
}

// waiter is an acquire that stands in line during its span.
type waiter struct {
	span
	op        int
	overtaken int
}

func judgeFairness(ix *index) Result {
	line := ix.line()
	if len(line) == 0 {
		return idle("no client stood in line for the lock")
	}
	ix.overtakes(line)
	bound := ix.h.Header.Bounds.Overtakes
	most, total := 0, 0
	var ev evidence
	for i := range line {
		w := &line[i]
		most, total = max(most, w.overtaken), total+w.overtaken
		if w.overtaken > bound {
			ix.tellOvertaken(&ev, w, bound)
		}
	}
	res := ev.result(
		Figure{Name: "stood in line", Value: float64(len(line))},
		Figure{Name: "overtakes", Value: float64(total)},
		Figure{Name: "overtakes of one wait, most", Value: float64(most)})
	res.Idle = !slices.Contains(ix.h.Header.Labels, history.LabelInOrder)
	return res
}

// queues reports whether an operation is one that can overtake and be overtaken.
func (ix *index) queues(o *op) bool {
	return o.name == history.Acquire && !o.client.probe() && !ix.inside(o)
}

// sharing reports whether an acquire is in shared mode: those do not overtake one
// another.
func (ix *index) sharing(o *op) bool { return ix.rec(o.begin).Shared }

// line returns the acquires that stood in line, and from when to when they did.
func (ix *index) line() []waiter {
	var line []waiter
	arrived := ix.arrivals()
	for n := range ix.ops {
		o := &ix.ops[n]
		if !ix.queues(o) || arrived[n] == forever {
			continue
		}
		call := span{o.from, min(o.to, ix.stopped(), o.client.crashed, ix.grantedBy(o))}
		call = ix.troubles().until(o.client, call)
		if arrived[n] < call.to {
			line = append(line, waiter{span: span{arrived[n], call.to}, op: n})
		}
	}
	return line
}

// grantedBy returns when the servers granted the lock to the client of o, from
// its call on: it may learn that much later, or never.
func (ix *index) grantedBy(o *op) time.Duration {
	reigns := ix.reigns(o.client.name, "")
	k, _ := slices.BinarySearchFunc(reigns, o.from, func(r reign, t time.Duration) int { return cmp.Compare(r.from, t) })
	if k < len(reigns) {
		return reigns[k].from
	}
	return forever
}

// arrivals returns, by operation, when an acquire had definitely reached the
// nodes; forever when it never did.
func (ix *index) arrivals() []time.Duration {
	out := make([]time.Duration, len(ix.ops))
	for n := range out {
		out[n] = forever
	}
	commands := false
	open := map[string]int{}                // by client: its acquire
	reached := map[string]map[string]bool{} // by client: the nodes
	next := 0
	for i := range ix.h.Records {
		r := ix.rec(i)
		switch {
		case next < len(ix.ops) && ix.ops[next].begin == i:
			if ix.queues(&ix.ops[next]) {
				open[r.Who] = next
				delete(reached, r.Who)
			}
			next++
		case r.Kind == history.Observe && r.Op == history.Command && ix.nodes[r.Who]:
			commands = true
			n, ok := open[r.Client]
			if !ok || out[n] != forever || r.Sent > 0 && r.Sent < ix.ops[n].from || ix.ops[n].to < r.T || !ix.tries(r) {
				continue
			}
			if reached[r.Client] == nil {
				reached[r.Client] = map[string]bool{}
			}
			reached[r.Client][r.Who] = true
			if len(reached[r.Client]) >= ix.h.Header.Topology.Quorum {
				out[n] = r.T
			}
		}
	}
	if commands {
		return out
	}
	gap := definiteGap
	if scale := ix.h.Header.TimeScale; scale > 0 {
		gap = time.Duration(float64(gap) * scale)
	}
	for n := range ix.ops {
		if ix.queues(&ix.ops[n]) {
			out[n] = ix.ops[n].from + gap
		}
	}
	return out
}

// tries reports whether a command asks its node something of the lock, and was
// not refused.
func (ix *index) tries(r *history.Record) bool {
	return !strings.HasPrefix(r.Reply, "(error)") && !strings.HasSuffix(describe(r.Command), "SUBSCRIBE") && slices.ContainsFunc(r.Command, func(arg string) bool {
		return strings.Contains(arg, ix.h.Header.Lock.Key)
	})
}

// overtakes counts, for every waiter, the acquires that were called after it
// stood in line and granted before it stopped to. It takes the waits in the order
// of their ends, with the grants in the order of theirs running behind, and
// keeps the grants in a tree by the order of their calls.
func (ix *index) overtakes(line []waiter) {
	var granted []int // operations, in the order of their calls
	for n := range ix.ops {
		if o := &ix.ops[n]; ix.queues(o) && o.outcome == history.OK {
			granted = append(granted, n)
		}
	}
	rank := make(map[int]int, len(granted))
	for k, n := range granted {
		rank[n] = k
	}
	ends := slices.Clone(granted)
	slices.SortFunc(ends, func(a, b int) int { return cmp.Compare(ix.ops[a].to, ix.ops[b].to) })
	order := make([]int, len(line))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(line[a].to, line[b].to) })
	seen, exclusive := newRanks(len(granted)), newRanks(len(granted))
	for _, i := range order {
		w := &line[i]
		for len(ends) > 0 && ix.ops[ends[0]].to < w.to {
			seen.add(rank[ends[0]])
			if !ix.sharing(&ix.ops[ends[0]]) {
				exclusive.add(rank[ends[0]])
			}
			ends = ends[1:]
		}
		before, _ := slices.BinarySearchFunc(granted, w.from, func(n int, t time.Duration) int {
			if ix.ops[n].from <= t {
				return -1
			}
			return 1
		})
		w.overtaken = seen.from(before)
		if ix.sharing(&ix.ops[w.op]) {
			w.overtaken = exclusive.from(before)
		}
	}
}

// tellOvertaken adds the finding that a wait was overtaken more often than it
// may be.
func (ix *index) tellOvertaken(ev *evidence, w *waiter, bound int) {
	if ev.full() {
		ev.total++
		return
	}
	o := &ix.ops[w.op]
	var first *op
	names := []string{o.client.name}
	for n := w.op + 1; n < len(ix.ops); n++ {
		b := &ix.ops[n]
		if !ix.queues(b) || b.outcome != history.OK || b.from <= w.from || b.to >= w.to || ix.sharing(o) && ix.sharing(b) {
			continue
		}
		if first == nil || b.to < first.to {
			first = b
		}
		names = append(names, b.client.name)
	}
	cause := phrase("%s stood in line from %v to %v, but %s, which asked for the lock at %v, was granted it at %v",
		o.client.name, w.from, w.to, first.client.name, first.from, first.to)
	if w.overtaken > 1 {
		cause += phrase(", the first of %d overtakes", w.overtaken)
	}
	if bound > 0 {
		cause += phrase("; %d are allowed", bound)
	}
	ev.add(first.to, names, cause, o.begin, o.end, first.begin, first.end)
}

// ranks counts numbers below n and tells how many are not below another, each in
// O(log n): a Fenwick tree.
type ranks struct {
	tree  []int
	total int
}

func newRanks(n int) *ranks { return &ranks{tree: make([]int, n+1)} }

func (r *ranks) add(k int) {
	r.total++
	for k++; k < len(r.tree); k += k & -k {
		r.tree[k]++
	}
}

func (r *ranks) from(k int) int {
	n := r.total
	for ; k > 0; k -= k & -k {
		n -= r.tree[k]
	}
	return n
}
