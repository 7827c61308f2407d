package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
)

// A history with leases on a small grid of time is decided once more by trying
// every operation and every expiry at every instant.

// trial is the search. Its state says what happened up to now.
type trial struct {
	ops   []lockOp
	until []time.Duration // by operation: the claim that came with it; 0 for none
	lease terms
	last  time.Duration // the end of the grid
	seen  map[trialState]bool
}

type trialState struct {
	now      time.Duration
	done     int // bits, by operation
	held     int // the token
	min, max time.Duration
}

func (s *trial) fits() bool {
	return s.try(trialState{})
}

func (s *trial) try(at trialState) bool {
	if s.seen[at] {
		return false
	}
	s.seen[at] = true
	ready := at.held == 0 || at.max > at.now // to let time pass
	for i := range s.ops {
		o := &s.ops[i]
		if at.done&(1<<i) != 0 || o.from > at.now {
			continue
		}
		if o.to <= at.now {
			ready = false
		}
		fits, held := o.step(at.held)
		if !fits || o.learned == unsure && held == at.held && o.name != history.Extend {
			continue // an operation that nobody is sure of and that does nothing has not happened
		}
		next := at
		next.done |= 1 << i
		next.held = held
		s.prolong(&next, at.held, i)
		if s.try(next) {
			return true
		}
	}
	if at.held != 0 && at.min <= at.now {
		next := at
		next.held, next.min, next.max = 0, 0, 0
		if s.try(next) {
			return true
		}
	}
	if !ready {
		return false
	}
	if at.now++; at.now > s.last {
		return true
	}
	return s.try(at)
}

// prolong sets the bounds of the lease after operation i.
func (s *trial) prolong(next *trialState, before, i int) {
	o := &s.ops[i]
	runs := o.from + s.lease.shortest
	if s.until[i] > 0 {
		runs = min(runs, s.until[i])
	}
	switch {
	case o.learned == no:
	case next.held == 0:
		next.min, next.max = 0, 0
	case o.name == history.Acquire && before == 0:
		next.min, next.max = runs, later(o.to, s.lease.longest)
	case o.name == history.Extend && o.learned == yes && before == o.token:
		next.min, next.max = runs, max(next.max, later(o.to, s.lease.longest))
		if next.max == forever { // of an acquire that returned at no known time
			next.max = later(o.to, s.lease.longest)
		}
	case o.name == history.Extend && before == o.token:
		next.max = max(next.max, later(next.now, s.lease.longest))
	}
}

// drawLease makes a nearly legal history of a lock with leases, and claims.
func drawLease(seed uint64) ([]lockOp, []time.Duration, terms) {
	c := &chance{Rand: rand.New(rand.NewPCG(seed, 11)), ties: true}
	c.unknown = []float64{0, 0.2, 0.4}[c.IntN(3)]
	shortest := time.Duration(2 + c.IntN(9))
	lease := terms{shortest, shortest + time.Duration(c.IntN(5))}
	c.intervals(2 + c.IntN(7))
	c.expiring(lease)
	if c.IntN(2) == 0 {
		o := &c.ops[c.IntN(len(c.ops))]
		switch o.learned {
		case yes:
			o.learned = no
		case no:
			o.learned = yes
		default:
		}
	}
	until := make([]time.Duration, len(c.ops))
	for i := range c.ops {
		o := &c.ops[i]
		if o.learned == unsure {
			o.to = forever
		} else if o.learned == yes && c.IntN(6) == 0 {
			until[i] = max(1, o.to+time.Duration(c.IntN(6))-2)
		}
	}
	return c.ops, until, lease
}

// expiring is outcomes with leases.
func (c *chance) expiring(lease terms) {
	type point struct {
		at time.Duration
		op int
	}
	var points []point
	for i := range c.ops {
		o := &c.ops[i]
		o.learned = no
		p := point{o.from + time.Duration(c.IntN(int(o.length())+1)), i}
		if c.Float64() < c.unknown {
			o.learned = unsure
			if c.IntN(2) == 0 {
				continue
			}
			p.at += time.Duration(c.IntN(10))
		}
		points = append(points, p)
	}
	slices.SortStableFunc(points, func(a, b point) int { return int(a.at - b.at) })
	held, ends := 0, time.Duration(0)
	for _, p := range points {
		if held != 0 && ends <= p.at {
			held = 0
		}
		o := c.ops[p.op]
		o.learned = yes
		fits, next := o.step(held)
		if !fits {
			continue
		}
		if held = next; o.name != history.Release {
			ends = p.at + lease.shortest + time.Duration(c.IntN(int(lease.longest-lease.shortest)+1))
		}
		if c.ops[p.op].learned == no {
			c.ops[p.op].learned = yes
		}
	}
}

// drawLoose makes a history of acquires that took longer than their leases last,
// so that each of them may have had the lock for a while before it returned, and
// of refusals that only one of them explains.
func drawLoose(seed uint64) ([]lockOp, []time.Duration, terms) {
	c := &chance{Rand: rand.New(rand.NewPCG(seed, 13)), ties: true}
	lease := terms{1 + time.Duration(c.IntN(3)), 4 + time.Duration(c.IntN(20))}
	for i := range 2 + c.IntN(2) {
		a := c.instant(0, 5)
		r := c.instant(a+4, 22)
		c.ops = append(c.ops, lockOp{span{a, r}, i, history.Acquire, 1 + i, yes})
		if c.IntN(2) == 0 {
			x := c.instant(r+1, r+4)
			c.ops = append(c.ops, lockOp{span{x, c.instant(x, x+6)}, i, history.Release, 1 + i, []answer{no, no, unsure}[c.IntN(3)]})
		}
	}
	at := c.instant(0, 6)
	for i := range c.IntN(3) {
		a := c.instant(at, at+5)
		r := c.instant(a, a+2)
		x := c.instant(r, r+2)
		at = c.instant(x, x+2)
		c.ops = append(c.ops, lockOp{span{a, r}, 7, history.Acquire, 10 + i, yes}, lockOp{span{x, at}, 7, history.Release, 10 + i, yes})
	}
	at = c.instant(1, 6)
	for i := range 1 + c.IntN(3) {
		r := c.instant(at, at+2)
		c.ops = append(c.ops, lockOp{span{at, r}, 8, history.Acquire, 20 + i, no})
		at = c.instant(r+1, r+9)
	}
	for i := range c.ops {
		if c.ops[i].learned == unsure {
			c.ops[i].to = forever
		}
	}
	return c.ops, make([]time.Duration, len(c.ops)), lease
}

