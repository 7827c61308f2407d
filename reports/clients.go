package reports

import (
	"fmt"
	"regexp"
	"strings"

	"lockpick/checker/history"
)

// clients tells who did what when: the first thing to look at.
func (c *cast) clients() []entry {
	var items []item
	for i, r := range c.h.Records {
		if c.crowd(r.Who) || r.Op == history.Apply && c.crowd(r.Client) && !c.cited[history.Line(i)] {
			continue
		}
		e, ok := c.client(i, r)
		if !ok {
			continue
		}
		items = append(items, item{entry: e, stream: e.who, sign: e.text, label: e.text})
	}
	return append(c.fold(items), c.extras()...)
}

// client tells one record, or not: an operation that was over at once is told
// where it counts, an acquire when it ends and the others when they begin.
func (c *cast) client(i int, r history.Record) (entry, bool) {
	e := entry{t: r.T, lines: line(i), who: r.Who}
	switch {
	case r.Kind == history.Fault:
		return c.fault(e, r), true
	case r.Kind == history.Note:
		return note(e, r)
	case r.Kind == history.Observe:
		return c.observed(e, i, r)
	}
	o := c.byID[r.ID]
	if o == nil {
		return e, false
	}
	e.lines = o.lines
	short := o.ended && o.took() <= c.brief()
	switch begins := r.Kind == history.Invoke; {
	case r.Op == history.Acquire && begins && short, r.Op != history.Acquire && !begins && short:
		return e, false
	case short && !begins, short && r.Op != history.Acquire:
		e.ink, e.text, e.aside = c.outcome(o)
	case begins:
		if o.ended {
			e.lines = o.lines[:1]
		}
		e.text = c.begins(o)
	default:
		e.lines = o.lines[1:] // what the store applied of it too
		e.ink, e.text, e.aside = c.outcome(o)
		if r.Op == history.Acquire {
			e.aside = ", after waiting " + long(o.took()) + e.aside
		} else {
			e.aside += ", after " + long(o.took())
		}
	}
	return e, true
}

func (c *cast) fault(e entry, r history.Record) entry {
	e.keep, e.ink = true, warn
	e.text = strings.TrimSpace(r.Op + " " + r.Target)
	if r.For > 0 && r.Text != history.Healed {
		e.text += " for " + long(r.For)
	}
	switch {
	case r.Error != "":
		e.ink, e.text = loud, e.text+" did not happen: "+r.Error
	case r.Text == history.Healed:
		e.text += " is over"
	case r.Text != "" && r.Text != history.Struck:
		e.text += ": " + r.Text
	}
	if mates := c.struckWith(r); len(mates) > 0 {
		e.aside = ", and with it " + nodeList(mates) + " of the same process"
	}
	return e
}

// note tells what the harness remarks, as far as it concerns the clients.
func note(e entry, r history.Record) (entry, bool) {
	switch r.Op {
	case history.Quiet:
		e.ink, e.text = faint, "all clients have stopped and all faults are healed"
		return e, true
	case history.Stuck:
		e.ink, e.keep, e.who, e.text = warn, true, r.Target, orWho(r.Text, "does not finish")
		return e, true
	case history.End:
		e.ink, e.keep, e.text = warn, true, "the run ends undecided: "+r.Text
		return e, r.Text != ""
	default:
		return e, false
	}
}

// observed tells what a client saw, and writes that the store applied outside of
// the client's own call.
func (c *cast) observed(e entry, i int, r history.Record) (entry, bool) {
	switch r.Op {
	case history.Lost:
		e.ink, e.text = warn, "learns that "+r.Owner+" is gone"
	case history.Heed:
		e.text = "asks its lease: still held"
		if r.Error != "" {
			e.ink, e.text = warn, "asks its lease and stops: "+r.Error
		}
	case history.Done:
		if !c.isCited(e.lines) {
			return e, false
		}
		e.text = "is done"
	case history.Role:
		if c.starts(i) && !c.isCited(e.lines) {
			return e, false
		}
		e.ink, e.keep, e.text = warn, true, becomes(r)
	case history.Sentry:
		s := c.heard[e.lines[0]]
		if s == nil {
			return e, false
		}
		e = sentry(e, s)
	case history.Apply:
		if c.told[e.lines[0]] {
			return e, false
		}
		what := "write"
		if c.lockless {
			what = "change"
		}
		e.ink, e.text = warn, fmt.Sprintf("applies a %s of %s: %s became %s", what, r.Client, r.Was, number(r.Value))
	default:
		return e, false
	}
	return e, true
}

