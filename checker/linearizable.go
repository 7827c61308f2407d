package checker

import (
	"slices"
	"sort"
	"strings"
	"time"

	"lockpick/checker/history"
)

func linearizability() Check {
	return Check{
		Name:    "linearizable",
		Letter:  "Z",
		Promise: "The answers of the lock fit one order of a lock that has one owner at a time and leases.",
		How: "An exact algorithm over acquire, extend and release, each ok, refused or unknown; an unknown one may take effect " +
			"at any later time or never. A lease may run out from the call of its acquire, or of the last extend that was ok, " +
			"plus the TTL less 1 % and 2 ms, or from the claimed Until if that is earlier. It has run out for certain the TTL " +
			"plus 1 % and 2 ms after their return or the last renewal that a node recorded; there is no such time when " +
			"neither a node's record nor a claim speaks of it. Lost lets it end too, and so does a crash where leases have no TTL. A " +
			"refused acquire needs the lock held at one instant of the call, by anybody who may have had it. It proves nothing " +
			"when the caller's context had ended, when a node shows that this very call was granted for a while, and in " +
			"the weak mode: with a quorum above 1, with several keys locked as one, and in versions that grant in order of " +
			"arrival. Nested operations are left out. Only the first operation that fits no order is told. Unknown from the " +
			"first acquire in shared mode on, which is not modelled, and when too many orders are possible.",
		judge: judgeLinearizable,
	}
}

func judgeLinearizable(ix *index) Result {
	if ix.tried() == 0 {
		return undecided("no client tried to get the lock")
	}
	d := newDossier(ix)
	holds, c := tenures(d.attempts, d.uses, d.lease)
	if d.never != nil && (c == nil || d.never.at < c.at) {
		c = d.never
	}
	until := d.shared - 1
	if !ix.h.Complete {
		until = min(until, ix.end-1) // what begins at the instant of the cut may explain what ends there
	}
	if c != nil && c.at > until {
		c = nil
	}
	if c != nil {
		until = c.at
	}
	f := newFrontier(holds, d.refusals)
	end := f.walk(until)
	var ev evidence
	switch {
	case end.verdict == Violated:
		d.tellStop(&ev, f, end)
	case c != nil:
		d.tellClash(&ev, c)
	case end.verdict == Unknown:
		return undecided("too many orders of the lock's operations are possible")
	case d.shared < forever:
		return undecided("shared mode is not modelled")
	}
	return ev.result()
}

// dossier is what the clients of a history did with the lock, in the words of
// the algorithm.
type dossier struct {
	ix       *index
	lease    terms
	attempts []attempt
	uses     []use
	refusals []refusal
	shared   time.Duration // when it was first asked for in shared mode; forever when it never was
	never    *clash        // a use that was ok of what was never granted

	byLease []int           // attempts
	vague   map[section]int // the last attempt whose outcome is unknown
}

// allowance is what clocks may differ by in d: Redlock's own, 1 % and 2 ms.
func allowance(d time.Duration) time.Duration { return d/100 + 2*time.Millisecond }

func newDossier(ix *index) *dossier {
	d := &dossier{
		ix:       ix,
		byLease:  make([]int, len(ix.leases)),
		attempts: make([]attempt, 0, len(ix.leases)),
		uses:     make([]use, 0, len(ix.leases)),
		vague:    map[section]int{},
		shared:   forever,
	}
	if ttl := ix.h.Header.Lock.TTL; ttl > 0 {
		d.lease = terms{max(1, ttl-allowance(ttl)), later(ttl, allowance(ttl))}
	}
	weak := d.weak()
	for n := range ix.ops {
		switch o := &ix.ops[n]; o.name {
		case history.Acquire:
			d.acquire(n, o, weak)
		case history.Release, history.Extend:
			d.use(n, o)
		}
	}
	if !weak && ix.observed {
		d.strays()
	}
	return d
}

// weak reports whether a refusal proves nothing.
func (d *dossier) weak() bool {
	h := &d.ix.h.Header
	return h.Topology.Quorum > 1 || len(h.Lock.Also) > 0 || slices.Contains(h.Labels, history.LabelInOrder)
}

func (d *dossier) acquire(n int, o *op, weak bool) {
	if d.ix.rec(o.begin).Shared || o.end >= 0 && d.ix.rec(o.end).Shared {
		d.shared = min(d.shared, o.from)
	}
	switch {
	case o.outcome == history.Fail:
		if !weak && !d.ix.nests(o) && !d.excused(o) {
			d.refusals = append(d.refusals, refusal{o.span, n})
		}
	case d.ix.nests(o):
		// It may have granted, or renewed, what its section has already, and
		// if that had ended it may have been granted anew.
		d.attempts[d.byLease[o.lease]].endures = true
		d.mayHold(o.from, n)
	case o.outcome == history.OK:
		l := &d.ix.leases[o.lease]
		d.byLease[o.lease] = len(d.attempts)
		a := attempt{span: o.span, op: n, claim: d.ix.rec(o.end).Until, yields: forever}
		if l.lost >= 0 {
			a.yields = max(o.to, d.ix.rec(l.lost).T)
		}
		if d.lease.longest == 0 {
			a.yields = min(a.yields, max(o.to, o.client.crashed)) // with the client's connection
		} else {
			d.lasts(&a, l)
		}
		d.attempts = append(d.attempts, a)
	default:
		d.vague[section{o.client, d.ix.rec(o.begin).Round}] = len(d.attempts)
		d.mayHold(o.from, n)
	}
}

