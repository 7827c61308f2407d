package checker

import (
	"strconv"
	"strings"
	"time"

	"lockpick/checker/history"
)

// A node shows a key's value in one line: a string as it is, a hash as
// "field=value field=value", a sorted set as "member:score member:score", a list
// or a set as "[element element]". Which part of it is somebody's lease, the owners
// tell that clients named.

// naming says who called an owner by its name.
type naming struct {
	by      string // the client that did; "" when several did
	granted bool   // an acquire yielded it
}

// naming returns the owners that clients named.
func (ix *index) naming() map[string]naming {
	if ix.names != nil {
		return ix.names
	}
	ix.names = map[string]naming{}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Owner == "" || ix.clients[r.Who] == nil {
			continue
		}
		n, ok := ix.names[r.Owner]
		switch {
		case !ok:
			n.by = r.Who
		case n.by != r.Who:
			n.by = ""
		}
		n.granted = n.granted || r.Op == history.Acquire && r.Kind == history.OK
		ix.names[r.Owner] = n
	}
	return ix.names
}

// namer returns the one client that named an owner, or else that made it up; "" when
// there is none, or several are.
func (ix *index) namer(owner string) string {
	if n, ok := ix.naming()[owner]; ok {
		return n.by
	}
	return ix.maker(owner)
}

// maker returns the client that made a value up, as its label says, or "".
func (ix *index) maker(value string) string {
	k := strings.IndexAny(value, "~#")
	if k > 0 && ix.clients[value[:k]] != nil && !strings.ContainsFunc(value[k+1:], func(r rune) bool { return r < '0' || r > '9' }) {
		return value[:k]
	}
	return ""
}

// isOwner reports whether a value is an owner: a client has named it in some call,
// or made it up, or it is that of a life already.
func (ix *index) isOwner(value string, lives []*life) bool {
	for _, l := range lives {
		if l.named(value) {
			return true
		}
	}
	_, named := ix.naming()[value]
	return named || ix.maker(value) != ""
}

// part is one part of a value: what its owner would be, and what is beside it in a
// field of a hash.
type part struct{ name, beside string }

// parts takes a value apart. A string has none.
func parts(value string) []part {
	var out []part
	if inner, ok := strings.CutPrefix(value, "["); ok && strings.HasSuffix(inner, "]") {
		for element := range strings.FieldsSeq(strings.TrimSuffix(inner, "]")) {
			out = append(out, part{element, ""})
		}
		return out
	}
	for field := range strings.FieldsSeq(value) {
		if name, beside, ok := strings.Cut(field, "="); ok {
			out = append(out, part{name, beside})
			continue
		}
		k := strings.LastIndexByte(field, ':')
		if k <= 0 {
			return nil
		}
		if _, err := strconv.ParseFloat(field[k+1:], 64); err != nil {
			return nil
		}
		out = append(out, part{field[:k], ""})
	}
	return out
}

// ownersIn returns the parts of a value that are owners. A field of a hash may be
// one, or have one.
func (ix *index) ownersIn(value string, lives []*life) []string {
	var out []string
	for _, p := range parts(value) {
		switch {
		case ix.isOwner(p.name, lives):
			out = append(out, p.name)
		case p.beside != "" && ix.isOwner(p.beside, lives):
			out = append(out, p.beside)
		}
	}
	return out
}

// divided reports whether the parts of a value have to be told apart: a hash of
// several fields, or a set, a sorted set, a list or a field of a hash with an owner
// in it. The name of a hash's one field is one that owned finds.
func (ix *index) divided(value string) bool {
	if !strings.ContainsAny(value, " :=]") {
		return false
	}
	all := parts(value)
	if len(all) == 0 {
		return false
	}
	if strings.Contains(value, "=") {
		return len(all) > 1 || !ix.isOwner(all[0].name, nil) && ix.isOwner(all[0].beside, nil)
	}
	return len(ix.ownersIn(value, nil)) > 0 && !ix.isOwner(value, nil)
}

// isPool reports whether a value is a list or set of things that are nobody's, such
// as tokens which everybody takes out and puts back.
func (ix *index) isPool(value string) bool {
	return strings.HasPrefix(value, "[") && len(ix.ownersIn(value, nil)) == 0
}

// departed returns when the command left its client that made the node do what
// record i says.
func (ix *index) departed(i int) time.Duration {
	if c := ix.commandAt(i); c >= 0 && ix.rec(c).Sent > 0 {
		return ix.rec(c).Sent
	}
	return ix.rec(i).T
}

// during reports whether the client was in an operation of that name at t.
func (ix *index) during(client string, t time.Duration, name string) bool {
	o := ix.busyAt(client, t)
	return o != nil && o.name == name
}

// blind says why the nodes' record cannot show whose the lock is, or "". It can
// where the owner of some lease is, or is in, what they stored; and where leases have
// no owner, as long as the key comes and goes with them.
func (ix *index) blind() string {
	if ix.unseen == nil {
		reason := ix.findBlind()
		ix.unseen = &reason
	}
	return *ix.unseen
}

func (ix *index) findBlind() string {
	seen := ix.keys().values
	unseen := ""
	for i := range ix.leases {
		switch l := &ix.leases[i]; {
		case l.owner != "" && seen[owned("", l.owner)]:
			return ""
		case l.owner != "":
			unseen = "the owner of no lease is in what the nodes stored under the lock's name, so they do not show whose it is"
		}
	}
	switch {
	case unseen != "":
		return unseen
	case ix.isCounter():
		return "the key holds a number that goes up and down and nobody's owner, so the nodes do not show whose the lock is"
	case len(ix.leases) > 0 && len(seen) == 0:
		return "the nodes never had a key of the lock's name, so they do not show whose the lock is"
	}
	return ""
}

// isCounter reports whether a key of the lock went from one number to another.
func (ix *index) isCounter() bool {
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind == history.Observe && r.Op == history.Replaced && ix.nodes[r.Who] && ix.lock(r.Key) && r.Was != r.Owner && isNumber(r.Was) && isNumber(r.Owner) {
			return true
		}
	}
	return false
}

func isNumber(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return err == nil
}
