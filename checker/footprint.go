package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"lockpick/checker/history"
)

// Bounds of the renewals of one lease in one TTL, when the header has none.
const (
	// usualRenewals is for a lease that is renewed faster than its client's first
	// one was. A watchdog that renews at a third of the TTL needs three.
	usualRenewals = 4

	// mostRenewals is for a lock that keeps a faster pace from its first lease on.
	mostRenewals = 12

	// faster is how much faster than the first lease counts: two timers in place
	// of one make it twice as fast.
	faster = 1.5
)

func footprint() Check {
	return Check{
		Name:    "footprint",
		Letter:  "F",
		Promise: "The lock costs what it must: no command without need, and none once it is given back.",
		How: "Counts, always. Violated when code of the lock still runs, or waits, after its Close; when a client that has " +
			"given back every lease and has no operation open sends a command; when one lease is renewed more often in one " +
			"TTL than the header's bound, with one more allowed (without a bound: more than 4 times and half as often again " +
			"as its client's first lease was, or more than 12 times); or when a grant costs more commands on average than " +
			"the header's bound, which has no default. Unknown when no node was observed.",
		judge: judgeFootprint,
	}
}

func judgeFootprint(ix *index) Result {
	var ev evidence
	commands := ix.background(&ev)
	renewals := ix.renewals(&ev)
	ix.leftovers(&ev)
	grants := 0
	for i := range ix.leases {
		if !ix.leases[i].client.probe() {
			grants++
		}
	}
	figures := ix.costs(grants)
	if ix.observed {
		figures = append(figures, Figure{Name: "renewals", Value: float64(renewals)})
		if grants > 0 {
			each := float64(commands) / float64(grants)
			figures = append(figures, Figure{Name: "commands per acquire", Value: each})
			if most := ix.h.Header.Bounds.CommandsPerAcquire; most > 0 && each > most && ix.h.Complete {
				ev.add(ix.end, nil, phrase("a grant cost %.1f commands on average, more than %g: %d commands for %d grants", each, most, commands, grants))
			}
		}
	}
	if !ix.observed {
		return undecided("no node's record of the commands", figures...)
	}
	return ev.result(figures...)
}

// background finds commands of clients that hold nothing and do nothing, and
// counts the commands of all clients but the probe.
func (ix *index) background(ev *evidence) int {
	busy := map[*client][]span{}
	for i := range ix.ops {
		o := &ix.ops[i]
		busy[o.client] = append(busy[o.client], o.span)
	}
	for i := range ix.leases {
		l := &ix.leases[i]
		busy[l.client] = append(busy[l.client], span{l.from, max(l.from, ix.released(l))})
	}
	for c, spans := range busy {
		busy[c] = union(spans)
	}
	n := 0
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || r.Op != history.Command || !ix.nodes[r.Who] || r.Client == "" {
			continue
		}
		c := ix.clients[r.Client]
		if c == nil || !c.probe() {
			n++
		}
		if c == nil {
			continue
		}
		sent := cmp.Or(r.Sent, r.T)
		spans := busy[c]
		k := firstAfter(spans, sent)
		if k == 0 || c.crashed <= sent || k < len(spans) && spans[k].covers(sent) {
			continue // before its first operation, it was getting ready
		}
		cause := phrase("%s sent %s at %v, %v after its last operation had ended, while it held nothing",
			c.name, describe(r.Command), sent, sent-spans[k-1].to)
		ev.add(r.T, []string{c.name}, cause, i)
	}
	return n
}

// leftovers finds that the lock did not end with its Close.
func (ix *index) leftovers(ev *evidence) {
	for i := range ix.h.Records {
		if r := ix.rec(i); r.Kind == history.Note && r.Op == history.Left {
			ev.add(r.T, nil, r.Text, i)
		}
	}
}

// describe names a command.
func describe(command []string) string {
	if len(command) == 0 {
		return "a command"
	}
	return strings.ToUpper(command[0])
}

