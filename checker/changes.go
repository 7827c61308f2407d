package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/checker/history"
)

// The account of a resource that clients change without a lock: each change adds
// a number to it, once, and says so or not.

// maxSums is how many different sums of changes without a reply are told apart.
// With more, their range must do.
const maxSums = 10_000

// ledger is what the clients and the store say of the changes.
type ledger struct {
	initial int64
	changes []int // operations, in the order of their calls
	sum     int64 // of the acknowledged ones
	maybe   []int64
	final   *int64
	record  int // of the final value
	end     time.Duration
}

// ledger is nil when nobody changed the resource that way.
func (ix *index) ledger() *ledger {
	l := &ledger{initial: ix.h.Header.Workload.Initial, record: -1, end: ix.end}
	for n := range ix.ops {
		o := &ix.ops[n]
		v := ix.rec(o.begin).Value
		if o.name != history.Change || v == nil {
			continue
		}
		l.changes = append(l.changes, n)
		switch {
		case o.outcome == history.OK:
			l.sum += *v
		case o.unsettled():
			l.maybe = append(l.maybe, *v)
		}
	}
	if len(l.changes) == 0 {
		return nil
	}
	l.final, l.record, l.end = ix.finalValue()
	return l
}

// finalValue returns what the probe read after the clients had stopped, or else
// what the store had when the harness looked last, with its record. A store that
// applied nothing is not where the resource is.
func (ix *index) finalValue() (v *int64, record int, at time.Duration) {
	for n := len(ix.ops) - 1; n >= 0; n-- {
		o := &ix.ops[n]
		if o.name == history.Read && o.client.probe() && o.outcome == history.OK && o.from >= ix.quiet {
			if r := ix.rec(o.end); r.Value != nil {
				return r.Value, o.end, r.T
			}
		}
	}
	applied := slices.ContainsFunc(ix.h.Records, func(r history.Record) bool {
		return r.Kind == history.Observe && r.Op == history.Apply
	})
	for i := len(ix.h.Records) - 1; i >= 0 && applied; i-- {
		if r := ix.rec(i); ix.looked(i) {
			return r.Value, i, r.T
		}
	}
	return nil, -1, ix.end
}

func (ix *index) judgeChanges(l *ledger) Result {
	acknowledged := 0
	for _, n := range l.changes {
		if ix.ops[n].outcome == history.OK {
			acknowledged++
		}
	}
	figures := []Figure{{Name: "acknowledged", Value: float64(acknowledged)}}
	if len(l.maybe) > 0 {
		figures = append(figures, Figure{Name: "unknown outcome", Value: float64(len(l.maybe))})
	}
	if l.final != nil {
		figures = append(figures, Figure{Name: "final", Value: float64(*l.final)})
	}
	var ev evidence
	ix.appliedOnce(&ev, l)
	ix.oversold(&ev, l)
	ix.balance(&ev, l, acknowledged)
	if ev.total == 0 && acknowledged == 0 {
		return undecided("no client completed a change of the resource", figures...)
	}
	return ev.result(figures...)
}

// appliedOnce finds applications by the store that belong to no change: a change
// that it applied twice, or one that was refused. Each application is given to
// the change of its client that was open then, or has no known outcome, and that
// ends first; that leaves the most for the later ones.
func (ix *index) appliedOnce(ev *evidence, l *ledger) {
	of := map[string]*account{}
	for _, n := range l.changes {
		name := ix.ops[n].client.name
		if of[name] == nil {
			of[name] = &account{newest: -1}
		}
		of[name].changes = append(of[name].changes, n)
	}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || r.Op != history.Apply || of[r.Client] == nil {
			continue
		}
		if a := of[r.Client]; !ix.apply(a, i) {
			ix.tellApplied(ev, l, a, i)
		}
	}
}

// account is one client's changes while the applications are given to them.
type account struct {
	changes     []int // that have not been called yet
	open, vague []int // that an application may belong to: with and without a known end
	newest      int   // the newest that has one; -1 when none has
	applied     int   // its record
}

// apply gives record i to one of the client's changes, if there is one.
func (ix *index) apply(a *account, i int) bool {
	t := ix.rec(i).T
	for ; len(a.changes) > 0 && ix.ops[a.changes[0]].begin < i; a.changes = a.changes[1:] {
		switch o := &ix.ops[a.changes[0]]; {
		case o.unsettled():
			a.vague = append(a.vague, a.changes[0])
		case o.outcome == history.OK:
			a.open = append(a.open, a.changes[0])
		}
	}
	a.open = slices.DeleteFunc(a.open, func(n int) bool { return ix.ops[n].to < t })
	switch {
	case len(a.open) > 0:
		first := slices.MinFunc(a.open, func(x, y int) int { return cmp.Compare(ix.ops[x].to, ix.ops[y].to) })
		a.newest = first
		a.open = slices.DeleteFunc(a.open, func(n int) bool { return n == first })
	case len(a.vague) > 0:
		a.newest, a.vague = a.vague[0], a.vague[1:]
	default:
		return false
	}
	a.applied = i
	return true
}

