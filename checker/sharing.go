package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// A key that several clients share is a hash with a field for each of them, and
// perhaps some more, or a set, a sorted set or a list of them. Each part that is an
// owner has a life of its own; see value.go.

func (l *life) named(value string) bool {
	name := owned("", value)
	return owned("", l.owner) == name ||
		slices.ContainsFunc(l.also, func(other string) bool { return owned("", other) == name })
}

// share lets record i change the lives of a key that clients share. What is taken
// away when its own time is up counts as expired: the node cannot do that for a
// field.
func (ix *index) share(ks *keyspace, at place, r *history.Record, i int) {
	was := ks.current[at]
	ks.sharing[i] = true
	var stay []string
	if r.Op == history.Replaced || r.Op == history.Granted {
		stay = ix.ownersIn(r.Owner, was)
	}
	ks.before[i] = ix.hurt(was, stay, r, i)
	if r.Op == history.Renewed || r.Op == history.Shortened {
		for _, l := range was {
			ix.keep(l, r, i)
		}
		return
	}
	var is []*life
	for _, l := range was {
		switch {
		case r.Op == history.Replaced && slices.ContainsFunc(stay, l.named):
			ix.keep(l, r, i)
			is = append(is, l)
		case r.Op == history.Granted:
			l.finish(r.T, forgotten, "", i)
		case l.due() <= r.T || r.Client != l.holder && ix.lapsed(l, r.T):
			l.finish(r.T, expired, "", i)
		default:
			l.finish(r.T, gone(r), r.Client, i)
		}
	}
	for _, name := range stay {
		if !slices.ContainsFunc(is, func(l *life) bool { return l.named(name) }) {
			l := ix.start(ks, r, name, i)
			l.member = true
			is = append(is, l)
		}
	}
	ks.current[at] = is
}

// keep gives a life that goes on the term that record i makes. That is nobody's where the
// life's holder asks for another lease by now: it does not mean this one to last.
func (ix *index) keep(l *life, r *history.Record, i int) {
	l.term(r, i)
	if r.Client != l.holder {
		return
	}
	o := ix.busyAt(r.Client, ix.departed(i))
	if o != nil && o.name == history.Acquire && ix.sent(l) < o.from && (o.lease < 0 || !l.named(ix.leases[o.lease].owner)) {
		l.terms[len(l.terms)-1].by = ""
	}
}

// hurt returns the life of another client that record r ends or shortens
// without a right to; else one of the client's own, or nil.
func (ix *index) hurt(was []*life, stay []string, r *history.Record, i int) *life {
	var mine *life
	for _, l := range was {
		if l.holder == r.Client {
			mine = l
		}
	}
	for _, l := range was {
		if l.holder == r.Client || l.due() <= r.T || ix.lapsed(l, r.T) || ix.waits(l, was, r) {
			continue
		}
		switch r.Op {
		case history.Renewed:
			if mine == nil {
				return l
			}
		case history.Shortened:
			if mine == nil || l.due() > r.T+max(r.TTL, 0) {
				return l
			}
		case history.Deleted:
			return l
		case history.Replaced:
			if !slices.ContainsFunc(stay, l.named) || mine == nil && len(stay) == len(was) && ix.meddles(l, r, i) {
				return l
			}
		}
	}
	return mine
}

// meddles reports whether record i, which leaves a value to those that had it, is the doing
// of a client that has no part in it and is not getting the lock: it renews what is in the
// value.
func (ix *index) meddles(l *life, r *history.Record, i int) bool {
	return r.Client != "" && !ix.sameProcess(r.Client, l.holder) && !ix.during(r.Client, ix.departed(i), history.Acquire)
}

// waits reports whether a life is but a place in a list or sorted set behind another
// client's, which nobody had been granted the lock with yet: it may be dropped when its
// client is not heard of.
func (ix *index) waits(l *life, was []*life, r *history.Record) bool {
	return !strings.Contains(cmp.Or(r.Was, r.Owner), "=") &&
		slices.ContainsFunc(was, func(o *life) bool { return o.holder != l.holder && o.since < l.since }) &&
		!slices.ContainsFunc(ix.leasesOf(l.holder, l.owner), func(n int) bool { return ix.leases[n].from <= r.T })
}

// overdue reports whether the life is a part of a value, and its own time was up when
// record r changed that.
func (l *life) overdue(r *history.Record) bool {
	return (l.member || strings.Contains(l.owner, "=")) && !l.named(r.Owner) && l.due() <= r.T
}

// due is when the life's own client meant it to end.
func (l *life) due() time.Duration {
	for _, m := range slices.Backward(l.terms) {
		if m.by == l.holder {
			return m.until
		}
	}
	return l.terms[0].until
}
