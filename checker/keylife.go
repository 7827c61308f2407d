package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// life is one value of a key of the lock on one node, from its coming to its
// going:
//
//	granted ── renewed ── renewed ── expired
//	   └ a term ─┴─ a term ─┴─ a term ┘
//
// A key that several clients share has a life for each of them.
type life struct {
	span                 // to is forever while nobody saw it go
	place                //
	owner  string        // the value; the first, where its holder has written it anew
	also   []string      // what its holder wrote in its place
	holder string        // the client that stored it, or for which it was stored
	handed bool          // another client stored it for its holder
	member bool          // it is a part of the value
	terms  []term        // in order; the first is the grant's
	room   [1]term       // where terms begins: most lives have but one
	how    fate          // how it went
	by     string        // the client whose command ended it
	begin  int           // the record of its coming
	end    int           // the record of its going; -1 while nobody saw it go
	since  time.Duration // when the value came to the node, which may have been a replica then
}

// term is what one command made of a life's length.
type term struct {
	at     time.Duration
	until  time.Duration // forever without an expiry
	by     string        // the client whose command it was; "" when it was about another life in the key
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
	demoted   // the node is no primary any more
	taken     // another thread of its holder's process has it now
)

// keyspace is every life of the lock's keys.
type keyspace struct {
	lives    []*life // where they count
	byOwn    map[own][]*life
	byHolder map[string][]*life // built by of
	quorum   map[own][]reign    // built by reigns
	before   map[int]*life      // by record: the life that it changed or ended, another client's if there is one
	sharing  map[int]bool       // by record: the key has or had several lives
	shared   map[place]bool     // the key has had several lives, while it is built
	current  map[place][]*life  // while it is built
	values   map[own]bool       // of all the lives, where they do not count too; without their holders
	freed    map[place]bool     // a release has left a mark there that is nobody's, while it is built
	marks    map[int]bool       // by record: it changed such a mark
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
		byOwn:   map[own][]*life{},
		quorum:  map[own][]reign{},
		before:  map[int]*life{},
		sharing: map[int]bool{},
		shared:  map[place]bool{},
		current: map[place][]*life{},
		values:  map[own]bool{},
		freed:   map[place]bool{},
		marks:   map[int]bool{},
	}
	for i := range ix.h.Records {
		r := ix.rec(i)
		switch {
		case r.Kind != history.Observe || !ix.nodes[r.Who]:
		case r.Op == history.Role:
			ks.turn(r, i, ix.primary(r.Who, i), ix.primary(r.Who, i+1))
		case r.Op == history.Granted || verbs[r.Op] != "" || r.Op == history.Expired: // and not what somebody found there
			if ix.lock(r.Key) {
				ix.next(ks, r, i)
			}
		}
	}
	for _, l := range ks.lives {
		value := owned(l.holder, l.owner)
		ks.byOwn[value] = append(ks.byOwn[value], l)
		for _, name := range l.also {
			ks.byOwn[owned(l.holder, name)] = append(ks.byOwn[owned(l.holder, name)], l)
		}
	}
	ks.current, ks.shared, ks.freed = nil, nil, nil
	ix.space = ks
	return ks
}

// next lets record i of a node change the lives of its key.
func (ix *index) next(ks *keyspace, r *history.Record, i int) {
	at := place{r.Who, r.Key}
	was := ks.current[at]
	var l *life
	if len(was) == 1 {
		l = was[0]
	}
	if ix.marked(ks, l, r, i) {
		return
	}
	if len(was) > 1 || ix.divided(r.Owner) || l != nil && r.Op == history.Replaced && l.overdue(r) {
		ks.shared[at] = true
		ix.share(ks, at, r, i)
		return
	}
	if ks.shared[at] {
		ks.sharing[i] = true
	}
	start := func() *life {
		l := ix.start(ks, r, r.Owner, i)
		ks.current[at] = append(was[:0], l)
		return l
	}
	switch r.Op {
	case history.Granted:
		if l != nil {
			l.finish(r.T, forgotten, "", i)
		}
		start()
	case history.Replaced:
		ks.before[i] = l
		if l != nil && ix.rewrites(l, r, i) {
			if !l.named(r.Owner) {
				l.also = append(l.also, r.Owner)
				ks.values[owned("", r.Owner)] = true
			}
			l.term(r, i)
			return
		}
		if l != nil {
			l.finish(r.T, replaced, r.Client, i)
		}
		start()
	case history.Renewed, history.Shortened:
		ks.before[i] = l
		if l == nil {
			start() // it came unseen
			return
		}
		if ix.takes(l, r, i) {
			l.finish(r.T, taken, r.Client, i)
			heir := start()
			heir.holder, heir.handed = r.Client, true
			return
		}
		l.term(r, i)
	case history.Deleted, history.Expired:
		ks.before[i] = l
		if l == nil {
			return
		}
		l.finish(r.T, gone(r), r.Client, i)
		ks.current[at] = was[:0]
	}
}

