// Package keyspace says what happened to the keys of one database: that a key was
// granted, renewed, shortened, replaced, deleted, or that it expired.
//
// It goes by what it finds when it is asked to look, not by the commands that did
// it: what a script did in between, and undid, never happened. It knows neither
// where the commands come from nor what a lock is.
//
// The rule that surprises: a value that may have been made up at random is
// recorded by a name that follows from the order in which such values appear, see
// Labels.
package keyspace

import (
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockpick/checker/history"
	"lockpick/internal/engine"
)

// Keys is what was last seen of the keys of database 0 of an engine. It is used by
// the engine's goroutine.
type Keys struct {
	engine *engine.Engine
	db     *miniredis.RedisDB
	labels *Labels
	record func(history.Record)
	seen   map[string]state
}

// state is what was last seen of a key.
type state struct {
	data   Value
	value  string // it by the history's names
	holder string // the client that stored it
	ends   time.Time
	lives  bool // it has an end
}

// ended reports whether the key's end has come by then.
func (s state) ended(now time.Time) bool { return s.lives && !s.ends.After(now) }

// Key is what a key was at some instant. One with nothing but a name was not
// there.
type Key struct {
	Name   string
	state  state
	exists bool
}

// New returns what is known of an engine that has no keys. record takes what has
// happened to a key; it adds who saw it and when.
func New(e *engine.Engine, l *Labels, record func(history.Record)) *Keys {
	return &Keys{engine: e, db: e.DB(0), labels: l, record: record, seen: map[string]state{}}
}

// Key returns what was last seen of a key.
func (k *Keys) Key(name string) Key {
	s, ok := k.seen[name]
	return Key{name, s, ok}
}

// All returns what was last seen of every key, in the order of their names.
func (k *Keys) All() []Key {
	all := make([]Key, 0, len(k.seen))
	for name, s := range k.seen {
		all = append(all, Key{name, s, true})
	}
	slices.SortFunc(all, byName)
	return all
}

func byName(a, b Key) int { return strings.Compare(a.Name, b.Name) }

// NextEnd returns when, by the engine's clock, the next key expires, the zero time
// when none does.
func (k *Keys) NextEnd() time.Time {
	var next time.Time
	for _, s := range k.seen {
		if s.lives && (next.IsZero() || s.ends.Before(next)) {
			next = s.ends
		}
	}
	return next
}

// Expire records the keys whose end the engine's clock has reached, and returns
// what they were, in the order of their names. It must be called whenever that
// clock was moved, before anything else happens: Compare takes a key that is gone
// for deleted.
func (k *Keys) Expire() []Key {
	var gone []Key
	now := k.engine.Now()
	for name, s := range k.seen {
		if s.ended(now) {
			gone = append(gone, Key{name, s, true})
		}
	}
	slices.SortFunc(gone, byName)
	for _, g := range gone {
		delete(k.seen, g.Name)
		k.record(history.Record{Op: history.Expired, Key: g.Name, Owner: g.state.value, Holder: g.state.holder})
	}
	return gone
}

// Compare records how the keys have changed since they were last seen, by a
// command of the client by. It returns what those that have changed were before.
func (k *Keys) Compare(by string) []Key { return k.compare(by, nil, "") }

// Restore makes keys what they were, in the order given, unless they have ended
// since, and records how that has changed them, and text with it. They keep those
// who stored them. It returns what those that have changed were before.
func (k *Keys) Restore(all []Key, text string) []Key {
	holders := map[string]string{}
	now := k.engine.Now()
	for _, key := range all {
		s := key.state
		if !key.exists || s.ended(now) {
			k.db.Del(key.Name)
			continue
		}
		s.data.Write(k.db, key.Name)
		if s.lives {
			k.db.SetTTL(key.Name, s.ends.Sub(now))
		}
		holders[key.Name] = s.holder
	}
	return k.compare("", holders, text)
}

// Correct says when a key really ends, which was seen to end at another time, and
// records nothing. It does nothing to a key that has no end or is not there.
func (k *Keys) Correct(name string, ends time.Time) {
	s, ok := k.seen[name]
	if !ok || !s.lives || !ends.After(k.engine.Now()) {
		return
	}
	s.ends = ends
	k.seen[name] = s
	k.db.SetTTL(name, ends.Sub(k.engine.Now()))
}

// End is when a key was seen to end, the zero time for one that does not or is not
// there.
func (k *Keys) End(name string) time.Time { return k.seen[name].ends }

// Evict takes a key away, which no client did, and records that with the text. It
// returns what the key was, and whether it was there.
func (k *Keys) Evict(name, text string) (Key, bool) {
	key := k.Key(name)
	if !key.exists || !k.db.Del(name) {
		return key, false
	}
	k.drop(key, "", text)
	return key, true
}

// Look records every key.
func (k *Keys) Look(text string) {
	for _, key := range k.All() {
		s := key.state
		k.record(history.Record{Op: history.Keys, Key: key.Name, Owner: s.value, Holder: s.holder, TTL: k.left(s), Text: text})
	}
}

// compare is Compare; without a client by, holders says who stored what is there
// now.
func (k *Keys) compare(by string, holders map[string]string, text string) []Key {
	var changed []Key
	present := k.db.Keys()
	for _, name := range present {
		was := k.Key(name)
		holder := by
		if h, ok := holders[name]; ok {
			holder = h
		}
		is := k.read(name, was.state, by, holder)
		k.seen[name] = is
		if r, differs := difference(was, is); differs {
			r.Client, r.Text, r.TTL = by, text, k.left(is)
			k.record(r)
			changed = append(changed, was)
		}
	}
	if len(k.seen) > len(present) {
		for _, was := range k.All() {
			if !slices.Contains(present, was.Name) {
				k.drop(was, by, text)
				changed = append(changed, was)
			}
		}
	}
	return changed
}

// drop records that a key was deleted.
func (k *Keys) drop(key Key, by, text string) {
	delete(k.seen, key.Name)
	k.record(history.Record{
		Op: history.Deleted, Key: key.Name, Owner: key.state.value, Holder: key.state.holder, Client: by, Text: text,
	})
}

// read looks at a key. A value that has changed was stored by holder; one that has
// not, by whoever did before, unless no client's command is looked at.
func (k *Keys) read(name string, was state, by, holder string) state {
	s := state{data: ReadValue(k.db, name), holder: holder}
	if was.data.equal(s.data) {
		s.value = was.value
		if by != "" || holder == "" {
			s.holder = was.holder
		}
	} else {
		s.value = s.data.render(func(v string) string { return k.labels.Of(by, v) })
	}
	if ttl := k.db.TTL(name); ttl > 0 {
		s.lives, s.ends = true, k.engine.Now().Add(ttl)
	}
	return s
}

// difference says what happened to a key.
func difference(key Key, is state) (history.Record, bool) {
	was := key.state
	r := history.Record{Key: key.Name, Owner: is.value, Holder: is.holder}
	switch {
	case !key.exists:
		r.Op = history.Granted
	case was.value != is.value || was.holder != is.holder:
		r.Op, r.Was = history.Replaced, was.value
	case was.lives && is.lives && is.ends.Before(was.ends):
		r.Op = history.Shortened
	case was.lives != is.lives || is.ends.After(was.ends):
		r.Op = history.Renewed
	default:
		return r, false
	}
	return r, true
}

// left is what a key has left to live.
func (k *Keys) left(s state) time.Duration {
	if !s.lives {
		return history.NoTTL
	}
	return s.ends.Sub(k.engine.Now())
}
