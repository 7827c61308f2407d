package checker

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The limits of a frontier. A history that needs more is not decided.
const (
	maxConfigs = 10_000         // alive at once
	maxWork    = 2_000_000_000  // comparisons in all; some seconds
	allSlots   = math.MaxUint64 // holds that are spent and told apart: 64 at once
)

// frontier decides whether holds and refusals fit one order of a lock that one
// holder has at a time. It walks over the instants at which something is due and
// keeps every state that the lock can be in ("just-in-time linearization", Lowe),
// changing a state no sooner than it must. What is special to locks keeps the
// states few:
//
//   - A hold whose owner is known begins in the window of its acquire and ends in
//     a window that its uses bound; so whether it has been follows from the state
//     of the lock, unless the windows overlap.
//   - When they do, the hold may be but an instant. It then fits in as soon as
//     the lock is free for one instant, which needs no state of its own. Only a hold
//     that must last, because somebody was refused meanwhile, is noted as spent.
//   - A refused acquire asks only when the lock was last held.
//   - Acquires whose outcome nobody knows and that nobody mentions later are
//     interchangeable: they are counted.
//
// It needs one token per acquire, which is used only by its own client.
type frontier struct {
	tenures  []tenure
	refusals []refusal

	now         time.Duration
	configs     []config // alive
	next        []config // being built from them
	open        []int    // tenures that may begin now, and are told apart
	spare       int32    // interchangeable holds that may begin now, at most as many as ever
	everlasting bool     // one of those that do not end may begin now

	slots uint64 // in use
	work  int
	most  int // configurations alive at once, for those who ask what it took
}

// refusal is an acquire that was refused: at one instant of it the lock was held.
type refusal struct {
	span
	op int // of the index
}

// config is one state in which the lock can be, and what it took to come there.
// Of two configurations that differ only in numbers, the one is as good as the
// other in every continuation that has the later since and the fewer spent.
type config struct {
	state holding
	since time.Duration // of the last change: until then it was free, if it is held now, and the reverse
	spare int32         // interchangeable holds that were spent
	spent uint64        // slots of holds that were spent
}

// holding is a tenure, or one of the states that are none.
type holding int32

const (
	free    holding = -1
	anybody holding = -2 // a hold that may end at any time and that nothing asks for any more
	stuck   holding = -3 // a hold that does not end
)

// moment is an instant at which something begins to be possible or is due. At one
// instant everything that begins comes before everything that is due, as a call
// comes before a return, and a window's end comes last.
type moment struct {
	at    time.Duration
	kind  momentKind
	which int32
}

type momentKind uint8

const (
	opens   momentKind = iota // a tenure's start window
	joins                     // that of an optional tenure which is like all others
	due                       // its end
	refused                   // the return of a refusal
	watched                   // the return of a refused use
	over                      // a tenure's end window
	blends                    // an optional tenure has become like all others
)

// verdict of a walk.
type stop struct {
	verdict Verdict
	moment  moment   // at which nothing fitted, or where it was given up
	configs []config // the last ones before
}

func newFrontier(t []tenure, r []refusal) *frontier {
	return &frontier{tenures: t, refusals: r, configs: []config{{state: free, since: math.MinInt64}}}
}

// walk goes through the moments up to an instant, that included.
func (f *frontier) walk(until time.Duration) stop {
	for _, m := range f.moments() {
		if m.at > until {
			break
		}
		f.now = m.at
		f.next = f.next[:0]
		if !f.pass(m) {
			continue
		}
		f.work += len(f.configs)
		if len(f.next) == 0 {
			return stop{Violated, m, f.configs}
		}
		f.configs, f.next = f.next, f.configs
		f.most = max(f.most, len(f.configs))
		if len(f.configs) > maxConfigs || f.work > maxWork || f.slots == allSlots {
			return stop{Unknown, m, f.configs}
		}
	}
	return stop{verdict: Holds}
}

// moments lists what the walk goes through, in order.
func (f *frontier) moments() []moment {
	all := make([]moment, 0, 3*len(f.tenures)+len(f.refusals))
	for i := range f.tenures {
		t, which := &f.tenures[i], int32(i)
		if t.optional() {
			blend := max(t.start.from, t.watched())
			if t.end.from != forever {
				blend = max(blend, t.end.from)
			}
			if blend > t.start.from {
				all = append(all, moment{t.start.from, opens, which}, moment{blend, blends, which})
			} else {
				all = append(all, moment{t.start.from, joins, which})
			}
		} else {
			all = append(all, moment{t.start.from, opens, which}, moment{t.start.to, due, which})
		}
		for _, g := range t.gaps {
			all = append(all, moment{g.to, watched, which})
		}
		if t.end.to != forever {
			all = append(all, moment{t.end.to, over, which})
		}
	}
	for i := range f.refusals {
		all = append(all, moment{f.refusals[i].to, refused, int32(i)})
	}
	slices.SortFunc(all, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind), cmp.Compare(a.which, b.which))
	})
	return all
}

