package checker

import (
	"strings"
	"time"

	"lockpick/checker/history"
)

// life is one value of the lock's key on one node, from its coming to its
// going:
//
//	granted ── renewed ── renewed ── expired
//	   └ a term ─┴─ a term ─┴─ a term ┘
type life struct {
	span           // to is forever while nobody saw it go
	node   string  //
	owner  string  // the value
	holder string  // the client that stored it
	terms  []term  // in order; the first is the grant's
	room   [1]term // where terms begins: most lives have but one
	how    fate    // how it went
	by     string  // the client whose command ended it
	begin  int     // the record of its coming
	end    int     // the record of its going; -1 while nobody saw it go
}

// term is what one command made of a life's length.
type term struct {
	at     time.Duration
	until  time.Duration // forever without an expiry
	by     string        // the client whose command it was
	op     string        // history.Granted, Renewed, Shortened or Replaced
	record int
}

// fate says how a life ended.
type fate uint8

const (
	alive fate = iota
	deleted
	expired
	replaced
	forgotten // the node had lost it without a word, as one does that restarts empty
)

// keyspace is every life of the lock's key.
type keyspace struct {
	lives    []*life
	byOwn    map[own][]*life
	byHolder map[string][]*life // built by of
	quorum   map[own][]reign    // built by reigns
	before   map[int]*life      // by record: the life that it changed or ended
}

// place is a key on a node.
type place struct{ node, key string }

// own is a client with a value of its own. An empty owner stands for all
// of the client's values.
type own struct{ holder, owner string }

// owned names a client's value. Versions that count nested acquires store a hash
// of owner and depth, which a node shows as "owner=depth": the depth changes
// while the grant stays the same.
func owned(holder, owner string) own {
	owner, _, _ = strings.Cut(owner, "=")
	return own{holder, owner}
}

// of returns the lives of a client's value, in order; of all its values when the
// owner is empty.
func (ks *keyspace) of(holder, owner string) []*life {
	if owner != "" {
		return ks.byOwn[owned(holder, owner)]
	}
	if ks.byHolder == nil {
		ks.byHolder = map[string][]*life{}
		for _, l := range ks.lives {
			ks.byHolder[l.holder] = append(ks.byHolder[l.holder], l)
		}
	}
	return ks.byHolder[holder]
}

// keys builds the lives from what the lock's nodes recorded.
func (ix *index) keys() *keyspace {
	if ix.space != nil {
		return ix.space
	}
	ks := &keyspace{
		byOwn:  map[own][]*life{},
		quorum: map[own][]reign{},
		before: map[int]*life{},
	}
	current := map[place]*life{}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind == history.Observe && ix.nodes[r.Who] && ix.lock(r.Key) {
			ks.next(current, r, i)
		}
	}
	for _, l := range ks.lives {
		value := owned(l.holder, l.owner)
		ks.byOwn[value] = append(ks.byOwn[value], l)
	}
	ix.space = ks
	return ks
}

// next lets record i of a node change the life of its key.
func (ks *keyspace) next(current map[place]*life, r *history.Record, i int) {
	at := place{r.Who, r.Key}
	l := current[at]
	switch r.Op {
	case history.Granted:
		if l != nil {
			l.finish(r.T, forgotten, "", i)
		}
		current[at] = ks.start(r, i)
	case history.Replaced:
		ks.before[i] = l
		if l != nil && owned(l.holder, l.owner) == owned(r.Client, r.Owner) {
			l.term(r, i) // its value was written again
			return
		}
		if l != nil {
			l.finish(r.T, replaced, r.Client, i)
		}
		current[at] = ks.start(r, i)
	case history.Renewed, history.Shortened:
		ks.before[i] = l
		if l == nil {
			current[at] = ks.start(r, i) // it came unseen
			return
		}
		l.term(r, i)
	case history.Deleted, history.Expired:
		ks.before[i] = l
		if l == nil {
			return
		}
		how := deleted
		switch {
		case r.Op == history.Expired:
			how = expired
		case r.Client == "":
			how = forgotten // no command did it: the node lost its data
		}
		l.finish(r.T, how, r.Client, i)
		delete(current, at)
	}
}