// marked reports whether record i leaves a mark that is nobody's, in place of the life
// or where another mark was; a record that takes one away lets the key begin anew.
func (ix *index) marked(ks *keyspace, l *life, r *history.Record, i int) bool {
	at := place{r.Who, r.Key}
	if ks.freed[at] && r.Op != history.Granted {
		ks.marks[i] = true
		if r.Op == history.Renewed || r.Op == history.Shortened {
			return true
		}
	}
	delete(ks.freed, at)
	if l == nil || !ix.frees(l, r, i) {
		return false
	}
	ks.before[i], ks.freed[at] = l, true
	l.finish(r.T, replaced, r.Client, i)
	ks.current[at] = ks.current[at][:0]
	return true
}

// gone is the fate of what record r took away.
func gone(r *history.Record) fate {
	switch {
	case r.Op == history.Expired:
		return expired
	case r.Client == "":
		return forgotten // no command did it: the node lost its data
	default:
		return deleted
	}
}

// start begins a life, which is listed only where it counts.
func (ix *index) start(ks *keyspace, r *history.Record, owner string, i int) *life {
	l := &life{span: span{r.T, forever}, place: place{r.Who, r.Key}, owner: owner, holder: r.Holder, begin: i, end: -1, since: r.T}
	if r.Client != "" && (l.holder == "" || r.Op == history.Replaced) {
		l.holder = r.Client
	}
	if heir := ix.heir(r, owner, i); heir != "" {
		l.holder, l.handed = heir, true
	}
	l.terms = l.room[:0]
	l.term(r, i)
	ks.values[owned("", owner)] = true
	if ix.counts(i) {
		ks.lives = append(ks.lives, l)
	}
	return l
}

// heir returns the client that record i stores a value for in place of its own: one
// that gives the lock back may hand it over, by the next one's name. A client that
// is getting the lock stores for itself.
func (ix *index) heir(r *history.Record, owner string, i int) string {
	if r.Client == "" || ix.during(r.Client, ix.departed(i), history.Acquire) {
		return ""
	}
	if by := ix.namer(owner); by != r.Client && ix.clients[by] != nil {
		return by
	}
	return ""
}

// rewrites reports whether record i, which replaces the value of a life, writes the
// same value again, or is its holder's doing in the lease: a value that nobody was
// granted the lock with. What it writes in an acquire or release begins another life.
func (ix *index) rewrites(l *life, r *history.Record, i int) bool {
	who := cmp.Or(r.Client, r.Holder)
	switch {
	case who != l.holder:
		return false
	case l.named(r.Owner):
		return true
	case len(ix.leasesOf(who, l.owner)) == 0:
		return false
	}
	left := ix.departed(i)
	if ix.during(who, left, history.Acquire) || ix.during(who, left, history.Release) {
		return false
	}
	n, ok := ix.naming()[r.Owner]
	return !ok || n.by == who && !n.granted
}

// takes reports whether record i, which prolongs a life, is how another thread of its
// holder's process gets the lock: the process has one owner for all of its threads, and
// the holder has called every release that it owes, of which one never came.
func (ix *index) takes(l *life, r *history.Record, i int) bool {
	if r.Op != history.Renewed || r.Client == "" || r.Client == l.holder || !ix.sameProcess(r.Client, l.holder) {
		return false
	}
	left := ix.departed(i)
	o := ix.busyAt(r.Client, left)
	if o == nil || o.name != history.Acquire || o.lease < 0 || !l.named(ix.leases[o.lease].owner) {
		return false
	}
	leases := ix.leasesOf(l.holder, l.owner)
	return len(leases) > 0 && !slices.ContainsFunc(leases, func(n int) bool {
		lease := &ix.leases[n]
		return lease.from <= left && (lease.release < 0 || ix.ops[lease.release].from > left)
	})
}

