package sim

import (
	"bufio"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"lockpick/checker/history"
)

// node is a Redis server in virtual time: an engine executes, the node owns the
// clock and records every command and the life of every key. It belongs to the
// goroutine of world.loop.
type node struct {
	world  *world
	name   string
	addr   string
	engine *engine

	down   bool
	offset time.Duration // how far its clock is ahead
	clock  time.Time     // what it showed when last looked at
	keys   map[string]keyState
	alarm  time.Duration // when it wakes to let a key expire, as world time; 0 for never
}

// keyState is what the node last saw of a key.
type keyState struct {
	value  string // by the history's name
	holder string // the client that stored it
	ends   time.Time
	lives  bool // it has an end
}

func newNode(w *world, name, addr string, e *engine) *node {
	n := &node{world: w, name: name, addr: addr, engine: e, keys: map[string]keyState{}, clock: time.Now()}
	e.db.SetTime(n.clock)
	return n
}

// tick brings the engine's clock up to the node's and records what expired.
func (n *node) tick() {
	now := time.Now().Add(n.offset)
	n.engine.advance(now, now.Sub(n.clock))
	n.clock = now
	for _, name := range n.names() {
		if s := n.keys[name]; s.lives && !s.ends.After(now) {
			delete(n.keys, name)
			n.record(history.Record{Op: history.Expired, Key: name, Owner: s.value, Holder: s.holder})
		}
	}
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

// execute runs a command at the node's own time and returns its reply.
func (n *node) execute(cmd *command) []byte {
	n.tick()
	c := cmd.conn
	if c.peer == nil {
		c.peer = server.NewPeer(bufio.NewWriterSize(&c.reply, bufferSize))
	}
	c.reply.bytes = nil
	n.engine.execute(c.peer, &c.session, cmd.args, n.world.labels.sha)
	c.peer.Flush()
	reply := c.reply.bytes
	if cmd.packet.Number > 0 {
		n.world.record(cmd.observed(reply))
		if !n.engine.db.IsReadOnlyCommand(strings.ToLower(cmd.args[0])) {
			n.compare(cmd.packet.Client)
		}
	}
	return reply
}

// compare records how the keys have changed since the node last saw them. by is
// the client whose command did it.
func (n *node) compare(by string) {
	db := n.engine.db
	present := db.Keys()
	for _, name := range present {
		was, known := n.keys[name]
		is := n.state(name, was, by)
		n.keys[name] = is
		if r, changed := difference(was, is, known); changed {
			r.Key, r.Client = name, by
			r.TTL = n.left(is)
			n.record(r)
		}
	}
	if len(n.keys) > len(present) {
		for _, name := range n.names() {
			if slices.Contains(present, name) {
				continue
			}
			was := n.keys[name]
			delete(n.keys, name)
			n.record(history.Record{Op: history.Deleted, Key: name, Owner: was.value, Holder: was.holder, Client: by})
		}
	}
	n.setAlarm()
}

// state reads a key. A value that has changed was stored by the given client.
func (n *node) state(name string, was keyState, by string) keyState {
	db := n.engine.db
	value := ""
	switch db.Type(name) {
	case "string":
		raw, err := db.Get(name)
		if err == nil {
			value = n.world.labels.of(by, raw)
		}
	case "hash":
		fields, err := db.HKeys(name)
		if err == nil {
			for i, f := range fields {
				fields[i] = n.world.labels.of(by, f) + "=" + db.HGet(name, f)
			}
			value = strings.Join(fields, " ")
		}
	default:
		value = db.Type(name)
	}
	s := keyState{value: value, holder: by}
	if was.value == value && was.holder != "" {
		s.holder = was.holder
	}
	if ttl := db.TTL(name); ttl > 0 {
		s.lives, s.ends = true, n.clock.Add(ttl)
	}
	return s
}

// difference says what happened to a key.
func difference(was, is keyState, known bool) (history.Record, bool) {
	r := history.Record{Owner: is.value, Holder: is.holder}
	switch {
	case !known:
		r.Op = history.Granted
	case was.value != is.value:
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
	if next.IsZero() {
		n.alarm = 0
		return
	}
	at := n.world.Now() + max(next.Sub(n.clock), time.Nanosecond)
	if at == n.alarm {
		return
	}
	n.alarm = at
	n.world.After(at-n.world.Now(), func() {
		if n.alarm == at { // else a later command has moved the key's end
			n.alarm = 0
			n.tick()
			n.setAlarm()
		}
	})
}

func (n *node) record(r history.Record) {
	r.Who, r.Kind = n.name, history.Observe
	n.world.record(r)
}

// look records every key.
func (n *node) look(text string) {
	n.tick()
	for _, name := range n.names() {
		s := n.keys[name]
		n.record(history.Record{Op: history.Keys, Key: name, Owner: s.value, Holder: s.holder, TTL: n.left(s), Text: text})
	}
}

// jump moves the clock.
func (n *node) jump(by time.Duration) {
	n.tick()
	n.offset += by // the ends of keys are times of this clock: they stay
	n.tick()
	n.setAlarm()
}

// evict takes a key away. No client did it.
func (n *node) evict(key string) {
	n.tick()
	if s, ok := n.keys[key]; ok && n.engine.db.Del(key) {
		delete(n.keys, key)
		n.record(history.Record{Op: history.Deleted, Key: key, Owner: s.value, Holder: s.holder, Text: "evicted"})
		n.setAlarm()
	}
}

// stop takes the node down.
func (n *node) stop(lose bool) {
	n.down = true
	if lose {
		n.engine.wipe()
		for _, name := range n.names() {
			s := n.keys[name]
			n.record(history.Record{Op: history.Deleted, Key: name, Owner: s.value, Holder: s.holder, Text: "lost with the node's data"})
		}
		clear(n.keys)
	}
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.spec.Clients {
		w.links[linkKey{name, n.name}].reset(always)
	}
}
