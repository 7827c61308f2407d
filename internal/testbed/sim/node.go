package sim

import (
	"bufio"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"lockpick/checker/history"
)

// node is a Redis server in virtual time: an engine executes; the node owns the
// clock, the roles, what is published, and the record of every command and of the
// life of every key. It belongs to the goroutine of world.loop.
type node struct {
	host
	engine *engine

	// its clock showed shown at the time real, and has run at rate since
	real  time.Time
	shown time.Time
	rate  float64
	clock time.Time // what it showed when the engine was last told

	keys    map[string]keyState
	journal []change
	alarm   time.Duration // when it wakes to let a key expire, as world time; 0 for never

	role      role
	refusals  []*refusal
	listeners listeners
	outgoing  []func() // messages that the command under way has published
	peak      int      // connections at once, at most
}

// refusal is an error that the node answers with for the time being.
type refusal struct {
	names []string // of commands, in capitals; all when empty
	text  string
}

func newNode(w *world, name, addr string, e *engine) *node {
	now := time.Now()
	n := &node{
		host:   host{world: w, name: name, addr: addr},
		engine: e, keys: map[string]keyState{}, real: now, shown: now, rate: 1, clock: now,
	}
	n.role.newID()
	e.scripts.dispatch = n.fromScript
	e.answers["PUBLISH"] = n.publishFor
	e.db.SetTime(n.clock)
	return n
}

// now is what the node's clock shows.
func (n *node) now() time.Time {
	return n.shown.Add(time.Duration(float64(time.Since(n.real)) * n.rate))
}

// setClock lets the clock show t from now on, and run at that rate. The ends of
// keys are times of this clock: they stay. A node that stands still or is down
// looks at its clock when it goes on.
func (n *node) setClock(t time.Time, rate float64) {
	n.handle(n.tick)
	n.real, n.shown, n.rate = time.Now(), t, rate
	n.wake()
}

// jump moves the clock.
func (n *node) jump(by time.Duration) { n.setClock(n.now().Add(by), n.rate) }

// drift lets the clock run at another rate.
func (n *node) drift(rate float64) { n.setClock(n.now(), rate) }

// tick brings the engine's clock up to the node's and records what expired.
func (n *node) tick() {
	now := n.now()
	n.engine.advance(now, now.Sub(n.clock))
	n.clock = now
	gone := n.ended()
	for _, name := range gone {
		s := n.keys[name]
		delete(n.keys, name)
		n.record(history.Record{Op: history.Expired, Key: name, Owner: s.value, Holder: s.holder})
	}
	if n.role.primary == nil {
		n.feed(gone) // a replica waits for its primary's word, and only takes the key for gone
	}
}

// arrive is a command's arrival at the node. It is answered at once, or later if
// it waits for something; then what comes after it on its connection waits too.
func (n *node) arrive(cmd *command) {
	c := cmd.conn
	if c.blocked {
		c.behind = append(c.behind, cmd)
		return
	}
	if reply, ok := n.execute(cmd); ok {
		cmd.reply(reply)
	}
}

// unblock answers a command that has waited, and executes what came after it. If
// nobody is there any more it does neither.
func (n *node) unblock(cmd *command, reply []byte) {
	c := cmd.conn
	if c.blocked = false; c.gone() {
		return
	}
	n.world.record(cmd.observed(reply))
	cmd.reply(reply)
	for len(c.behind) > 0 && !c.blocked {
		next := c.behind[0]
		c.behind = c.behind[1:]
		n.arrive(next)
	}
}

// execute runs a command at the node's own time and returns its reply. It is
// false when there is none yet.
func (n *node) execute(cmd *command) ([]byte, bool) {
	n.tick()
	c := cmd.conn
	if c.peer == nil {
		c.peer = server.NewPeer(bufio.NewWriterSize(&c.reply, bufferSize))
	}
	c.reply.bytes = nil
	name := cmd.packet.Name
	switch {
	case n.refuses(cmd):
	case n.misused(cmd):
	case n.deaf(cmd):
	case !c.session.queues && own(name) != nil:
		if !own(name)(n, cmd) {
			return nil, false
		}
	case n.readOnly(name), name == "EXEC" && slices.ContainsFunc(c.session.queue, func(args []string) bool {
		return n.readOnly(strings.ToUpper(args[0]))
	}):
		n.reject(cmd, n.denied())
	default:
		n.engine.execute(c.peer, &c.session, cmd.args, n.world.labels.sha)
	}
	c.peer.Flush()
	reply := c.reply.bytes
	if cmd.packet.Number > 0 {
		n.world.record(cmd.observed(reply))
		if !n.engine.db.IsReadOnlyCommand(name) {
			if n.engine.wrote {
				n.compare(cmd.packet.Client, nil, "")
			} else {
				n.setAlarm()
			}
			c.wrote = n.role.offset
		}
		n.send()
	}
	return reply, true
}

