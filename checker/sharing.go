package checker

import (
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// A key that several clients share is a hash with a field for each of them, and
// perhaps some more. A node shows its value as "field=value field=value". Each
// field that is an owner has a life of its own.

// several reports whether a value has several fields.
func several(value string) bool {
	if !strings.Contains(value, " ") {
		return false
	}
	for part := range strings.FieldsSeq(value) {
		if !strings.Contains(part, "=") {
			return false
		}
	}
	return true
}

// ownersIn returns the fields of a value that are owners: a client has named
// them in some call, or made them up, or they are those of a life already.
func (ix *index) ownersIn(value string, lives []*life) []string {
	if ix.owners == nil {
		ix.owners = map[string]bool{}
		for i := range ix.h.Records {
			if r := ix.rec(i); r.Owner != "" && ix.clients[r.Who] != nil {
				ix.owners[r.Owner] = true
			}
		}
	}
	var out []string
	for part := range strings.FieldsSeq(value) {
		name, _, _ := strings.Cut(part, "=")
		maker, _, made := strings.Cut(name, "~")
		if ix.owners[name] || made && ix.clients[maker] != nil || slices.ContainsFunc(lives, func(l *life) bool { return l.named(name) }) {
			out = append(out, name)
		}
	}
	return out
}

func (l *life) named(field string) bool { return owned("", l.owner) == owned("", field) }

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
	ks.before[i] = ks.hurt(was, stay, r)
	if r.Op == history.Renewed || r.Op == history.Shortened {
		for _, l := range was {
			l.term(r, i)
		}
		return
	}
	var is []*life
	for _, l := range was {
		switch {
		case r.Op == history.Replaced && slices.ContainsFunc(stay, l.named):
			l.term(r, i)
			is = append(is, l)
		case r.Op == history.Granted:
			l.finish(r.T, forgotten, "", i)
		case l.due() <= r.T:
			l.finish(r.T, expired, "", i)
		default:
			l.finish(r.T, gone(r), r.Client, i)
		}
	}
	for _, name := range stay {
		if !slices.ContainsFunc(is, func(l *life) bool { return l.named(name) }) {
			is = append(is, ks.start(r, name, i, ix.counts(i)))
		}
	}
	ks.current[at] = is
}

// hurt returns the life of another client that record r ends or shortens
// without a right to; else one of the client's own, or nil.
func (ks *keyspace) hurt(was []*life, stay []string, r *history.Record) *life {
	var mine *life
	for _, l := range was {
		if l.holder == r.Client {
			mine = l
		}
	}
	for _, l := range was {
		if l.holder == r.Client || l.due() <= r.T {
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
			if !slices.ContainsFunc(stay, l.named) {
				return l
			}
		}
	}
	return mine
}

// overdue reports whether the life is one of a hash, and its own time was up when
// record r changed the value.
func (l *life) overdue(r *history.Record) bool {
	return strings.Contains(l.owner, "=") && owned("", l.owner) != owned("", r.Owner) && l.due() <= r.T
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
