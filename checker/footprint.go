package checker

import (
	"cmp"
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
			"given back every lease and has no operation open sends a command, unless that takes away a value of its own which the " +
			"node has, or tries to on a node that has not yet answered such a command, or is what a quorum lock has asked other nodes and this one " +
			"has for the first time; when one lease is renewed more often in one " +
			"TTL than the header's bound, with one more allowed (without a bound: more than 4 times and half as often again " +
			"as its client's first lease was, or more than 12 times; a renewal that left before the node had the one before is a " +
			"second try, and does not count); when a grant costs more commands on average than " +
			"the header's bound; when a node had more connections or subscriptions open at once than the header's bounds; or " +
			"when the clients finished fewer sections per second together than the header's bound, from their first acquire to " +
			"the end of their last section. None of the three has a default. The threads of a process count as one, and several " +
			"locks are looked at together. Its figures are of the clients, without the probe, and until they have stopped. " +
			"Unknown when no node was observed.",
		judge: judgeFootprint,
		whole: true,
	}
}

func judgeFootprint(ix *index) Result {
	var ev evidence
	commands := ix.background(&ev)
	renewals := ix.renewals(&ev)
	ix.leftovers(&ev)
	ix.load(&ev)
	ix.throughput(&ev)
	figures := ix.figures(commands, renewals)
	if !ix.observed {
		return undecided("no node's record of the commands", figures...)
	}
	most := ix.h.Header.Bounds.CommandsPerAcquire
	if grants := ix.grants(); most > 0 && grants > 0 && ix.h.Complete {
		if each := float64(commands) / float64(grants); each > most {
			ev.add(ix.end, nil, phrase("a grant cost %.1f commands on average, more than %g: %d commands for %d grants", each, most, commands, grants))
		}
	}
	return ev.result(figures...)
}

// load finds nodes that had to bear more than they may, each once.
func (ix *index) load(ev *evidence) {
	bounds := ix.h.Header.Bounds
	told := map[place]bool{}
	judge := func(i, n, most int, what string) {
		r := ix.rec(i)
		if at := (place{r.Who, what}); most > 0 && n > most && !told[at] {
			told[at] = true
			ev.add(r.T, nil, phrase("%s had %d %s open at once, more than %d", r.Who, n, what, most), i)
		}
	}
	for i := range ix.h.Records {
		if r := ix.rec(i); r.Kind == history.Observe && r.Op == history.Load && ix.nodes[r.Who] {
			judge(i, r.Connections, bounds.Connections, "connections")
			judge(i, r.Subscriptions, bounds.Subscriptions, "subscriptions")
		}
	}
}

// throughput finds that the clients finished too few sections in the time that
// they had. A section is finished when its release, or its change, has returned.
func (ix *index) throughput(ev *evidence) {
	least := ix.h.Header.Bounds.Throughput
	began, ok := ix.began()
	if least <= 0 || !ok || !ix.h.Complete {
		return
	}
	sections := map[section]bool{}
	last, record := began, -1
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.client.probe() || o.end < 0 || o.name != history.Release && o.name != history.Change {
			continue
		}
		sections[section{o.client, ix.rec(o.begin).Round}] = true
		if o.to > last {
			last, record = o.to, o.end
		}
	}
	each := 0.0
	if last > began {
		each = float64(len(sections)) / (last - began).Seconds()
	}
	if each < least {
		ev.add(last, nil, phrase("the clients finished %.3g sections per second together, fewer than %g: %d in %v", each, least, len(sections), last-began), record)
	}
}

// background finds commands of clients that hold nothing and do nothing, and
// counts the commands of all clients but the probe.
func (ix *index) background(ev *evidence) int {
	busy := map[string][]span{} // by the first thread of a process, whose threads act for one another
	keep := func(c *client, s span) {
		first := ix.process(c.name)[0]
		busy[first] = append(busy[first], s)
	}
	for i := range ix.ops {
		keep(ix.ops[i].client, ix.ops[i].span)
	}
	for i := range ix.leases {
		l := &ix.leases[i]
		keep(l.client, span{l.from, max(l.from, ix.released(l))})
	}
	for name, spans := range busy {
		busy[name] = union(spans)
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
		spans := busy[ix.process(c.name)[0]]
		k := firstAfter(spans, sent)
		if k == 0 || c.crashed <= sent || k < len(spans) && spans[k].covers(sent) {
			continue // before its first operation, it was getting ready
		}
		if ix.tidies(i) || ix.straggles(i) {
			continue
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
			if m.op != history.Renewed || !ix.sameProcess(m.by, l.holder) || ix.settingUp(l.holder, m.at) || ix.settingUp(m.by, m.at) {
				continue
			}
			total++
			if n := len(own); n == 0 || ix.departed(m.record) > ix.rec(own[n-1]).T {
				own = append(own, m.record) // else it was sent again, before the node had the one before
			}
		}
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

// settingUp reports whether the client was inside an acquire at t, or inside a
// release that only counts: the TTL that a second command sets then is no
// renewal.
func (ix *index) settingUp(name string, t time.Duration) bool {
	o := ix.busyAt(name, t)
	return o != nil && (o.name == history.Acquire || ix.nests(o))
}