// own returns what answers a command that the node answers itself, nil when it
// leaves it to the engine. It reports whether it has answered; a command that has
// not waits, and is answered with unblock.
func own(name string) func(*node, *command) bool {
	switch name {
	case "SUBSCRIBE", "PSUBSCRIBE":
		return (*node).subscribe
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		return (*node).unsubscribe
	case "PUBSUB":
		return (*node).pubsub
	case "ROLE":
		return (*node).tellRole
	case "INFO":
		return (*node).info
	case "WAIT":
		return (*node).wait
	default:
		return nil
	}
}

// misused answers a command that there is not, or not with so many words.
func (n *node) misused(cmd *command) bool {
	text := misuse(cmd.packet.Name, cmd.args)
	if text != "" {
		n.reject(cmd, text)
	}
	return text != ""
}

// refuses answers with an error that a fault has told the node to give.
func (n *node) refuses(cmd *command) bool {
	for _, r := range n.refusals {
		if cmd.packet.Number > 0 && (len(r.names) == 0 || slices.Contains(r.names, cmd.packet.Name)) {
			n.reject(cmd, r.text)
			return true
		}
	}
	return false
}

// reject answers with an error in place of executing the command. A transaction
// that it is part of is not executed either.
func (n *node) reject(cmd *command, text string) {
	c := cmd.conn
	if c.session.queues {
		if c.session.dirty = true; cmd.packet.Name == "EXEC" {
			n.engine.abandon(c.peer, &c.session)
			text = "EXECABORT Transaction discarded because of: " + text
		}
	}
	c.peer.WriteError(text)
}

// refuse lets the node answer with an error until end is called.
func (n *node) refuse(r *refusal) { n.refusals = append(n.refusals, r) }

func (n *node) relent(r *refusal) {
	n.refusals = slices.DeleteFunc(n.refusals, func(o *refusal) bool { return o == r })
}

// readOnly reports whether the node may not execute the command, since it is a
// replica, or a primary that has too few. What a script does is looked at
// command by command.
func (n *node) readOnly(name string) bool { return n.denied() != "" && n.engine.writes(name) }

// fromScript executes a command of a script.
func (n *node) fromScript(peer *server.Peer, args []string) {
	if n.readOnly(strings.ToUpper(args[0])) {
		peer.WriteError(n.denied())
	} else {
		n.engine.run(peer, args)
	}
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

// bear records how much the node has had to do with at once.
func (n *node) bear() {
	n.record(history.Record{Op: history.Load, Connections: n.peak, Subscriptions: n.listeners.peak})
}

// welcome remembers how many connections there were at most. The caller holds w.mu.
func (n *node) welcome() { n.peak = max(n.peak, n.connections()) }

// connections counts the open ones. The caller holds w.mu.
func (n *node) connections() int {
	open := 0
	for _, name := range n.world.spec.Clients {
		open += len(n.world.links[linkKey{name, n.name}].conns)
	}
	return open
}

// killClients closes every client's connection.
func (n *node) killClients() {
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.spec.Clients {
		w.links[linkKey{name, n.name}].resetAll()
	}
}

// stop takes the node down, and lets it forget what was written since then.
func (n *node) stop(lose time.Duration) {
	n.tick()
	n.host.stop()
	n.role.stop(n)
	n.listeners = listeners{peak: n.listeners.peak}
	n.engine.scripts.flush()
	n.restore(n.world.Now() - lose)
}

// start brings the node up again.
func (n *node) start() {
	n.down = false
	n.tick()
	n.setAlarm()
	n.role.start(n)
}