// frees reports whether record i leaves a mark in place of a life, which says that the
// lock is free: its holder gives it back by writing what is nobody's owner, in a release or
// in the acquire that had stored it.
func (ix *index) frees(l *life, r *history.Record, i int) bool {
	if r.Op != history.Replaced || r.Client == "" || r.Client != l.holder || !ix.isOwner(l.owner, nil) ||
		ix.isOwner(r.Owner, nil) || len(ix.ownersIn(r.Owner, nil)) > 0 {
		return false
	}
	o := ix.busyAt(r.Client, ix.departed(i))
	return o != nil && (o.name == history.Release || o.name == history.Acquire && o == ix.busyAt(r.Client, ix.sent(l)))
}

// turn begins the lives of what a node has when it becomes the primary, and ends
// them when it is that no more. What it has goes on, in the shadow.
func (ks *keyspace) turn(r *history.Record, i int, was, is bool) {
	if was == is {
		return
	}
	var mine []*life
	for at, lives := range ks.current {
		if at.node == r.Who {
			mine = append(mine, lives...)
		}
	}
	slices.SortFunc(mine, func(a, b *life) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.owner, b.owner)) })
	for _, old := range mine {
		l := &life{
			span: span{r.T, forever}, place: old.place, owner: old.owner, also: slices.Clone(old.also),
			holder: old.holder, handed: old.handed, member: old.member, begin: i, end: -1, since: old.since,
		}
		l.terms = append(l.room[:0], term{r.T, old.terms[len(old.terms)-1].until, "", history.Granted, i})
		if is {
			ks.lives = append(ks.lives, l)
		} else {
			old.finish(r.T, demoted, "", i)
		}
		lives := ks.current[old.place]
		lives[slices.Index(lives, old)] = l
	}
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

// expiryAt returns when the life was to end, as its node knew it at t, or when it had
// ended.
func (l *life) expiryAt(t time.Duration) time.Duration { return min(l.meant(t), l.ended(t)) }

// meant returns when the life was to end, as its node knew it at t.
func (l *life) meant(t time.Duration) time.Duration {
	until := l.terms[0].until
	for _, m := range l.terms[1:] {
		if m.at <= t {
			until = m.until
		}
	}
	return until
}

// ended returns when the life ended, if it had by t, else forever.
func (l *life) ended(t time.Duration) time.Duration {
	if l.to <= t {
		return l.to
	}
	return forever
}

// livesAt returns the lives at t, ends excluded, of the lock's keys. Those of a
// primary that another one has followed keep the lock from nobody.
func (ix *index) livesAt(t time.Duration) []*life {
	primary, _, ordered := ix.promoted(t)
	var out []*life
	for _, l := range ix.keys().lives {
		if l.from <= t && t < l.to && (!ordered || l.node == primary) {
			out = append(out, l)
		}
	}
	return out
}

// the names the key of a life where the lock has several.
func (ix *index) the(l *life) string {
	if len(ix.h.Header.Lock.Also) == 0 {
		return "the key"
	}
	return phrase("the key %q", l.key)
}

// story says in half a sentence how a life ended.
func (ix *index) story(l *life) string {
	switch l.how {
	case deleted:
		return phrase("%s deleted %s%s at %v", somebody(l.by), ix.the(l), ix.on(l.node), l.to)
	case replaced:
		return phrase("%s replaced %s's value%s at %v", somebody(l.by), ix.the(l), ix.on(l.node), l.to)
	case taken:
		return phrase("%s took %s over%s at %v", somebody(l.by), ix.the(l), ix.on(l.node), l.to)
	case forgotten:
		return phrase("%s had lost %s by %v%s", l.node, ix.the(l), l.to, ix.because(span{l.from, l.to}, l.node))
	case demoted:
		return phrase("%s was demoted at %v", l.node, l.to)
	case expired:
		text := phrase("%s expired%s at %v", ix.the(l), ix.on(l.node), l.to)
		if due := l.terms[len(l.terms)-1].until; due != forever && l.to < due-time.Millisecond {
			text += phrase(", %v early%s", due-l.to, ix.because(span{l.from, l.to}, l.node))
		}
		return text
	default:
		return phrase("%s lived on%s", ix.the(l), ix.on(l.node))
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

// keeper says who keeps the key from others at t, by the lives that there are then,
// and what became of that client.
func (ix *index) keeper(lives []*life, t time.Duration) string {
	l := lives[0]
	nodes := map[string]bool{}
	for _, other := range lives {
		nodes[other.node] = true
	}
	text := phrase("%s has kept %s of %s since %v", l.node, ix.the(l), somebody(l.holder), l.from)
	if due := l.expiryAt(t); due == forever {
		text += " and with no TTL"
	} else {
		text += phrase(", until %v", due)
	}
	if more := len(nodes) - 1; more > 0 {
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
