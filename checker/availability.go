package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/checker/history"
)

// availableWithoutTTL is the bound for locks that never expire.
const availableWithoutTTL = time.Minute

func availability() Check {
	return Check{
		Name:    "availability",
		Letter:  "A",
		Promise: "A client that wants a lock which no running client holds gets it within a bound.",
		How: "From every acquire of a client that did not die meanwhile, the time is taken away in which it was paused or " +
			"some running client believed in a lease. The longest stretch that is left must not exceed the header's bound, " +
			"by default twice the TTL, or 60 s without a TTL. And no acquire may end without the lock when no running " +
			"client had it, was getting it, or was giving it back at any time of the call. Nor may it be refused before half " +
			"of the time has passed that the clients were to try for. An acquire during which its client was paused or called " +
			"off may fail. The probe does not count, nor does an acquire inside of a lease. " +
			"Unknown when there was no such acquire.",
		judge: judgeAvailability,
	}
}

func judgeAvailability(ix *index) Result {
	bound := ix.bound()
	held, near := ix.held(), ix.near()
	var ev evidence
	var acquires, granted, gaveUp, judged int
	var longest time.Duration
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.name != history.Acquire || o.client.probe() || ix.inside(o) {
			continue
		}
		acquires++
		switch o.outcome {
		case history.OK:
			granted++
		case history.Fail, history.Unknown:
			gaveUp++
		default: // still at it
		}
		wait := span{o.from, max(o.from, min(o.to, ix.stopped()))}
		if o.client.crashed <= wait.to || !ix.h.Complete && o.to >= ix.end {
			continue // or nobody knows yet whether it did
		}
		judged++
		gap := span{wait.from, wait.from}
		for _, s := range union(o.client.running(wait)) { // a pause of no length splits nothing
			if g := longestGap(s, held); g.length() > gap.length() {
				gap = g
			}
		}
		longest = max(longest, gap.length())
		switch {
		case gap.length() > bound:
			ix.tellWait(&ev, o, gap)
		case o.client.disturbed(wait): // who knows what it missed
		case (o.outcome == history.Fail || o.outcome == history.Unknown) && !meetsAny(wait, near):
			ix.tellFalseFailure(&ev, o)
		case o.outcome == history.Fail && wait.length() < ix.h.Header.Lock.Wait/2:
			cause := phrase("%s was refused at %v after %v, although it was to try for %v",
				o.client.name, o.to, o.length(), ix.h.Header.Lock.Wait)
			ev.add(o.to, []string{o.client.name}, cause, o.begin, o.end)
		}
	}
	figures := []Figure{
		{Name: "acquires", Value: float64(acquires)},
		{Name: "granted", Value: float64(granted)},
		{Name: "gave up", Value: float64(gaveUp)},
		{Name: "longest gap", Value: longest.Seconds(), Unit: "s"},
	}
	if judged == 0 {
		return undecided("no client that ran all the while tried to get the lock", figures...)
	}
	return ev.result(figures...)
}

func (ix *index) bound() time.Duration {
	switch header := ix.h.Header; {
	case header.Bounds.Availability > 0:
		return header.Bounds.Availability
	case header.Lock.TTL > 0:
		return 2 * header.Lock.TTL
	default:
		return availableWithoutTTL
	}
}

// held is when some running client believed in a lease.
func (ix *index) held() []span {
	var spans []span
	for i := range ix.holds {
		spans = append(spans, ix.holder(i).running(ix.holds[i].span)...)
	}
	return union(spans)
}

// near is when some running client had the lock in the widest sense: from the
// call of the acquire that yielded the lease until its release had returned and
// the servers no longer held it. Where the history is cut short, an acquire that
// is still open may yet yield a lease.
func (ix *index) near() []span {
	var spans []span
	for i := range ix.leases {
		l := &ix.leases[i]
		s := span{ix.ops[l.acquire].from, max(l.from, ix.released(l))}
		switch {
		case !ix.observed:
		case ix.blind() != "":
			if l.release >= 0 && ix.ops[l.release].outcome != history.OK {
				s.to = max(s.to, later(s.to, cmp.Or(max(0, ix.h.Header.Lock.TTL), forever))) // the nodes do not show how long
			}
		default:
			if r, ok := ix.served(l); ok {
				s.to = max(s.to, r.to)
			}
		}
		s.to = min(s.to, ix.end)
		spans = append(spans, l.client.running(s)...)
	}
	for i := range ix.ops {
		if o := &ix.ops[i]; !ix.h.Complete && o.outcome == "" && o.name == history.Acquire {
			spans = append(spans, o.client.running(span{o.from, ix.end})...)
		}
	}
	return union(spans)
}

// tellWait adds the finding that an acquire waited too long for a free lock.
func (ix *index) tellWait(ev *evidence, o *op, gap span) {
	cause := phrase("%s waited %v, from %v on, for a lock that no running client held", o.client.name, gap.length(), gap.from)
	who, why, record := ix.blame(o, gap, false)
	ev.add(gap.to, []string{who, o.client.name}, cause+why, o.begin, o.end, record)
}

// tellFalseFailure adds the finding that an acquire failed although the lock was
// free all the time.
func (ix *index) tellFalseFailure(ev *evidence, o *op) {
	how := "was refused"
	if o.outcome == history.Unknown {
		how = "gave up"
	}
	cause := phrase("%s %s at %v after %v although no running client held the lock at any time of the call%s",
		o.client.name, how, o.to, o.length(), quoted(ix.rec(o.end).Error))
	who, why, record := ix.blame(o, o.span, true)
	ev.add(o.to, []string{who, o.client.name}, cause+why, o.begin, o.end, record)
}

// blame says who or what kept the lock from an acquire in s: the client whose
// key the servers kept, else the client that stood still with a lease, else the
// faults that were in force. An acquire that failed, and took away what it had been
// granted, did not keep the lock from itself; if it did not, it keeps it from all.
func (ix *index) blame(o *op, s span, failed bool) (who, why string, record int) {
	at := s.from + s.length()/2
	lives, seen := ix.livesAt(at), at
	if failed {
		lives = slices.DeleteFunc(lives, func(l *life) bool { return l.holder == o.client.name && l.from >= o.from })
		if len(lives) == 0 {
			lives, seen = ix.livesAt(s.to), s.to
		}
	}
	if len(lives) > 0 {
		return lives[0].holder, ": " + ix.keeper(lives, seen), lives[0].begin
	}
	for i := range ix.leases {
		l := &ix.leases[i]
		if text := ix.whereabouts(l.client.name, at); text != "" && l.client != o.client && l.from <= at && l.release < 0 {
			return l.client.name, phrase(": it was granted to %s at %v%s", l.client.name, l.from, text), ix.ops[l.acquire].end
		}
	}
	if text := ix.faultsIn(s); text != "" {
		return "", ": " + text, -1
	}
	return "", "", -1
}
