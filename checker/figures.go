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

// The figures that an operator watches (D2 section 6.3). Programs read them by
// name: a figure keeps its name and its unit, and one that a run says nothing of
// is left out.

// grants counts the leases of the clients, without the probe.
func (ix *index) grants() int {
	n := 0
	for i := range ix.leases {
		if !ix.leases[i].client.probe() {
			n++
		}
	}
	return n
}

func (ix *index) figures(commands, renewals int) []Figure {
	var out []Figure
	grants := ix.grants()
	began, ok := ix.began()
	seconds := (ix.stopped() - began).Seconds()
	lasted := ok && seconds > 0
	count := func(name string, n int) {
		out = append(out, Figure{Name: name, Value: float64(n)})
		if lasted {
			out = append(out, Figure{Name: name + " per second", Value: float64(n) / seconds})
		}
	}
	if ix.tried() > 0 {
		count("grants", grants)
	}
	if n := ix.changed(); n > 0 {
		count("changes", n)
	}
	out = append(out, ix.holdTimes()...)
	out = append(out, ix.waitTimes()...)
	out = append(out, ix.endings()...)
	if ix.observed {
		out = append(out,
			Figure{Name: "renewals", Value: float64(renewals)},
			Figure{Name: "renewals failed", Value: float64(ix.failedRenewals())})
		if grants > 0 {
			out = append(out, Figure{Name: "commands per acquire", Value: float64(commands) / float64(grants)})
		}
		if lasted {
			out = append(out, Figure{Name: "scripts per second", Value: float64(ix.scripts()) / seconds})
		}
	}
	return append(out, ix.loads()...)
}

// changed counts the changes of the resource that succeeded without a lock.
func (ix *index) changed() int {
	n := 0
	for i := range ix.ops {
		if o := &ix.ops[i]; o.name == history.Change && o.outcome == history.OK {
			n++
		}
	}
	return n
}

// began is when the first client called its first operation.
func (ix *index) began() (time.Duration, bool) {
	for i := range ix.ops {
		if !ix.ops[i].client.probe() {
			return ix.ops[i].from, true
		}
	}
	return 0, false
}

// holdTimes are how long the clients believed in their leases, to be read
// against the TTL.
func (ix *index) holdTimes() []Figure {
	var holds []time.Duration
	for i := range ix.holds {
		if !ix.holder(i).probe() {
			holds = append(holds, ix.holds[i].length())
		}
	}
	if len(holds) == 0 {
		return nil
	}
	out := []Figure{
		{Name: "hold time, mean", Value: mean(holds), Unit: "s"},
		{Name: "hold time, p99", Value: p99(holds), Unit: "s"},
	}
	if ttl := ix.h.Header.Lock.TTL; ttl > 0 {
		out = append(out, Figure{Name: "TTL", Value: ttl.Seconds(), Unit: "s"})
	}
	return out
}

// waitTimes are how long acquires took, those of a section that has the lock
// already left out.
func (ix *index) waitTimes() []Figure {
	var waits []time.Duration
	gaveUp := 0
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.name != history.Acquire || o.client.probe() || o.outcome == "" || ix.inside(o) {
			continue
		}
		waits = append(waits, o.length())
		if o.outcome != history.OK {
			gaveUp++
		}
	}
	if len(waits) == 0 {
		return nil
	}
	return []Figure{
		{Name: "wait time, mean", Value: mean(waits), Unit: "s"},
		{Name: "wait time, p99", Value: p99(waits), Unit: "s"},
		{Name: "gave up", Value: 100 * float64(gaveUp) / float64(len(waits)), Unit: "%"},
	}
}

// endings counts the releases that found nothing to release, and those that do
// not know.
func (ix *index) endings() []Figure {
	if ix.tried() == 0 {
		return nil
	}
	refused, unknown := 0, 0
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.name != history.Release || o.client.probe() {
			continue
		}
		switch o.outcome {
		case history.Fail:
			refused++
		case history.Unknown:
			unknown++
		default: // it succeeded, or is under way
		}
	}
	return []Figure{
		{Name: "releases refused", Value: float64(refused)},
		{Name: "releases unknown", Value: float64(unknown)},
	}
}

// renewing are the commands that can be a renewal.
var renewing = map[string]bool{"EVAL": true, "EVALSHA": true, "FCALL": true, "PEXPIRE": true, "EXPIRE": true}

// failedRenewals counts the extends that did not succeed, and the commands of
// lock code in the background that a node answered with no, or with an error.
func (ix *index) failedRenewals() int {
	n := 0
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.name == history.Extend && !o.client.probe() && (o.outcome == history.Fail || o.outcome == history.Unknown) {
			n++
		}
	}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if !ix.ofClient(r) || !renewing[describe(r.Command)] {
			continue
		}
		no := r.Reply == "0" || r.Reply == "(nil)" || strings.HasPrefix(r.Reply, "(error)") && !strings.HasPrefix(r.Reply, "(error) NOSCRIPT")
		if o := ix.busyAt(r.Client, cmp.Or(r.Sent, r.T)); no && (o == nil || o.name == history.Read || o.name == history.Write) {
			n++
		}
	}
	return n
}

// scripts counts the scripts that the clients' commands ran.
func (ix *index) scripts() int {
	n := 0
	for i := range ix.h.Records {
		r := ix.rec(i)
		if !ix.ofClient(r) {
			continue
		}
		switch describe(r.Command) {
		case "EVAL", "EVALSHA", "FCALL":
			if !strings.HasPrefix(r.Reply, "(error) NOSCRIPT") {
				n++
			}
		}
	}
	return n
}

// loads are the connections and subscriptions that a node had at most.
func (ix *index) loads() []Figure {
	connections, subscriptions, seen := 0, 0, false
	for i := range ix.h.Records {
		if r := ix.rec(i); r.Kind == history.Observe && r.Op == history.Load && ix.nodes[r.Who] {
			connections, subscriptions, seen = max(connections, r.Connections), max(subscriptions, r.Subscriptions), true
		}
	}
	if !seen {
		return nil
	}
	return []Figure{
		{Name: "connections, most", Value: float64(connections)},
		{Name: "subscriptions, most", Value: float64(subscriptions)},
	}
}

// ofClient reports whether r is a lock node's record of a client's command.
func (ix *index) ofClient(r *history.Record) bool {
	return r.Kind == history.Observe && r.Op == history.Command && ix.nodes[r.Who] &&
		r.Client != "" && r.Client != history.Probe && r.T <= ix.stopped()
}

// busyAt returns the operation that the client was in at t, or nil. A client does
// one thing at a time: of two that touch at t it is the later one.
func (ix *index) busyAt(name string, t time.Duration) *op {
	c := ix.clients[name]
	if c == nil {
		return nil
	}
	ops := ix.opsOf(c)
	k := sort.Search(len(ops), func(k int) bool { return ix.ops[ops[k]].from > t }) - 1
	if k < 0 || !ix.ops[ops[k]].open(t) {
		return nil
	}
	return &ix.ops[ops[k]]
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
