package checker

import (
	"cmp"
	"slices"
	"time"
)

// attempt is one acquire that was granted or may have been.
type attempt struct {
	span                  // from the call to the return; to is forever when nobody knows the outcome
	op      int           // of the index; -1 when only a node knows of it
	claim   time.Duration // the Until that came with it; 0 when there was none
	yields  time.Duration // from then on the hold may end although its lease runs; forever when it may not
	endures bool          // nothing says for certain when the lease runs out
	renewed []renewal     // by nodes' records, in order
}

// renewal is a node's word that a lease lasts longer than its client knows.
type renewal struct{ at, until time.Duration }

// use is one release or extend of what an attempt was granted.
type use struct {
	span           // to is forever when nobody knows the outcome
	attempt int    //
	op      int    // of the index
	release bool   // else it extends
	learned answer //
	claim   time.Duration
}

// answer is what the client of an operation learned.
type answer uint8

const (
	unsure answer = iota
	yes
	no
)

func (a answer) String() string {
	switch a {
	case yes:
		return "ok"
	case no:
		return "refused"
	default:
		return "unknown"
	}
}

// terms say how long a lease lasts between its grant and its end by itself. Both
// are 0 when it does not end by itself.
type terms struct{ shortest, longest time.Duration }

// tenure is what is certain of the hold that an attempt yields: it begins at one
// instant of start and ends at one instant of end.
//
//	acquire     start                    end      release
//	  call ├───────────┤ return    call ├──────┤ return
//	               └──────── held ─────────┘
//
// The windows may overlap, and the hold may be but an instant.
type tenure struct {
	start  span   // to is forever when it may never begin
	end    span   // from is forever when it can not end, to when it need not
	gaps   []span // of refused uses: for one instant of each it is not held
	proof  int    // the operation that shows that it is held until end.from; -1 when the acquire does
	leased bool   // it is its lease that shows it
	slot   int8   // of the frontier; -1 when it has none
	origin int    // the attempt
}

// optional reports whether the hold may never begin.
func (t *tenure) optional() bool { return t.start.to == forever }

// loose reports whether the hold may be over before its start window closes.
func (t *tenure) loose() bool { return t.end.from <= t.start.to }

// watched returns the instant from which no refused use has to be minded.
func (t *tenure) watched() time.Duration {
	last := time.Duration(0)
	for _, g := range t.gaps {
		last = max(last, g.to)
	}
	return last
}

// clash says that what an attempt's client was told does not fit together,
// whatever the other clients did.
type clash struct {
	at      time.Duration
	attempt int
	kind    string // what cannot be: the beginning of a sentence's second half
	ops     []int  // the operation that cannot be first
}

// tenureOf derives the hold of an attempt from its uses, which are in the order of
// their calls. Each rule follows from the words: an operation that was ok found
// the token held at one instant between its call and its return, one that was
// refused did not, and a hold has no gaps.
func tenureOf(number int, a *attempt, uses []use, lease terms) (tenure, *clash) {
	t := tenure{start: a.span, end: span{a.yields, forever}, proof: -1, slot: -1, origin: number}
	var given, last *use // the release, and the use that was called last, of those that were ok
	for i := range uses {
		u := &uses[i]
		if u.learned == unsure && u.release && u.from < t.end.from {
			t.end.from, t.proof = u.from, u.op
		}
		if u.learned != yes {
			continue
		}
		t.start.to = min(t.start.to, u.to)
		last = u
		if u.release && given != nil {
			return t, &clash{max(u.to, given.to), number, "the lock was released twice", []int{u.op, given.op}}
		}
		if u.release {
			given = u
		}
	}
	if runs, op := leaseRuns(a, uses, lease); runs < t.end.from {
		t.end.from, t.proof, t.leased = runs, op, true
	}
	certain, c := certainEnd(number, a, t.start.to, uses, lease)
	if c != nil {
		return t, c
	}
	t.end.to = certain
	if given != nil {
		t.end.from, t.end.to, t.proof, t.leased = given.from, min(given.to, certain), given.op, false
	}
	if last != nil && last.from >= t.end.from {
		t.end.from, t.proof, t.leased = last.from, last.op, false
	}
	if t.end.to < t.end.from {
		return t, &clash{last.to, number, "the lock was extended after its release", []int{last.op, given.op}}
	}
	return t, t.refuse(uses)
}