// begins tells an operation that takes a while, or never ends.
func (c *cast) begins(o *op) string {
	what := map[string]string{history.Acquire: "waits for " + c.lock(o), history.Release: "releases " + o.begin.Owner,
		history.Extend: "renews " + o.begin.Owner, history.Read: "reads the resource", history.Write: "writes " + number(o.begin.Value),
		history.Change: c.changes(o)}[o.begin.Op]
	if what == "" {
		what = o.begin.Op
	}
	what += mode(o)
	switch {
	case !o.ended && c.died[o.begin.Who]:
		return what + ": dies before it hears back"
	case !o.ended:
		return what + ": never hears back"
	}
	at := clock(o.end.T, false)
	switch {
	case o.begin.Op == history.Acquire && o.ok():
		return what + ": granted at " + at
	case o.begin.Op == history.Acquire && o.end.Kind == history.Fail:
		return what + ": gives up at " + at
	case o.ok():
		return what + ": answered at " + at
	default:
		return what + ": an error at " + at
	}
}

// outcome tells how an operation ended.
func (c *cast) outcome(o *op) (k ink, text, aside string) {
	switch o.begin.Op {
	case history.Acquire:
		k, text, aside = c.acquired(o)
	case history.Release:
		text = "releases " + o.begin.Owner + mode(o)
		if g := o.granted; g != nil {
			aside = ", held for " + long(o.begin.T-g.end.T)
			if late := o.begin.T - g.until; g.until > 0 && late > 0 {
				aside += ", " + long(late) + " past its end"
			}
		}
	case history.Extend:
		text = "renews " + o.begin.Owner
		if o.end.Until > 0 {
			aside = " until " + clock(o.end.Until, false)
		}
	case history.Read:
		text = "reads the resource"
		if o.ok() {
			text = "reads " + number(o.end.Value)
		}
	case history.Write:
		text = "writes " + number(o.begin.Value)
		if o.over != "" {
			text += " over " + o.over
		}
		if o.begin.Fence > 0 {
			text += fmt.Sprintf(" with fence %d", o.begin.Fence)
		}
	case history.Change:
		text = c.changes(o)
		if o.became != nil {
			text += ": " + o.over + " became " + number(o.became)
		}
	default:
		text = o.begin.Op
	}
	if o.begin.Op == history.Acquire || o.ok() {
		return k, text, aside
	}
	if o.end.Kind == history.Fail {
		return warn, because(text+aside+": refused", reason(o.end.Error)), ""
	}
	return warn, because(text+aside+": does not learn whether it happened", reason(o.end.Error)), ""
}

// wrapping is what a lock says before the error proper: release "order:123":
var wrapping = regexp.MustCompile(`^(acquire|release|extend|renew) "[^"]*": `)

// reason is an error without what the line says already, and without the name of
// the package that it comes from.
func reason(text string) string {
	text = wrapping.ReplaceAllString(text, "")
	return strings.TrimPrefix(strings.TrimPrefix(text, "impls: "), "testbed: ")
}

func (c *cast) acquired(o *op) (k ink, text, aside string) {
	switch o.end.Kind {
	case history.Fail:
		return warn, because("does not get "+c.lock(o)+mode(o), reason(o.end.Error)), ""
	case history.Unknown:
		return warn, because("does not learn whether it has "+c.lock(o)+mode(o), reason(o.end.Error)), ""
	default: // it has it
	}
	text = "is granted " + o.end.Owner + mode(o)
	if c.h.Header.Lock.Count > 1 {
		text = "is granted " + c.lock(o) + " as " + o.end.Owner + mode(o)
	}
	if o.end.Fence > 0 {
		text += fmt.Sprintf(" with fence %d", o.end.Fence)
	}
	if o.end.Until > 0 {
		text += " until " + clock(o.end.Until, false)
	}
	if o.begin.Round > 0 && c.h.Header.Workload.Rounds > 1 {
		aside = fmt.Sprintf(", round %d", o.begin.Round)
	}
	if o.released == nil {
		return k, text, aside + ", never releases it"
	}
	return k, text, aside + ", releases it at " + clock(o.released.begin.T, false)
}

// lock names the lock that an acquire is of, where there are several.
func (c *cast) lock(o *op) string {
	if c.h.Header.Lock.Count > 1 {
		return o.begin.Key
	}
	return "the lock"
}

// changes tells what a client without a lock does to the resource.
func (c *cast) changes(o *op) string {
	by := "?"
	if o.begin.Value != nil {
		by = fmt.Sprintf("%+d", *o.begin.Value)
	}
	return fmt.Sprintf("changes the %s by %s", orWho(c.h.Header.Workload.Resource, "resource"), by)
}

// mode says what is unusual about an acquire or a release.
func mode(o *op) string {
	text := ""
	if o.begin.Depth > 1 {
		text += fmt.Sprintf(", %d deep", o.begin.Depth)
	}
	if o.begin.Shared {
		text += ", in shared mode"
	}
	return text
}

func number(v *int64) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}
