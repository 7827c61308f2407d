package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/checker/history"
)

// keyState is what the node last saw of a key.
type keyState struct {
	data   keyData
	value  string // data by the history's names
	holder string // the client that stored it
	ends   time.Time
	lives  bool // it has an end
}

// keyData is a key's value as the engine keeps it.
type keyData struct {
	kind  string
	parts []string // the string; or the fields of a hash with their values, the elements of a list or a set, the members of a sorted set with their scores
}

// change is what the node was before something happened to a key.
type change struct {
	at    time.Duration
	key   string
	was   keyState
	known bool // it was there
}

// names returns the keys in order.
func (n *node) names() []string {
	names := make([]string, 0, len(n.keys))
	for name := range n.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ended returns the keys whose end the node's clock has reached, in order.
func (n *node) ended() []string {
	var names []string
	for name, s := range n.keys {
		if s.lives && !s.ends.After(n.clock) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compare records how the keys have changed since the node last saw them. by is
// the client whose command did it; without one, holders says who stored what is
// there now, and text why.
func (n *node) compare(by string, holders map[string]string, text string) {
	var touched []string
	present := n.engine.db.Keys()
	for _, name := range present {
		was, known := n.keys[name]
		holder := by
		if h, ok := holders[name]; ok {
			holder = h
		}
		is := n.state(name, was, by, holder)
		n.keys[name] = is
		if r, changed := difference(was, is, known); changed {
			r.Key, r.Client, r.Text, r.TTL = name, by, text, n.left(is)
			n.record(r)
			touched = append(touched, name)
			n.journal = append(n.journal, change{n.world.Now(), name, was, known})
		}
	}
	if len(n.keys) > len(present) {
		for _, name := range n.names() {
			if slices.Contains(present, name) {
				continue
			}
			was := n.keys[name]
			delete(n.keys, name)
			n.record(history.Record{
				Op: history.Deleted, Key: name, Owner: was.value, Holder: was.holder, Client: by, Text: text,
			})
			touched = append(touched, name)
			n.journal = append(n.journal, change{n.world.Now(), name, was, true})
		}
	}
	n.setAlarm()
	n.feed(touched)
}

// state reads a key. A value that has changed was stored by holder; one that has
// not, by whoever did before, unless no client's command is looked at.
func (n *node) state(name string, was keyState, by, holder string) keyState {
	s := keyState{data: n.read(name), holder: holder}
	if was.data.kind == s.data.kind && slices.Equal(was.data.parts, s.data.parts) {
		s.value = was.value
		if by != "" || holder == "" {
			s.holder = was.holder
		}
	} else {
		s.value = s.data.render(func(v string) string { return n.world.labels.of(by, v) })
	}
	if ttl := n.engine.db.TTL(name); ttl > 0 {
		s.lives, s.ends = true, n.clock.Add(ttl)
	}
	return s
}

// read takes a key's value out of the engine. The errors are for keys of another
// kind, which the switch has ruled out.
func (n *node) read(name string) keyData {
	db := n.engine.db
	d := keyData{kind: db.Type(name)}
	switch d.kind {
	case "string":
		v, _ := db.Get(name)
		d.parts = []string{v}
	case "hash":
		fields, _ := db.HKeys(name)
		for _, f := range fields {
			d.parts = append(d.parts, f, db.HGet(name, f))
		}
	case "list":
		d.parts, _ = db.List(name)
	case "set":
		d.parts, _ = db.Members(name)
	case "zset":
		scores, _ := db.SortedSet(name)
		d.parts = ranked(scores)
	}
	return d
}

// ranked returns the members of a sorted set in order, each with its score.
func ranked(scores map[string]float64) []string {
	type scored struct {
		member string
		score  float64
	}
	all := make([]scored, 0, len(scores))
	for m, s := range scores {
		all = append(all, scored{m, s})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.member, b.member))
	})
	parts := make([]string, 0, 2*len(all))
	for _, s := range all {
		parts = append(parts, s.member, decimal(s.score))
	}
	return parts
}