// pass builds the configurations that a moment leaves, in next. It reports false
// when it leaves them as they are.
func (f *frontier) pass(m moment) bool {
	switch m.kind {
	case opens:
		f.open = append(f.open, int(m.which))
		return false
	case due:
		return f.passDue(int(m.which))
	case refused:
		return f.passRefused(&f.refusals[m.which])
	case watched:
		return f.passWatched(int(m.which))
	case over:
		return f.release(func(c *config) bool { return c.state == holding(m.which) })
	default:
		return f.passBlends(int(m.which))
	}
}

// passDue is the last instant at which a hold can begin.
func (f *frontier) passDue(which int) bool {
	t := &f.tenures[which]
	had := f.forget(which)
	for i := range f.configs {
		c := f.configs[i]
		spent := c.spent&had != 0
		c.spent &^= had
		begun := c
		begun.state, begun.since = holding(which), f.now
		switch {
		case c.state == holding(which), c.state == free && spent:
			f.add(c)
		case c.state == free:
			f.add(begun)
		default:
			fits := t.loose() && c.since >= t.end.from // it was, for an instant before c's hold
			if fits {
				f.add(c)
			}
			if f.canEnd(c.state) && !(fits && (spent || f.outlasts(&c, t))) {
				f.add(begun)
			}
		}
	}
	return true
}

// outlasts reports whether a hold that may end now is as good as beginning t in
// its place: because it may last as long, and because nobody needs the instant at
// which the lock is free before t begins.
func (f *frontier) outlasts(c *config, t *tenure) bool {
	if c.state != anybody {
		if z := &f.tenures[c.state]; z.end.to < t.end.to || z.watched() >= f.now {
			return false
		}
	}
	return !slices.ContainsFunc(f.open, func(which int) bool {
		o := &f.tenures[which]
		return holding(which) != c.state && !o.optional() && !f.isSpent(c, o) && c.since < o.end.from && o.end.from <= f.now
	})
}

// passRefused is the return of a refused acquire. Where the lock was free since
// before its call, somebody must have it now.
func (f *frontier) passRefused(r *refusal) bool {
	unexplained := func(c config) bool { return c.state == free && c.since < r.from }
	if !slices.ContainsFunc(f.configs, unexplained) {
		return false
	}
	for _, c := range f.configs {
		if !unexplained(c) {
			f.add(c)
			continue
		}
		c.since = f.now
		for _, which := range f.open {
			t := &f.tenures[which]
			if f.isSpent(&c, t) || f.isOutdone(&c, which) {
				continue
			}
			begun := c
			begun.state = holding(which)
			if t.loose() {
				begun.spent |= f.slotOf(which)
			}
			f.add(begun)
		}
		if c.spare < f.spare {
			begun := c
			begun.state = anybody
			begun.spare++
			f.add(begun)
		}
		if f.everlasting {
			begun := c
			begun.state = stuck
			f.add(begun)
		}
	}
	return true
}

// passWatched is the return of a refused use of a hold.
func (f *frontier) passWatched(which int) bool {
	for _, g := range f.tenures[which].gaps {
		if g.to == f.now && f.release(func(c *config) bool { return c.state == holding(which) && c.since < g.from }) {
			return true
		}
	}
	return false
}

// release frees the lock in the configurations of which is says so. In all of them
// it may be freed.
func (f *frontier) release(is func(*config) bool) bool {
	if !slices.ContainsFunc(f.configs, func(c config) bool { return is(&c) }) {
		return false
	}
	for _, c := range f.configs {
		if is(&c) {
			c.state, c.since = free, f.now
		}
		f.add(c)
	}
	return true
}

// passBlends makes an optional hold one of the interchangeable ones.
func (f *frontier) passBlends(which int) bool {
	t := &f.tenures[which]
	had := f.forget(which)
	if t.end.from == forever {
		f.everlasting = true
	} else {
		f.spare++
	}
	if had == 0 {
		return false
	}
	for _, c := range f.configs {
		if c.spent&had != 0 && t.end.from != forever {
			c.spare++
		}
		c.spent &^= had
		if c.state == holding(which) {
			c.state = anybody
			if t.end.from == forever {
				c.state = stuck
			}
		}
		f.add(c)
	}
	return true
}

func (f *frontier) canEnd(s holding) bool {
	switch s {
	case anybody:
		return true
	case stuck:
		return false
	default:
		return f.tenures[s].end.from <= f.now
	}
}

// add takes a configuration into next, unless another is as good.
func (f *frontier) add(c config) {
	if c.state >= 0 {
		if t := &f.tenures[c.state]; t.end.from <= f.now && t.end.to == forever && t.watched() < f.now {
			c.state = anybody
		}
	}
	kept := f.next[:0]
	for i, o := range f.next {
		if o.state == c.state {
			if o.covers(&c) {
				f.work += i
				return // no other has been dropped: o would have covered it
			}
			if c.covers(&o) {
				continue
			}
		}
		kept = append(kept, o)
	}
	f.work += len(f.next)
	f.next = append(kept, c)
}

// covers reports whether c is as good as o, which has the same state.
func (c *config) covers(o *config) bool {
	return c.since >= o.since && c.spare <= o.spare && c.spent&^o.spent == 0
}