// renewals finds leases that are renewed too often and counts all renewals.
// Several lives of one lease, on several nodes, are looked at one by one.
func (ix *index) renewals(ev *evidence) int {
	ttl := ix.h.Header.Lock.TTL
	first := map[place]float64{} // by node and holder: the pace of the first lease that was renewed
	total := 0
	for _, l := range ix.keys().lives {
		var own []int
		for _, m := range l.terms {
			if m.op == history.Renewed && m.by == l.holder && !ix.acquiring(l.holder, m.at) {
				own = append(own, m.record)
			}
		}
		total += len(own)
		hold := min(l.to, ix.end) - l.from
		if ttl <= 0 || len(own) == 0 || l.to == forever && !ix.h.Complete {
			continue
		}
		terms := hold.Seconds() / ttl.Seconds()
		pace := float64(len(own)) / terms
		who := place{l.node, l.holder}
		usual, ok := first[who]
		if !ok {
			first[who], usual = pace, pace
		}
		most := ix.h.Header.Bounds.RenewalsPerTTL
		switch {
		case most > 0:
		case pace > faster*usual:
			most = usualRenewals
		default:
			most = mostRenewals
		}
		if float64(len(own)) <= most*terms+1 {
			continue
		}
		cause := phrase("%s renewed one lease %d times in %v%s: %.1f times per TTL of %v, more than %g",
			l.holder, len(own), hold, ix.on(l.node), pace, ttl, most)
		if pace > faster*usual {
			cause += phrase(", and its first one %.1f times", usual)
		}
		ev.add(ix.rec(own[len(own)-1]).T, []string{l.holder}, cause, l.begin, own[0], own[len(own)-1])
	}
	return total
}

// acquiring reports whether the client was inside an acquire at t: the TTL that
// a second command sets is no renewal.
func (ix *index) acquiring(name string, t time.Duration) bool {
	c := ix.clients[name]
	if c == nil {
		return false
	}
	ops := ix.opsOf(c)
	n := sort.Search(len(ops), func(k int) bool { return ix.ops[ops[k]].from > t }) - 1
	for n >= 0 && ix.ops[ops[n]].name != history.Acquire {
		n--
	}
	return n >= 0 && ix.ops[ops[n]].open(t)
}

// costs are the figures that an operator watches.
func (ix *index) costs(grants int) []Figure {
	var waits, holds []time.Duration
	var ended, gaveUp, refused float64
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.client.probe() || o.outcome == "" {
			continue
		}
		switch o.name {
		case history.Acquire:
			ended++
			waits = append(waits, o.length())
			if o.outcome != history.OK {
				gaveUp++
			}
		case history.Release:
			if o.outcome == history.Fail {
				refused++
			}
		}
	}
	for i := range ix.holds {
		if !ix.holder(i).probe() {
			holds = append(holds, ix.holds[i].length())
		}
	}
	figures := []Figure{
		{Name: "grants", Value: float64(grants)},
		{Name: "releases refused", Value: refused},
	}
	if len(holds) > 0 {
		figures = append(figures,
			Figure{Name: "hold time, mean", Value: mean(holds), Unit: "s"},
			Figure{Name: "hold time, p99", Value: p99(holds), Unit: "s"})
	}
	if ended > 0 {
		figures = append(figures,
			Figure{Name: "wait time, mean", Value: mean(waits), Unit: "s"},
			Figure{Name: "gave up", Value: 100 * gaveUp / ended, Unit: "%"})
	}
	return figures
}

func mean(ds []time.Duration) float64 {
	sum := 0.0
	for _, d := range ds {
		sum += d.Seconds()
	}
	return sum / float64(len(ds))
}

// p99 sorts ds in place.
func p99(ds []time.Duration) float64 {
	slices.Sort(ds)
	return ds[int(math.Ceil(0.99*float64(len(ds))))-1].Seconds()
}