// decimal writes a number without an exponent. Times are whole numbers, which are
// faster to write as such.
func decimal(f float64) string {
	if n := int64(f); n != 0 && float64(n) == f && n < 1<<53 && n > -1<<53 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// write puts a value into the engine, in place of what was there.
func (n *node) write(name string, d keyData) {
	db := n.engine.db
	db.Del(name)
	switch d.kind {
	case "string":
		_ = db.Set(name, d.parts[0])
	case "hash":
		db.HSet(name, d.parts...)
	case "list":
		_, _ = db.Push(name, d.parts...)
	case "set":
		_, _ = db.SetAdd(name, d.parts...)
	case "zset":
		for i := 0; i < len(d.parts); i += 2 {
			score, _ := strconv.ParseFloat(d.parts[i+1], 64)
			_, _ = db.ZAdd(name, score, d.parts[i])
		}
	}
}

// render says the value in one line: a hash as field=value, a sorted set as
// member:score.
func (d keyData) render(name func(string) string) string {
	switch d.kind {
	case "string":
		return name(d.parts[0])
	case "hash", "zset":
		mark := "="
		if d.kind == "zset" {
			mark = ":"
		}
		pairs := make([]string, 0, len(d.parts)/2)
		for i := 0; i < len(d.parts); i += 2 {
			pairs = append(pairs, name(d.parts[i])+mark+name(d.parts[i+1]))
		}
		return strings.Join(pairs, " ")
	case "list", "set":
		elements := make([]string, len(d.parts))
		for i, e := range d.parts {
			elements[i] = name(e)
		}
		return fmt.Sprintf("[%s]", strings.Join(elements, " "))
	default:
		return d.kind
	}
}

// difference says what happened to a key.
func difference(was, is keyState, known bool) (history.Record, bool) {
	r := history.Record{Owner: is.value, Holder: is.holder}
	switch {
	case !known:
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
func (n *node) left(s keyState) time.Duration {
	if !s.lives {
		return history.NoTTL
	}
	return s.ends.Sub(n.clock)
}

// setAlarm makes the node wake when the next key expires.
func (n *node) setAlarm() {
	var next time.Time
	for _, s := range n.keys {
		if s.lives && (next.IsZero() || s.ends.Before(next)) {
			next = s.ends
		}
	}
	if next.IsZero() || n.rate <= 0 {
		n.alarm = 0
		return
	}
	left := next.Sub(n.clock)
	if n.rate != 1 {
		left = time.Duration(float64(left)/n.rate) + 1 // not before the clock shows it
	}
	at := n.world.Now() + max(left, time.Nanosecond)
	if at == n.alarm {
		return
	}
	n.alarm = at
	n.world.After(at-n.world.Now(), func() {
		if n.alarm == at { // else a later command has moved the key's end
			n.alarm = 0
			n.wake()
		}
	})
}

// wake lets keys expire, unless the node stands still or is down; it does so when
// it goes on.
func (n *node) wake() {
	n.handle(func() {
		n.tick()
		n.setAlarm()
	})
}

// evict takes a key away. No client did it.
func (n *node) evict(key string) {
	n.tick()
	if s, ok := n.keys[key]; ok && n.engine.db.Del(key) {
		delete(n.keys, key)
		n.journal = append(n.journal, change{n.world.Now(), key, s, true})
		n.record(history.Record{Op: history.Deleted, Key: key, Owner: s.value, Holder: s.holder, Text: "evicted"})
		n.setAlarm()
		n.feed([]string{key})
	}
}

// restore makes the keys what they were at the time t, for a node that has lost
// what it wrote after it.
func (n *node) restore(t time.Duration) {
	holders := map[string]string{}
	lost := false
	for i := len(n.journal) - 1; i >= 0 && n.journal[i].at > t; i-- {
		c := n.journal[i]
		n.journal = n.journal[:i]
		lost = true
		if !c.known || c.was.lives && !c.was.ends.After(n.clock) {
			n.engine.db.Del(c.key)
			continue
		}
		n.put(c.key, c.was)
		holders[c.key] = c.was.holder
	}
	if lost {
		n.compare("", holders, "lost with the node's data")
	}
}

// put writes a key with its end.
func (n *node) put(key string, s keyState) {
	n.write(key, s.data)
	if s.lives {
		n.engine.db.SetTTL(key, s.ends.Sub(n.clock))
	}
}
