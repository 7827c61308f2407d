package checker

import (
	"time"

	"lockpick/checker/history"
)

func staleUse() Check {
	return Check{
		Name:    "stale-use",
		Letter:  "S",
		Promise: "Nobody touches the resource after its own lease has ended.",
		How: "A lease ends at the earliest of: the version's own Until, the closing of Lost, the instant at which the " +
			"servers no longer held it (where they were observed, and show whose it is: see ownership), and the call of Release. A write counts when the " +
			"store applied it, or when it was called if the store was not observed; a write that the store refused does " +
			"not count; a read counts when it was called. It does not ask whether anybody else had the lock.",
		judge: judgeStaleUse,
	}
}

// touch is one access to the resource.
type touch struct {
	at     time.Duration
	what   string
	op     *op
	record int
}

func judgeStaleUse(ix *index) Result {
	if ix.tried() == 0 {
		return undecided("no client tried to get the lock")
	}
	touches := ix.touches()
	var ev evidence
	for _, t := range touches {
		e, ok := ix.endedFor(section{t.op.client, ix.rec(t.op.begin).Round}, t.at)
		if !ok {
			continue
		}
		name := t.op.client.name
		cause := phrase("%s %s at %v, %v after its lease had ended: %s", name, t.what, t.at, t.at-e.at, ix.howEnded(e))
		for _, p := range t.op.client.paused {
			if p.meets(span{e.at, t.at}) {
				cause += phrase("; %s was paused from %v to %v", name, p.from, p.to)
			}
		}
		ev.add(t.at, []string{name}, cause, t.record, t.op.begin, ix.ops[e.lease.acquire].end, e.record)
	}
	return ev.result(Figure{Name: "uses of the resource", Value: float64(len(touches))})
}

// touches lists the accesses that count.
func (ix *index) touches() []touch {
	var out []touch
	observed := false // what the store did not apply had no effect
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || r.Op != history.Apply {
			observed = observed || ix.looked(i)
			continue
		}
		observed = true
		if o := ix.writeOf(r); o != nil {
			out = append(out, touch{r.T, "wrote" + number(r.Value), o, i})
		}
	}
	for i := range ix.ops {
		o := &ix.ops[i]
		switch {
		case o.name == history.Read:
			out = append(out, touch{o.from, "read", o, o.begin})
		case o.name != history.Write || observed || o.outcome == history.Fail:
		case o.outcome == history.OK || ix.h.Complete: // else the store may yet tell that nothing came
			out = append(out, touch{o.from, "wrote" + number(ix.rec(o.begin).Value), o, o.begin})
		}
	}
	return out
}

// looked reports whether record i is the store's value, which somebody looked at.
func (ix *index) looked(i int) bool {
	r := ix.rec(i)
	return r.Kind == history.Observe && r.Op == history.Keys && r.Value != nil && !ix.nodes[r.Who]
}

func number(v *int64) string {
	if v == nil {
		return ""
	}
	return phrase(" %d", *v)
}

// writeOf finds the write that a store's Apply belongs to: the client's write
// that was open at that time, or else its newest earlier one of that value
// whose outcome is unknown: a packet that was late.
func (ix *index) writeOf(r *history.Record) *op {
	c := ix.clients[r.Client]
	if c == nil {
		return nil
	}
	ops := ix.opsOf(c)
	for k := len(ops) - 1; k >= 0; k-- {
		o := &ix.ops[ops[k]]
		begin := ix.rec(o.begin)
		switch {
		case o.name != history.Write || o.from > r.T || o.outcome == history.Fail:
		case r.Round != 0 && begin.Round != r.Round:
		case r.Value != nil && begin.Value != nil && *r.Value != *begin.Value:
		case o.unsettled() || o.open(r.T):
			return o
		}
	}
	return nil
}

// end is how a lease ended.
type end struct {
	at     time.Duration
	lease  *lease
	why    ending // endHistory when the servers ended it
	last   *life  // that the servers ended it with
	record int
}

// endedFor returns how the lease of a section had ended at t; with several
// leases, which nest, the one that lasted longest. It is false when there is
// none or when one was still good.
func (ix *index) endedFor(s section, t time.Duration) (end, bool) {
	var longest end
	for _, n := range ix.leasesIn(s) {
		l := &ix.leases[n]
		if l.from > t {
			continue
		}
		e, ok := ix.endedBy(l, t)
		if !ok {
			return end{}, false
		}
		if longest.lease == nil || e.at > longest.at {
			longest = e
		}
	}
	return longest, longest.lease != nil
}

// endedBy returns how a lease had ended at t, if it had.
func (ix *index) endedBy(l *lease, t time.Duration) (end, bool) {
	e := end{at: forever, lease: l, record: -1}
	if claim := ix.claimAt(l, t); claim > 0 {
		e.at, e.why = claim, endClaim
	}
	if l.lost >= 0 && ix.rec(l.lost).T < e.at {
		e.at, e.why, e.record = ix.rec(l.lost).T, endLost, l.lost
	}
	if l.release >= 0 && ix.ops[l.release].from < e.at {
		e.at, e.why, e.record = ix.ops[l.release].from, endRelease, ix.ops[l.release].begin
	}
	if ix.observed && ix.blind() == "" {
		if r, ok := ix.servedBy(l, t); ok && r.to < e.at {
			e.at, e.why, e.record, e.last = r.to, endHistory, r.last.end, r.last
		}
	}
	return e, e.at < t
}

// howEnded says in half a sentence how a lease ended.
func (ix *index) howEnded(e end) string {
	switch e.why {
	case endClaim:
		return phrase("it had claimed the lock until %v", e.at)
	case endLost:
		return phrase("it had learned at %v that the lock was lost", e.at)
	case endRelease:
		return phrase("it had called release at %v", e.at)
	default:
		return ix.story(e.last)
	}
}