// tellApplied adds the finding that the store applied once more, with record i,
// than the client's changes allow.
func (ix *index) tellApplied(ev *evidence, l *ledger, a *account, i int) {
	r := ix.rec(i)
	if a.newest >= 0 && (ix.ops[a.newest].unsettled() || ix.ops[a.newest].to >= r.T) {
		begin := ix.ops[a.newest].begin
		cause := phrase("%s's change in round %d was applied twice, at %v and at %v",
			r.Client, ix.rec(begin).Round, ix.rec(a.applied).T, r.T)
		ev.add(r.T, []string{r.Client}, cause, begin, a.applied, i)
		return
	}
	for _, n := range slices.Backward(l.changes) {
		if o := &ix.ops[n]; o.client.name == r.Client && o.outcome == history.Fail && o.open(r.T) {
			cause := phrase("%s was told at %v that its change was not made, but it was applied at %v%s",
				r.Client, o.to, r.T, quoted(ix.rec(o.end).Error))
			ev.add(r.T, []string{r.Client}, cause, o.begin, i, o.end)
			return
		}
	}
	ev.add(r.T, []string{r.Client}, phrase("the store applied a change of %s at %v that belongs to none of its calls", r.Client, r.T), i)
}

// oversold finds a stock that fell below 0.
func (ix *index) oversold(ev *evidence, l *ledger) {
	if ix.h.Header.Workload.Resource != "stock" {
		return
	}
	for i := range ix.h.Records {
		if r := ix.rec(i); r.Kind == history.Observe && r.Op == history.Apply && r.Value != nil && *r.Value < 0 {
			ev.add(r.T, []string{r.Client}, phrase("%s took the stock to %d at %v", r.Client, *r.Value, r.T), i)
			return
		}
	}
	if l.final != nil && *l.final < 0 {
		ev.add(l.end, nil, phrase("the stock is %d in the end", *l.final), l.record)
		return
	}
	ended := slices.Clone(l.changes)
	slices.SortStableFunc(ended, func(a, b int) int { return cmp.Compare(ix.ops[a].to, ix.ops[b].to) })
	most, sold := l.initial, int64(0) // that there can have been, and that was sold, by then
	called := l.changes
	delta := func(n int) int64 { return *ix.rec(ix.ops[n].begin).Value }
	for _, n := range ended {
		o := &ix.ops[n]
		for ; len(called) > 0 && ix.ops[called[0]].from <= o.to; called = called[1:] {
			if ix.ops[called[0]].outcome != history.Fail {
				most += max(delta(called[0]), 0)
			}
		}
		if o.outcome != history.OK || delta(n) >= 0 {
			continue
		}
		if sold -= delta(n); sold > most {
			ev.add(o.to, []string{o.client.name}, phrase("sold %d of %d by %v", sold, most, o.to), o.begin, o.end)
			return
		}
	}
}

// balance compares what was acknowledged with what is there: some of the changes
// without a reply may have been made, each at most once.
func (ix *index) balance(ev *evidence, l *ledger, acknowledged int) {
	if l.final == nil {
		return
	}
	off := *l.final - l.initial - l.sum
	if reachable(l.maybe, off) {
		return
	}
	maybe := ""
	if len(l.maybe) > 0 {
		maybe = phrase(" and %d without a reply", len(l.maybe))
	}
	ev.add(l.end, nil, phrase("the %s was %d and is %d in the end, after %d acknowledged changes%s that make %d",
		ix.h.Header.Workload.Resource, l.initial, *l.final, acknowledged, maybe, l.initial+l.sum), l.record)
}

// reachable reports whether some of the numbers, each at most once, add up to sum.
// Beyond maxSums different sums it only asks whether their range has it.
func reachable(numbers []int64, sum int64) bool {
	var least, most int64
	for _, n := range numbers {
		least, most = least+min(n, 0), most+max(n, 0)
	}
	if sum < least || sum > most {
		return false
	}
	sums := map[int64]bool{0: true}
	for _, n := range numbers {
		if len(sums) > maxSums {
			return true
		}
		next := make([]int64, 0, len(sums))
		for s := range sums {
			next = append(next, s+n)
		}
		for _, s := range next {
			sums[s] = true
		}
	}
	return sums[sum]
}
