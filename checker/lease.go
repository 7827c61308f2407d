package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/checker/history"
)

// lease is one grant, as its client knows it. It is told from others by the
// acquire that yielded it and never by its owner, because some versions store
// the same value every time.
type lease struct {
	client  *client
	owner   string
	also    []string // the owners that extends gave it in place of that one
	round   int
	acquire int           // the operation that yielded it
	from    time.Duration // when Acquire returned
	claim   time.Duration // what the version claims, as last extended; 0 when it makes no claim
	extends []int         // the operations that extended it, nested acquires among them
	release int           // the first operation that gave it back; -1 when none did
	lost    int           // the record that says it was lost; -1 when none does
	hold    int           // its newest hold
	over    bool          // the belief ended for good
	shared  bool          // others may have it too, if they share
}

// hold is a stretch of time in which a client believed in its lease. A lease
// has a second one only if an extend succeeded after the claim had passed.
type hold struct {
	span
	lease  int
	why    ending
	record int // the record that ended it; -1 when time did
}

// ending says why a client ceased to believe in its lease.
type ending uint8

const (
	endHistory ending = iota // it never did
	endRelease
	endLost
	endClaim
	endCrash
	endDone
	endQuiet
)

// grant opens a lease for an acquire that ended well.
func (ix *index) grant(acquire int, r *history.Record) int {
	o := &ix.ops[acquire]
	number := len(ix.leases)
	ix.leases = append(ix.leases, lease{
		client: o.client, owner: r.Owner, round: cmp.Or(r.Round, ix.rec(o.begin).Round),
		acquire: acquire, from: r.T, claim: r.Until, release: -1, lost: -1,
		shared: r.Shared || ix.rec(o.begin).Shared,
	})
	ix.believe(number, r.T)
	o.client.open = append(o.client.open, number)
	return number
}

func (ix *index) believe(number int, t time.Duration) {
	ix.leases[number].hold = len(ix.holds)
	ix.holds = append(ix.holds, hold{span{t, forever}, number, endHistory, -1})
}

// leaseOf finds the client's unreleased lease that r is about: of the same
// round and owner, or failing that of the same owner.
func (ix *index) leaseOf(c *client, r *history.Record) int {
	for k := len(c.open) - 1; k >= 0; k-- {
		l := &ix.leases[c.open[k]]
		if l.round == r.Round && (l.owner == "" || r.Owner == "" || l.named(r.Owner)) {
			return c.open[k]
		}
	}
	if r.Owner == "" {
		return -1
	}
	for k := len(c.open) - 1; k >= 0; k-- {
		if ix.leases[c.open[k]].named(r.Owner) {
			return c.open[k]
		}
	}
	return -1
}

// named reports whether a value is the owner of the lease, or was made it.
func (l *lease) named(owner string) bool { return l.owner == owner || slices.Contains(l.also, owner) }

// releasing ends the belief in the lease that a release is about to give back. A
// nested one only counts back to the lease that it is inside of.
func (ix *index) releasing(c *client, r *history.Record, i, release int) int {
	number := ix.leaseOf(c, r)
	if number < 0 {
		return -1
	}
	if r.Depth > 1 && ix.rec(ix.ops[ix.leases[number].acquire].begin).Depth < 2 {
		return number
	}
	ix.leases[number].release = release
	ix.disbelieve(number, r.T, endRelease, i)
	c.open = slices.DeleteFunc(c.open, func(n int) bool { return n == number })
	return number
}

// nest takes an acquire that succeeded inside of a lease of the same owner: it
// makes no lease of its own, but what it claims is claimed of the outer one.
func (ix *index) nest(o *op, number int, r *history.Record) {
	acquire := ix.leases[o.lease].acquire
	ix.nested[acquire] = append(ix.nested[acquire], number)
	if r.Until > 0 {
		ix.extend(o, number, r)
	}
}

// extend moves the claim of a lease, and revives the belief when the claim had
// already passed.
func (ix *index) extend(o *op, number int, r *history.Record) {
	if o.lease < 0 {
		return
	}
	l := &ix.leases[o.lease]
	l.extends = append(l.extends, number)
	if r.Owner != "" && l.owner != "" && !l.named(r.Owner) {
		l.also = append(l.also, r.Owner)
	}
	if l.over {
		return
	}
	if l.claim > 0 && l.claim < r.T {
		ix.disbelieve(o.lease, r.T, endClaim, -1)
		l.over = false
		ix.believe(o.lease, r.T)
	}
	l.claim = r.Until
	if l.claim > 0 {
		l.claim = max(l.claim, r.T) // it was believed in until now, whatever is claimed
	}
}

