package checker

import (
	"math"
	"sort"
	"time"
)

// searchLimit is how long Porcupine may search an order of the updates.
const searchLimit = 5 * time.Second

func noLostUpdate() Check {
	return Check{
		Name:    "no-lost-update",
		Letter:  "L",
		Promise: "The resource shows every acknowledged change once, and stock is never oversold.",
		How: "Each section's read and write make one read-modify-write that must fit some order of all of them, from " +
			"the call of the read to the end of the write. A write without a reply may have happened or not; one that the " +
			"store refused did not. First two cheap proofs: two acknowledged changes of one value, and the final value " +
			"against the count of acknowledged changes. Then Porcupine, for 5 s of real time at most: when that is not " +
			"enough, or there are more than 20,000 sections, the verdict is unknown. Blind to violations of the lock " +
			"whose writes did not meet. Where clients change the resource without a lock, the final value, as the probe reads " +
			"it or else as the store has it, must be the initial one with every acknowledged change and any of those without " +
			"a reply, each at most once; a stock must never be below 0; and where the store tells what it applied, it must " +
			"apply no change twice and none that was refused.",
		judge: judgeNoLostUpdate,
	}
}

func judgeNoLostUpdate(ix *index) Result {
	if l := ix.ledger(); l != nil {
		return ix.judgeChanges(l)
	}
	b := ix.book()
	figures := []Figure{{Name: "acknowledged", Value: float64(b.acknowledged)}}
	if b.unknown > 0 {
		figures = append(figures, Figure{Name: "unknown outcome", Value: float64(b.unknown)})
	}
	if b.final != nil {
		figures = append(figures, Figure{Name: "final", Value: float64(*b.final)})
	}
	var ev evidence
	b.count(&ev, ix.h.Header.Workload.Resource)
	b.sameValue(&ev)
	switch {
	case ev.total > 0:
		return ev.result(figures...)
	case b.acknowledged == 0:
		return undecided("no client completed a change of the resource", figures...)
	}
	start := time.Now()
	switch linearizable(b.initial, b.updates(len(b.accesses)), searchLimit) {
	case Holds:
		return ev.result(figures...)
	case Violated:
		b.firstThatFails(&ev, start.Add(searchLimit))
		return ev.result(figures...)
	default:
		return undecided(phrase("no order of the %d uses of the resource was found or excluded within %v", len(b.accesses), searchLimit), figures...)
	}
}

// onward reports whether no value of the resource can come back once it is gone:
// every change goes the same way, as in a counter, or leaves a value of its own,
// as in a register.
func (b *book) onward() bool {
	up, down, fresh := true, true, true
	left := map[int64]bool{b.initial: true}
	for _, a := range b.accesses {
		if !a.writes {
			continue
		}
		up = up && a.reads && a.is > a.was
		down = down && a.reads && a.is < a.was
		fresh = fresh && !left[a.is]
		left[a.is] = true
	}
	return up || down || fresh
}

// sameValue finds acknowledged changes of one and the same value.
func (b *book) sameValue(ev *evidence) {
	if !b.onward() {
		return
	}
	first := map[int64]*access{}
	for i := range b.accesses {
		a := &b.accesses[i]
		if !a.writes || !a.reads || a.maybe {
			continue
		}
		o := first[a.was]
		if o == nil {
			first[a.was] = a
			continue
		}
		wrote := phrase("both wrote %d", a.is)
		if a.is != o.is {
			wrote = phrase("wrote %d and %d", o.is, a.is)
		}
		cause := phrase("%v and %v both read %d and %s: one update is lost", o, a, a.was, wrote)
		ev.add(a.ret, []string{a.client, o.client}, cause, o.read, o.write, a.read, a.write)
	}
}

// count compares what was acknowledged with what is there. An update without a
// reply may count or not, so the final value must lie in a range.
func (b *book) count(ev *evidence, resource string) {
	if resource != "stock" && resource != "counter" {
		return
	}
	var sum, least, most int64
	over := -1 // the record that sold what was not there
	for i := range b.accesses {
		a := &b.accesses[i]
		d := a.is - a.was
		switch {
		case !a.writes:
		case !a.reads:
			return // nobody knows what a blind write changed
		case a.maybe:
			least, most = least+min(d, 0), most+max(d, 0)
		default:
			if sum += d; -sum > b.initial && over < 0 {
				over = a.end
			}
		}
	}
	if resource == "stock" && -sum > b.initial {
		ev.add(b.end, nil, phrase("sold %d of %d", -sum, b.initial), over, b.finalRecord)
	}
	if b.final == nil {
		return
	}
	want := b.initial + sum
	if *b.final >= want+least && *b.final <= want+most {
		return
	}
	off := *b.final - (want + most)
	if *b.final < want+least {
		off = want + least - *b.final
	}
	fate := "lost"
	if (resource == "stock") == (*b.final < want+least) {
		fate = "counted that nobody was told of"
	}
	maybe := ""
	if b.unknown > 0 {
		maybe = phrase(" and %d without a reply", b.unknown)
	}
	ev.add(b.end, nil, phrase("the %s was %d and is %d in the end, after %d acknowledged changes%s: %d %s",
		resource, b.initial, *b.final, b.acknowledged, maybe, off, fate), b.finalRecord)
}

// firstThatFails finds the shortest beginning of the history that fits no order
// and tells of the access that makes it so. Should the time run out, it tells of
// the whole.
func (b *book) firstThatFails(ev *evidence, deadline time.Time) {
	all := len(b.accesses)
	n := 1 + sort.Search(all-1, func(k int) bool {
		return linearizable(b.initial, b.openAt(k+1), time.Until(deadline)) == Violated
	})
	if n == all && linearizable(b.initial, b.updates(all)[:all], time.Until(deadline)) == Holds {
		ev.add(b.end, nil, phrase("the final value %d fits no order of the %d uses of the resource", *b.final, all), b.finalRecord)
		return
	}
	a := &b.accesses[n-1]
	did := phrase("read %d", a.was)
	if a.writes && a.reads {
		did += phrase(" and wrote %d", a.is)
	}
	cause := phrase("%v %s, which fits no order of the %d uses of the resource before", a, did, n-1)
	who, records := []string{a.client}, []int{a.read, a.write, a.end}
	for i := n - 2; i >= 0; i-- {
		if o := &b.accesses[i]; o.writes && o.ret != forever {
			cause += phrase("; %v had last written %d", o, o.is)
			who, records = append(who, o.client), append(records, o.write)
			break
		}
	}
	ev.add(min(a.ret, b.end), who, cause, records...)
}

// openAt returns what was known when the first n accesses had ended: the later
// ones that had begun may have happened.
func (b *book) openAt(n int) []update {
	out := b.updates(len(b.accesses))[:len(b.accesses)]
	now := out[n-1].ret
	known := out[:n:n]
	for _, u := range out[n:] {
		if u.writes && u.call <= now {
			u.maybe, u.ret = true, math.MaxInt64
			known = append(known, u)
		}
	}
	return known
}
