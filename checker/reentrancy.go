package checker

import (
	"slices"
	"time"

	"lockpick/checker/history"
)

func reentrancy() Check {
	return Check{
		Name:    "reentrancy",
		Letter:  "R",
		Promise: "The owner may take the lock again, and the lock is free after as many releases and not before.",
		How: "An acquire inside of a section that has the lock must succeed: it is a violation when it is refused although " +
			"the lease lasted throughout the call, and when it has not succeeded after half a TTL of the lease (a minute " +
			"without a TTL), whatever becomes of it. The lease lasts as long as the servers held it, or where they were " +
			"not observed, for one TTL from the call of its Acquire on; until it is given back or known to be lost, and until " +
			"the client or what all use is struck by a fault. The servers must not lose the value to a release of the " +
			"section before the last one that it owes, and must have lost it when that one has succeeded; where they were not " +
			"observed, nobody else may be granted the lock before. A section that owes more releases than it makes has the lock " +
			"until its TTL is over. That it is free in the end is asked only where every outcome is known, of earlier sections with the " +
			"same owner too, and no release failed, and nothing of a section whose lease ended before it took the lock again. Unknown when no client nested the lock.",
		judge: judgeReentrancy,
	}
}

func judgeReentrancy(ix *index) Result {
	var ev evidence
	nested, judged := 0, 0
	for n := range ix.ops {
		if o := &ix.ops[n]; o.name == history.Acquire && ix.inside(o) {
			nested++
			if ix.judgeNesting(&ev, o) {
				judged++
			}
		}
	}
	sections := ix.nestings()
	for i := range sections {
		if ix.judgeNestedReleases(&ev, &sections[i]) {
			judged++
		}
	}
	figures := []Figure{{Name: "nested acquires", Value: float64(nested)}}
	switch {
	case nested == 0:
		return idle("no client nested the lock", figures...)
	case judged == 0:
		return undecided("no nested acquire met a lease that certainly lasted", figures...)
	}
	return ev.result(figures...)
}

// outer returns the lease that a nested acquire was called in, or nil when there
// was none any more.
func (ix *index) outer(o *op) *lease {
	var found *lease
	for _, n := range ix.leasesIn(section{o.client, ix.rec(o.begin).Round}) {
		l := &ix.leases[n]
		if l.from <= o.from && !ix.inside(&ix.ops[l.acquire]) && (l.release < 0 || ix.ops[l.release].from > o.from) {
			found = l
		}
	}
	return found
}

// certain returns the part of s, from its beginning, in which a lease certainly
// lasted and nothing was broken.
func (ix *index) certain(l *lease, s span) span {
	s.to = min(s.to, ix.stopped(), l.client.crashed, l.client.done)
	if ttl := ix.h.Header.Lock.TTL; ix.observed {
		r, ok := ix.servedBy(l, s.from)
		if !ok || r.from > s.from {
			return span{s.from, s.from}
		}
		s.to = min(s.to, r.to)
	} else if ttl > 0 {
		s.to = min(s.to, ix.ops[l.acquire].from+ttl)
	}
	if l.lost >= 0 {
		s.to = min(s.to, ix.rec(l.lost).T)
	}
	if l.release >= 0 {
		s.to = min(s.to, ix.ops[l.release].from)
	}
	return ix.troubles().until(l.client, s)
}

// judgeNesting judges one nested acquire. It is false when its lease did not
// certainly last long enough.
func (ix *index) judgeNesting(ev *evidence, o *op) bool {
	l := ix.outer(o)
	if l == nil {
		return false
	}
	patience := availableWithoutTTL
	if ttl := ix.h.Header.Lock.TTL; ttl > 0 {
		patience = ttl / 2
	}
	sure := ix.certain(l, o.span)
	what := ""
	switch {
	case sure.length() >= patience:
		what = phrase("had not got it after %v", sure.length())
	case o.outcome == history.Fail && sure.to == o.to && sure.length() >= 0:
		what = phrase("was refused at %v%s", o.to, quoted(ix.rec(o.end).Error))
	case sure.to == o.to && o.outcome == history.OK:
		return true
	default:
		return false
	}
	cause := phrase("%s had the lock since %v, tried at %v to take it again, and %s", o.client.name, l.from, o.from, what)
	if o.outcome == history.OK && sure.to < o.to {
		cause += phrase("; it got it at %v", o.to)
	}
	end := -1
	if r, ok := ix.servedBy(l, o.from); ok && r.last != nil && r.to <= o.to {
		cause += ", when its lease had ended: " + ix.story(r.last)
		end = r.last.end
	}
	ev.add(min(o.to, sure.to), []string{o.client.name}, cause, ix.ops[l.acquire].end, o.begin, o.end, end)
	return true
}

// nesting is a lease in which its owner took the lock again.
type nesting struct {
	lease    *lease
	acquires []int // the nested ones, in order
	releases []int // of the lease and inside of it, in order
}