// leaseRuns returns until when the lease of an attempt runs at least, and the
// extend that shows it, -1 when it is the acquire. Of extends at one time nobody knows which was the last.
func leaseRuns(a *attempt, uses []use, lease terms) (runs time.Duration, op int) {
	if lease.shortest == 0 {
		return forever, -1
	}
	bound := func(from, claim time.Duration) time.Duration {
		if claim > 0 {
			return min(claim, later(from, lease.shortest))
		}
		return later(from, lease.shortest)
	}
	runs, op = bound(a.from, a.claim), -1
	last := time.Duration(-1) // call of the last extend
	for i := len(uses) - 1; i >= 0; i-- {
		u := &uses[i]
		if u.release || u.learned != yes {
			continue
		}
		b := bound(u.from, u.claim)
		switch {
		case op < 0:
			last, runs, op = u.from, b, u.op
		case u.to >= last && b < runs:
			runs, op = b, u.op
		}
	}
	return runs, op
}

// refuse narrows the windows by the refused uses.
func (t *tenure) refuse(uses []use) *clash {
	for i := range uses {
		u := &uses[i]
		switch {
		case u.learned != no:
		case t.start.to < u.from: // it had begun, so it had ended
			if u.to < t.end.from {
				ops := []int{u.op}
				if t.proof >= 0 {
					ops = append(ops, t.proof)
				}
				return &clash{u.to, t.origin, "the lock was lost although it was held", ops}
			}
			t.end.to = min(t.end.to, u.to)
		case u.to < t.end.from: // it had not ended, so it had not begun
			t.start.from = max(t.start.from, u.from)
		default:
			t.gaps = append(t.gaps, u.span)
		}
	}
	t.start.to = min(t.start.to, t.end.to)
	t.end.from = max(t.end.from, t.start.from)
	return nil
}

// certainEnd returns when the lease of an attempt has run out for certain,
// and a clash when the lock said ok to a use of it after that. An extend whose
// outcome nobody knows may take effect as late as the lease lasts, and then
// prolongs it once.
func certainEnd(number int, a *attempt, granted time.Duration, uses []use, lease terms) (time.Duration, *clash) {
	if lease.longest == 0 || a.endures || granted == forever {
		return forever, nil
	}
	until := later(granted, lease.longest)
	var maybe []time.Duration // calls of extends whose outcome is unknown, in order
	for i := range uses {
		if u := &uses[i]; u.learned == unsure && !u.release {
			maybe = append(maybe, u.from)
		}
	}
	reaches := func(t time.Duration) bool {
		far, rest := until, maybe
		for far < t && len(rest) > 0 && rest[0] <= far {
			far, rest = later(far, lease.longest), rest[1:]
		}
		if far >= t {
			until, maybe = far, rest
		}
		return far >= t
	}
	nodes := a.renewed
	for i := range uses {
		u := &uses[i]
		if u.learned != yes {
			continue
		}
		for ; len(nodes) > 0 && nodes[0].at <= u.from; nodes = nodes[1:] {
			if reaches(nodes[0].at) {
				until = max(until, nodes[0].until)
			}
		}
		if !reaches(u.from) {
			done := "extended"
			if u.release {
				done = "released"
			}
			return until, &clash{u.to, number, "the lock was " + done + " after its lease had ended", []int{u.op}}
		}
		if !u.release {
			until = max(until, later(u.to, lease.longest))
		}
	}
	for _, n := range nodes {
		if reaches(n.at) {
			until = max(until, n.until)
		}
	}
	for len(maybe) > 0 && maybe[0] <= until {
		until, maybe = later(until, lease.longest), maybe[1:]
	}
	return until, nil
}

// later is t+d, or forever when either is.
func later(t, d time.Duration) time.Duration {
	if d == forever || t > forever-d {
		return forever
	}
	return t + d
}

// tenures derives the holds of all attempts and the clash that comes first, if
// there is any. The hold of an attempt with a clash is what was known of it before.
// The uses are sorted.
func tenures(attempts []attempt, uses []use, lease terms) ([]tenure, *clash) {
	slices.SortStableFunc(uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.from, b.from))
	})
	out := make([]tenure, 0, len(attempts))
	var first *clash
	for i := range attempts {
		n := 0
		for n < len(uses) && uses[n].attempt == i {
			n++
		}
		t, c := tenureOf(i, &attempts[i], uses[:n], lease)
		for mine := uses[:n]; c != nil; t, c = tenureOf(i, &attempts[i], mine, lease) {
			if first == nil || c.at < first.at {
				first = c
			}
			mine = before(mine, c.at)
		}
		out = append(out, t)
		uses = uses[n:]
	}
	return out, first
}

// before returns the uses as they were known just before t.
func before(uses []use, t time.Duration) []use {
	var out []use
	for _, u := range uses {
		if u.from >= t {
			break
		}
		if u.to >= t {
			u.to, u.learned = forever, unsure
		}
		out = append(out, u)
	}
	return out
}