// mayHold adds a hold that may begin at any time from t on, and end at any time:
// nobody knows whether somebody gives it back.
func (d *dossier) mayHold(t time.Duration, n int) {
	d.attempts = append(d.attempts, attempt{span: span{t, forever}, op: n, yields: t})
}

// excused reports whether a refusal proves nothing: no attempt was made for its
// caller, or the servers had granted it to this very call for a while.
func (d *dossier) excused(o *op) bool {
	text := d.ix.rec(o.end).Error
	if strings.Contains(text, "context canceled") || strings.Contains(text, "context deadline exceeded") {
		return true
	}
	if !d.ix.observed {
		return false
	}
	lives := d.ix.keys().of(o.client.name, "")
	k := sort.Search(len(lives), func(k int) bool { return lives[k].from >= o.from })
	return k < len(lives) && lives[k].from <= o.to
}

// lasts notes how long a lease lasts at most, from what the nodes tell of the
// key and else from what the version claims. Renewals in the background are
// nobody's operation, so without either word there is no telling.
func (d *dossier) lasts(a *attempt, l *lease) {
	if !d.ix.observed {
		d.claimed(a)
		return
	}
	lives := d.ix.keys().of(l.client.name, l.owner)
	first := sort.Search(len(lives), func(k int) bool { return lives[k].from >= a.from })
	for k := first - 1; k >= 0 && first-k <= 2*len(d.ix.nodes); k-- { // what it had before, if it is still there
		if lives[k].to >= a.from {
			first = k
		}
	}
	known := false
	far := later(a.to, d.lease.longest)
	for _, life := range lives[first:] {
		if life.from > far {
			break
		}
		known = known || life.from <= a.to
		for i, m := range life.terms {
			if i+1 < len(life.terms) && life.terms[i+1].at <= a.to {
				continue // what it was given at first and had no more when Acquire returned
			}
			if m.until == forever {
				a.renewed = append(a.renewed, renewal{m.at, forever})
				continue
			}
			until := later(m.until, allowance(m.until-m.at))
			far = max(far, until)
			a.renewed = append(a.renewed, renewal{m.at, until})
		}
	}
	if !known {
		d.claimed(a)
		return
	}
	slices.SortStableFunc(a.renewed, func(x, y renewal) int { return int(x.at - y.at) })
}

// claimed takes the version's word for how long a lease lasts.
func (d *dossier) claimed(a *attempt) {
	a.renewed = nil
	switch {
	case a.claim == 0:
		a.endures = true
	default:
		a.renewed = []renewal{{a.to, later(a.claim, allowance(max(0, a.claim-a.from)))}}
	}
}

func (d *dossier) use(n int, o *op) {
	if d.ix.nests(o) {
		return
	}
	u := use{span: o.span, op: n, release: o.name == history.Release}
	switch o.outcome {
	case history.OK:
		u.learned, u.claim = yes, d.ix.rec(o.end).Until
	case history.Fail:
		u.learned = no
	default:
		u.to = forever
	}
	var ok bool
	if u.attempt, ok = d.usedBy(o); ok {
		d.uses = append(d.uses, u)
		return
	}
	if u.learned == yes && d.never == nil {
		done := "extended"
		if u.release {
			done = "released"
		}
		d.never = &clash{o.to, -1, "the lock was " + done + " though it had never been granted", []int{n}}
	}
}

// usedBy finds the attempt whose grant a release or extend is about.
func (d *dossier) usedBy(o *op) (int, bool) {
	if o.lease >= 0 {
		return d.byLease[o.lease], true
	}
	r := d.ix.rec(o.begin)
	best := -1 // the newest lease of the section, one of the same owner first
	for _, number := range d.ix.leasesIn(section{o.client, r.Round}) {
		l := &d.ix.leases[number]
		if l.from <= o.from && (best < 0 || l.owner == r.Owner || d.ix.leases[best].owner != r.Owner) {
			best = number
		}
	}
	if best >= 0 {
		return d.byLease[best], true
	}
	number, ok := d.vague[section{o.client, r.Round}]
	return number, ok
}

// strays adds what the nodes held for a client that the client does not know of:
// a packet that arrived late, or a second try of one call.
func (d *dossier) strays() {
	granted := map[own][]int{} // leases, by value
	for number := range d.ix.leases {
		l := &d.ix.leases[number]
		value := owned(l.client.name, l.owner)
		granted[value] = append(granted[value], number)
	}
	vague := map[string][]time.Duration{} // calls without a known outcome, by client
	for i := range d.attempts {
		if a := &d.attempts[i]; a.to == forever {
			who := d.ix.ops[a.op].client.name
			vague[who] = append(vague[who], a.from)
		}
	}
	for _, life := range d.ix.keys().lives {
		leases := granted[owned(life.holder, life.owner)]
		if leases == nil {
			leases = granted[own{life.holder, ""}]
		}
		if d.ix.rec(life.begin).Op == history.Role {
			continue // the node had it before
		}
		k := sort.Search(len(leases), func(k int) bool { return d.ix.leases[leases[k]].from >= life.from })
		if k < len(leases) && d.ix.ops[d.ix.leases[leases[k]].acquire].from <= life.from {
			continue
		}
		if calls := vague[life.holder]; len(calls) > 0 && calls[0] <= life.from {
			vague[life.holder] = calls[1:]
			continue
		}
		d.mayHold(life.from, -1)
	}
}