// nestings returns the leases in which a nested acquire succeeded.
func (ix *index) nestings() []nesting {
	var out []nesting
	at := map[int]int{} // by lease
	if len(ix.nested) == 0 {
		return nil
	}
	for i := range ix.leases {
		if len(ix.nested[ix.leases[i].acquire]) > 0 {
			at[i] = len(out)
			out = append(out, nesting{lease: &ix.leases[i]})
		}
	}
	for n := range ix.ops {
		o := &ix.ops[n]
		k, ok := at[o.lease]
		switch {
		case !ok:
		case ix.nests(o) && o.name == history.Acquire:
			out[k].acquires = append(out[k].acquires, n)
		case o.name == history.Release:
			out[k].releases = append(out[k].releases, n)
		}
	}
	return out
}

// depthAt returns how often the section had certainly taken the lock by t, and
// whether that is exact.
func (ix *index) depthAt(s *nesting, t time.Duration) (depth int, exact bool) {
	depth, exact = 1, true
	for _, n := range s.acquires {
		switch o := &ix.ops[n]; {
		case o.outcome == history.OK && o.to <= t:
			depth++
		case o.from <= t && o.unsettled():
			exact = false
		}
	}
	return depth, exact
}

// owed returns the section's last release that it owes, counted from 0, and when
// it was called; forever when it has not called it.
func (ix *index) owed(s *nesting) (last int, at time.Duration) {
	for k, n := range s.releases {
		if depth, _ := ix.depthAt(s, ix.ops[n].from); k+1 >= depth {
			return k, ix.ops[n].from
		}
	}
	return -1, forever
}

// judgeNestedReleases judges what a section's releases did. It is false when the
// servers had not held the lock from the first acquire on.
func (ix *index) judgeNestedReleases(ev *evidence, s *nesting) bool {
	l := s.lease
	last, owed := ix.owed(s)
	if !ix.observed {
		return ix.grantedTooEarly(ev, s, owed)
	}
	r, ok := newestIn(ix.reigns(l.client.name, l.owner), ix.ops[l.acquire].span)
	if !ok || r.to < ix.ops[ix.nested[l.acquire][0]].to {
		return false
	}
	before := ix.vagueBefore(l.client, l.owner, ix.ops[l.acquire].begin)
	switch {
	case r.to < owed && before && r.last.by == l.client.name: // a release of an earlier section may have come
		return false
	case r.to < owed:
		ix.tellGivenAway(ev, s, r)
		return true
	}
	if owed == forever {
		return true
	}
	for _, n := range s.releases[:last+1] {
		if ix.ops[n].outcome != history.OK {
			return true // it may owe one more, or have lost the lock
		}
	}
	final := &ix.ops[s.releases[last]]
	if depth, exact := ix.depthAt(s, owed); exact && !before && r.to > final.to {
		cause := phrase("%s had taken the lock %d times and given it back as often by %v, but the servers still held it", l.client.name, depth, final.to)
		ev.add(final.to, []string{l.client.name}, cause, ix.ops[l.acquire].end, final.begin, final.end)
	}
	return true
}

// tellGivenAway adds the finding that a release of the section ended reign r
// before the last one that it owed, if one did.
func (ix *index) tellGivenAway(ev *evidence, s *nesting, r reign) {
	name := s.lease.client.name
	if r.last.by != name || r.last.how != deleted && r.last.how != replaced {
		return
	}
	for k, n := range s.releases {
		o := &ix.ops[n]
		depth, _ := ix.depthAt(s, o.from)
		if !o.covers(r.to) {
			continue
		}
		cause := phrase("%s had taken the lock %d times, and release %d gave it away: %s", name, depth, k+1, ix.story(r.last))
		ev.add(r.to, []string{name}, cause, ix.ops[s.lease.acquire].end, o.begin, r.last.end)
		return
	}
}

// grantedTooEarly looks for another client that was granted the lock inside of
// the lease, while the section owed releases.
func (ix *index) grantedTooEarly(ev *evidence, s *nesting, owed time.Duration) bool {
	l := s.lease
	depth := 1 + len(ix.nested[l.acquire])
	sure := ix.certain(l, span{l.from, owed})
	first, _ := slices.BinarySearchFunc(ix.leases, l.from, func(o lease, t time.Duration) int {
		if o.from <= t {
			return -1
		}
		return 1
	})
	for n := first; n < len(ix.leases) && ix.leases[n].from < sure.to; n++ {
		other := &ix.leases[n]
		if other.client == l.client || other.shared && l.shared || len(s.releases) == 0 || other.from <= ix.ops[s.releases[0]].from {
			continue
		}
		cause := phrase("%s had taken the lock %d times and not given it back as often when %s was granted it at %v",
			l.client.name, depth, other.client.name, other.from)
		ev.add(other.from, []string{l.client.name, other.client.name}, cause,
			ix.ops[l.acquire].end, ix.ops[s.releases[0]].begin, ix.ops[other.acquire].end)
		break
	}
	return true
}