// lose ends the belief in the newest unreleased lease of that owner.
func (ix *index) lose(c *client, r *history.Record, i int) {
	if number := ix.leaseOf(c, r); number >= 0 && ix.leases[number].lost < 0 {
		ix.leases[number].lost = i
		ix.disbelieve(number, r.T, endLost, i)
	}
}

// stop ends every belief of a client that does nothing any more.
func (ix *index) stop(c *client, i int, why ending) {
	for _, number := range c.open {
		ix.disbelieve(number, ix.rec(i).T, why, i)
	}
}

func (ix *index) stopAll(i int) {
	for _, c := range ix.clients {
		if !c.probe() {
			ix.stop(c, i, endQuiet)
		}
	}
}

// disbelieve ends the belief in a lease at t, or when its claim passed, if that
// was earlier.
func (ix *index) disbelieve(number int, t time.Duration, why ending, record int) {
	l := &ix.leases[number]
	if l.over {
		return
	}
	l.over = true
	h := &ix.holds[l.hold]
	h.to, h.why, h.record = t, why, record
	if l.claim > 0 && l.claim < t {
		h.to, h.why, h.record = max(l.claim, h.from), endClaim, -1
	}
}

func (ix *index) closeHolds() {
	for number := range ix.leases {
		ix.disbelieve(number, ix.end, endHistory, -1)
	}
}

// claimAt returns what the version claimed of the lease at t; 0 when nothing.
func (ix *index) claimAt(l *lease, t time.Duration) time.Duration {
	claim := ix.rec(ix.ops[l.acquire].end).Until
	for _, e := range l.extends {
		if ix.ops[e].to <= t {
			claim = ix.rec(ix.ops[e].end).Until
		}
	}
	return claim
}

// released returns when the client was done with the lease: when its release
// had ended, or when the client had stopped.
func (ix *index) released(l *lease) time.Duration {
	t := min(l.client.crashed, l.client.done)
	if !l.client.probe() {
		t = min(t, ix.quiet)
	}
	if l.release >= 0 {
		t = min(t, ix.ops[l.release].to)
	}
	return t
}

// section names a client's critical section.
type section struct {
	client *client
	round  int
}

// leasesIn returns the leases of a critical section.
func (ix *index) leasesIn(s section) []int {
	if ix.rounds == nil {
		ix.rounds = map[section][]int{}
		for i := range ix.leases {
			k := section{ix.leases[i].client, ix.leases[i].round}
			ix.rounds[k] = append(ix.rounds[k], i)
		}
	}
	return ix.rounds[s]
}

// leasesOf returns the leases of a client's value, in order.
func (ix *index) leasesOf(client, owner string) []int {
	if ix.valued == nil {
		ix.valued = map[own][]int{}
		for i := range ix.leases {
			l := &ix.leases[i]
			for _, name := range append([]string{l.owner}, l.also...) {
				value := owned(l.client.name, name)
				ix.valued[value] = append(ix.valued[value], i)
			}
		}
	}
	return ix.valued[owned(client, owner)]
}

// lapsed reports whether the lease that a life is of was over by t although the
// node knew of no end: it had passed what the version claimed; or it makes no claim,
// its key has no TTL though leases are to have one, and that time had passed since
// its client sent what wrote its value, or last wrote it anew, or the node's clock was set. Where the value itself
// says until when it is good, others may take it then.
func (ix *index) lapsed(l *life, t time.Duration) bool {
	endless := ix.h.Header.Lock.TTL > 0 && l.meant(t) == forever
	if endless && slices.ContainsFunc(ix.faults, func(f fault) bool { return f.name == "clock" && f.from <= t && f.names(l.node) }) {
		return true // by that node's clock
	}
	since := ix.sent(l)
	for _, n := range slices.Backward(ix.leasesOf(l.holder, l.owner)) {
		lease := &ix.leases[n]
		call := ix.ops[lease.acquire].from
		if call > l.from {
			continue
		}
		if claim := ix.claimAt(lease, t); claim > 0 && lease.from <= t {
			return claim < t
		}
		if ix.commandAt(l.begin) < 0 { // when it was written, only the call tells
			since = min(since, call)
		}
		break
	}
	if !endless {
		return false
	}
	for _, m := range l.terms[1:] {
		if m.by == l.holder && m.at <= t {
			since = max(since, ix.departed(m.record))
		}
	}
	return since+ix.h.Header.Lock.TTL <= t
}