func (ks *keyspace) start(r *history.Record, i int) *life {
	l := &life{span: span{r.T, forever}, node: r.Who, owner: r.Owner, holder: r.Holder, begin: i, end: -1}
	if r.Client != "" && (l.holder == "" || r.Op == history.Replaced) {
		l.holder = r.Client
	}
	l.terms = l.room[:0]
	l.term(r, i)
	ks.lives = append(ks.lives, l)
	return l
}

func (l *life) term(r *history.Record, i int) {
	until := forever
	if r.TTL > 0 {
		until = r.T + r.TTL
	}
	l.terms = append(l.terms, term{r.T, until, r.Client, r.Op, i})
}

func (l *life) finish(t time.Duration, how fate, by string, record int) {
	l.to, l.how, l.by, l.end = t, how, by, record
}

// expiryAt returns when the life was to end, as its node knew it at t.
func (l *life) expiryAt(t time.Duration) time.Duration {
	until := l.terms[0].until
	for _, m := range l.terms[1:] {
		if m.at <= t {
			until = m.until
		}
	}
	return min(until, l.ended(t))
}

// ended returns when the life ended, if it had by t, else forever.
func (l *life) ended(t time.Duration) time.Duration {
	if l.to <= t {
		return l.to
	}
	return forever
}

// livesAt returns the lives at t, ends excluded, of the lock's key.
func (ks *keyspace) livesAt(t time.Duration) []*life {
	var out []*life
	for _, l := range ks.lives {
		if l.from <= t && t < l.to {
			out = append(out, l)
		}
	}
	return out
}

// story says in half a sentence how a life ended.
func (ix *index) story(l *life) string {
	switch l.how {
	case deleted:
		return phrase("%s deleted the key%s at %v", somebody(l.by), ix.on(l.node), l.to)
	case replaced:
		return phrase("%s replaced the key's value%s at %v", somebody(l.by), ix.on(l.node), l.to)
	case forgotten:
		return phrase("%s had lost the key by %v%s", l.node, l.to, ix.because(span{l.from, l.to}, l.node))
	case expired:
		text := phrase("the key expired%s at %v", ix.on(l.node), l.to)
		if due := l.terms[len(l.terms)-1].until; due != forever && l.to < due-time.Millisecond {
			text += phrase(", %v early%s", due-l.to, ix.because(span{l.from, l.to}, l.node))
		}
		return text
	default:
		return phrase("the key lived on%s", ix.on(l.node))
	}
}

// because names the faults that struck a node meanwhile.
func (ix *index) because(s span, node string) string {
	if text := ix.faultsIn(s, node); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// on names the node where there are several.
func (ix *index) on(node string) string {
	if len(ix.nodes) < 2 {
		return ""
	}
	return " on " + node
}

func somebody(client string) string {
	if client == "" {
		return "somebody"
	}
	return client
}

// keeper says who keeps the key from others at t and what became of that
// client, or "" when no node has it.
func (ix *index) keeper(t time.Duration) string {
	lives := ix.keys().livesAt(t)
	if len(lives) == 0 {
		return ""
	}
	l := lives[0]
	text := phrase("%s has kept the key of %s since %v", l.node, somebody(l.holder), l.from)
	if due := l.expiryAt(t); due == forever {
		text += " and with no TTL"
	} else {
		text += phrase(", until %v", due)
	}
	if more := len(lives) - 1; more > 0 {
		text += phrase(" (and so have %d more nodes)", more)
	}
	return text + ix.whereabouts(l.holder, t)
}

// whereabouts says why a client does not give back what it holds at t.
func (ix *index) whereabouts(name string, t time.Duration) string {
	c := ix.clients[name]
	if c == nil {
		return ""
	}
	for _, p := range c.paused {
		if p.covers(t) {
			return phrase("; %s was paused at %v", name, p.from)
		}
	}
	switch {
	case c.crashed <= t:
		return phrase("; %s crashed at %v", name, c.crashed)
	case c.done <= t:
		return phrase("; %s finished at %v", name, c.done)
	}
	return ""
}
