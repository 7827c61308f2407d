package checker

import (
	"sort"

	"lockpick/checker/history"
)

// tellStop says which operation fitted no order.
func (d *dossier) tellStop(ev *evidence, f *frontier, end stop) {
	if end.moment.kind == refused {
		d.tellRefusal(ev, f, f.refusals[end.moment.which])
		return
	}
	t := &f.tenures[end.moment.which]
	a := &d.attempts[t.origin]
	late := d.lastKeeper(f, end)
	if d.ix.ops[a.op].outcome != history.OK {
		d.tellVague(ev, t, late)
		return
	}
	o := &d.ix.ops[a.op]
	if late == nil {
		ev.add(o.to, []string{o.client.name}, phrase("%s got the lock at %v, but at no time since %v can it have been free", o.client.name, o.to, o.from), o.begin, o.end)
		return
	}
	k := &d.ix.ops[d.attempts[late.origin].op]
	known, _ := tenureOf(late.origin, &d.attempts[late.origin], before(d.usesOf(late.origin), o.to+1), d.lease)
	if known.end.from <= o.to && late.proof >= 0 { // what the other was told later is the mistake
		u := &d.ix.ops[late.proof]
		cause := phrase("%s was told at %v that the lock is still its own, granted at %v, which %s had got at %v",
			u.client.name, min(u.to, d.ix.end), k.to, o.client.name, o.to)
		ev.add(min(u.to, d.ix.end), []string{u.client.name, o.client.name}, cause, k.end, o.end, u.begin, u.end)
		return
	}
	if known.end.from > o.to {
		late = &known
	}
	cause := phrase("%s got the lock at %v while %s, granted at %v, %s", o.client.name, o.to, k.client.name, k.to, d.until(late))
	who, records := []string{o.client.name, k.client.name}, append(d.proof(late), o.begin, o.end, k.end)
	if k.lease >= 0 && k.outcome == history.OK {
		culprit, why, record := d.ix.whyTwo(&d.ix.leases[k.lease], &d.ix.leases[o.lease], o.to)
		if why != "" {
			cause += ": " + why
		}
		who, records = append([]string{culprit}, who...), append(records, record)
	}
	ev.add(o.to, who, cause, records...)
}

// usesOf returns the uses of an attempt; they are sorted by now.
func (d *dossier) usesOf(number int) []use {
	from := sort.Search(len(d.uses), func(i int) bool { return d.uses[i].attempt >= number })
	to := from
	for to < len(d.uses) && d.uses[to].attempt == number {
		to++
	}
	return d.uses[from:to]
}

// lastKeeper is the hold that keeps the lock from everybody else the longest, in
// the states that were possible; nil when there is none.
func (d *dossier) lastKeeper(f *frontier, end stop) *tenure {
	var late *tenure
	for _, c := range end.configs {
		if c.state < 0 {
			continue
		}
		if t := &f.tenures[c.state]; t.origin != f.tenures[end.moment.which].origin && (late == nil || t.end.from > late.end.from) {
			late = t
		}
	}
	return late
}

// until says until when a hold lasts at least, and why.
func (d *dossier) until(t *tenure) string {
	switch {
	case t.leased:
		return phrase("had a lease until %v at the least", t.end.from)
	case t.proof < 0 && t.end.from < forever: // what is left: it was told of a loss, or crashed
		return phrase("had it until %v at the least", t.end.from)
	case t.proof < 0:
		return "had not given it back"
	}
	o := &d.ix.ops[t.proof]
	if o.name == history.Release {
		return phrase("still had it at %v, when it began to give it back", o.from)
	}
	return phrase("still had it at %v, when it was extended", o.from)
}

func (d *dossier) proof(t *tenure) []int {
	if t.proof < 0 {
		return nil
	}
	o := &d.ix.ops[t.proof]
	return []int{o.begin, o.end}
}

// tellVague tells of an acquire without a known outcome that was used with success
// although it cannot have been granted.
func (d *dossier) tellVague(ev *evidence, t *tenure, late *tenure) {
	a := &d.ix.ops[d.attempts[t.origin].op]
	cause := phrase("%s was told by %v that it had the lock, which it can not have got since %v", a.client.name, t.start.to, t.start.from)
	who, records := []string{a.client.name}, []int{a.begin, a.end}
	if late != nil {
		k := &d.ix.ops[d.attempts[late.origin].op]
		cause += phrase(": %s, granted at %v, %s", k.client.name, k.to, d.until(late))
		who, records = append(who, k.client.name), append(records, k.end)
	}
	ev.add(t.start.to, who, cause, append(records, d.proof(t)...)...)
}

// tellRefusal tells of a refusal although nobody can have had the lock. It names
// who had it before, if anybody.
func (d *dossier) tellRefusal(ev *evidence, f *frontier, r refusal) {
	o := &d.ix.ops[r.op]
	var before *tenure
	for i := range f.tenures {
		if t := &f.tenures[i]; t.end.to < r.from && (before == nil || t.end.to > before.end.to) {
			before = t
		}
	}
	who, records := []string{o.client.name}, []int{o.begin, o.end}
	cause := phrase("%s was refused the lock at %v, but at no time since %v can anybody have had it", o.client.name, o.to, o.from)
	if before != nil {
		a := &d.attempts[before.origin]
		k := &d.ix.ops[a.op]
		who = append(who, k.client.name)
		cause += phrase("; the last to have had it, %s, had it until %v at the most", k.client.name, before.end.to)
		records = append(records, k.end)
		records = append(records, d.ended(before)...)
	}
	ev.add(o.to, who, cause, records...)
}

// ended is the records of the operation that shows when a hold had ended.
func (d *dossier) ended(t *tenure) []int {
	for _, u := range d.usesOf(t.origin) {
		if u.learned != unsure && u.to == t.end.to {
			o := &d.ix.ops[u.op]
			return []int{o.begin, o.end}
		}
	}
	return nil
}

// tellClash tells of what a client was told that does not fit together.
func (d *dossier) tellClash(ev *evidence, c *clash) {
	o := &d.ix.ops[c.ops[0]]
	var records []int
	for _, n := range c.ops {
		records = append(records, d.ix.ops[n].begin, d.ix.ops[n].end)
	}
	cause := phrase("%s: %s of %s at %v", c.kind, said(o), o.client.name, o.to)
	if c.attempt >= 0 {
		k := &d.ix.ops[d.attempts[c.attempt].op]
		records = append(records, k.end)
		if k.to <= o.from {
			cause += phrase("; it had been granted at %v", k.to)
		}
	}
	ev.add(c.at, []string{o.client.name}, cause, records...)
}

// said names an operation and its answer.
func said(o *op) string {
	if o.outcome == history.Fail {
		return "a refused " + o.name
	}
	return "a successful " + o.name
}
