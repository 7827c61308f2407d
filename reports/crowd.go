package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// deeds is what one of many clients did.
type deeds struct {
	granted, released, refused, gaveUp, unknown, stopped int
	changed, unchanged                                   int // without a lock
	first, last, waited                                  time.Duration
}

func (d deeds) String() string {
	if d == (deeds{granted: 1, released: 1}) {
		return "granted and released once each"
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, what+" "+times(n))
		}
	}
	add(d.granted, "granted")
	add(d.released, "released")
	add(d.refused, "release refused")
	add(d.gaveUp, "gave up waiting")
	add(d.unknown, "left without an answer")
	add(d.stopped, "stopped before writing")
	add(d.changed, "changed the resource")
	add(d.unchanged, "changed nothing")
	if len(parts) == 0 {
		return "never asked for the lock"
	}
	return strings.Join(parts, ", ") + " each"
}

// extras sums up the clients that are not told one by one: those that did the
// same share a line.
func (c *cast) extras() []entry {
	if c.others == 0 {
		return nil
	}
	did := map[string]*deeds{}
	for _, name := range c.h.Header.Workload.Clients {
		if c.crowd(name) {
			did[name] = &deeds{first: -1}
		}
	}
	for _, r := range c.h.Records {
		if d := did[r.Who]; d != nil {
			d.add(r, c.byID[r.ID])
		}
	}
	groups := map[deeds]*deeds{}
	n := map[deeds]int{}
	var order []deeds
	for _, name := range c.h.Header.Workload.Clients {
		d := did[name]
		if d == nil {
			continue
		}
		kind := *d
		kind.first, kind.last, kind.waited = 0, 0, 0
		if n[kind]++; n[kind] == 1 {
			order = append(order, kind)
			groups[kind] = &deeds{first: d.first}
		}
		g := groups[kind]
		g.first, g.last, g.waited = min(g.first, d.first), max(g.last, d.last), max(g.waited, d.waited)
	}
	slices.SortStableFunc(order, func(a, b deeds) int { return n[b] - n[a] })
	var out []entry
	for _, kind := range order {
		g := groups[kind]
		text := fmt.Sprintf("%s: %v", count(n[kind], "more client"), kind)
		if n[kind] == 1 {
			text = strings.TrimSuffix(text, " each")
		}
		out = append(out, entry{still: true, ink: plain, text: text, aside: fmt.Sprintf(", from %s to %s, the longest wait %s",
			clock(max(g.first, 0), false), clock(g.last, false), long(g.waited))})
	}
	return out
}

func (d *deeds) add(r history.Record, o *op) {
	if d.first < 0 {
		d.first = r.T
	}
	d.last = r.T
	if r.Op == history.Heed && r.Error != "" {
		d.stopped++
	}
	if !r.Ends() || o == nil {
		return
	}
	if r.Op == history.Acquire {
		d.waited = max(d.waited, o.took())
	}
	switch {
	case r.Kind == history.Unknown:
		d.unknown++
	case r.Op == history.Change && r.Kind == history.OK:
		d.changed++
	case r.Op == history.Change:
		d.unchanged++
	case r.Op == history.Acquire && r.Kind == history.OK:
		d.granted++
	case r.Op == history.Acquire:
		d.gaveUp++
	case r.Op == history.Release && r.Kind == history.OK:
		d.released++
	case r.Op == history.Release:
		d.refused++
	}
}