// askLease has the check's algorithm decide.
func askLease(ops []lockOp, until []time.Duration, lease terms) Verdict {
	attempts, uses, refusals, fits := arrange(ops)
	if !fits {
		return Violated
	}
	for i := range attempts {
		attempts[i].claim = until[attempts[i].op]
	}
	for i := range uses {
		uses[i].claim = until[uses[i].op]
	}
	holds, c := tenures(attempts, uses, lease)
	if c != nil {
		return Violated
	}
	return newFrontier(holds, refusals).walk(forever).verdict
}

// Two leases, of which a third, known to begin and end at one instant, leaves only
// one order: it needs the lock free just before the second one begins, at the last
// moment.
func TestRoomBeforeTheLastMoment(t *testing.T) {
	ops, until, lease := drawLoose(77912)
	mustFitAlike(t, ops, until, lease, "loose seed 77912", map[Verdict]int{})
}

func TestLeasesAgreeWithASearch(t *testing.T) {
	n := uint64(40_000)
	if long() {
		n = 1_000_000
	}
	counts := map[Verdict]int{}
	for seed := range n {
		ops, until, lease := drawLease(seed)
		mustFitAlike(t, ops, until, lease, fmt.Sprint("seed ", seed), counts)
		if seed%4 == 0 {
			ops, until, lease = drawLoose(seed)
			mustFitAlike(t, ops, until, lease, fmt.Sprint("loose seed ", seed), counts)
		}
	}
	mustBoth(t, counts)
}

func mustFitAlike(t *testing.T, ops []lockOp, until []time.Duration, lease terms, what string, counts map[Verdict]int) {
	t.Helper()
	search := &trial{ops: ops, until: until, lease: lease, seen: map[trialState]bool{}}
	for _, o := range ops {
		search.last = max(search.last, o.from)
		if o.to != forever {
			search.last = max(search.last, o.to)
		}
	}
	want := Violated
	if search.fits() {
		want = Holds
	}
	got := askLease(ops, until, lease)
	if got != want {
		t.Fatalf("%s: the algorithm says %v and the search %v of a lease of %d to %d, claims %v\n%s",
			what, got, want, lease.shortest, lease.longest, until, showOps(ops))
	}
	counts[got]++
}

func TestCertainEnd(t *testing.T) {
	lease := terms{9, 11}
	extend := func(from, to time.Duration, a answer) use { return use{span: span{from, to}, learned: a} }
	tests := []struct {
		name  string
		nodes []renewal
		uses  []use
		want  time.Duration
		clash bool
	}{
		{"the acquire's return counts", nil, nil, 13, false},
		{"an extend moves it", nil, []use{extend(5, 6, yes)}, 17, false},
		{"a refused one does not", nil, []use{extend(5, 6, no)}, 13, false},
		{"an unknown one may come as late as the lease lasts", nil, []use{extend(5, forever, unsure)}, 24, false},
		{"but not after that", nil, []use{extend(14, forever, unsure)}, 13, false},
		{"an extend after the end is a clash", nil, []use{extend(14, 15, yes)}, 0, true},
		{"unless an unknown one came between", nil, []use{extend(5, forever, unsure), extend(14, 15, yes)}, 26, false},
		{"which can do so once", nil, []use{extend(5, forever, unsure), extend(14, 15, yes), extend(27, 28, yes)}, 0, true},
		{"a node's renewal moves it", []renewal{{10, 21}}, nil, 21, false},
		{"and so does the next", []renewal{{10, 21}, {20, 31}}, nil, 31, false},
		{"one after the end is of another lease", []renewal{{14, 25}}, nil, 13, false},
		{"one without an end never ends", []renewal{{10, forever}}, nil, forever, false},
		{"an extend relies on it", []renewal{{10, 21}}, []use{extend(20, 21, yes)}, 32, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := attempt{span: span{1, 2}, yields: forever, renewed: tt.nodes}
			got, c := certainEnd(0, &a, a.to, tt.uses, lease)
			if (c != nil) != tt.clash || c == nil && got != tt.want {
				t.Errorf("certainEnd = %d, %v", got, c)
			}
		})
	}
}

// What an attempt's own answers cannot be is found when the last of them comes, and
// until then it is held as it was known.
func TestAClashIsOfItsMoment(t *testing.T) {
	attempts := []attempt{{span: span{1, 2}, yields: forever}}
	uses := []use{
		{span: span{7, 8}, op: 2, learned: no},
		{span: span{3, 4}, op: 1, learned: yes},
		{span: span{9, 10}, op: 3, learned: yes, release: true},
	}
	holds, c := tenures(attempts, uses, terms{})
	if c == nil || c.at != 8 || c.ops[0] != 2 {
		t.Errorf("the clash is %v", c)
	}
	if end := holds[0].end; end != (span{forever, forever}) {
		t.Errorf("before, it is held until %v", end)
	}
}
