package sim

import (
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/engine"
	"lockpick/internal/keyspace"
)

// node is a Redis server in virtual time: an engine executes, and its keys are
// looked at after that; the node owns the clock, the roles, what is published, and
// the record of every command. It belongs to the goroutine of world.loop.
type node struct {
	host
	engine *engine.Engine

	// its clock showed shown at the time real, and has run at rate since; what it
	// showed at the last tick is the engine's
	real  time.Time
	shown time.Time
	rate  float64

	keys    *keyspace.Keys
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

func newNode(w *world, name, addr string, e *engine.Engine) *node {
	now := time.Now()
	n := &node{host: host{world: w, name: name, addr: addr}, engine: e, real: now, shown: now, rate: 1}
	n.keys = keyspace.New(e, w.labels, n.record)
	n.role.newID()
	e.Publish, e.Deny = n.publish, n.deny
	e.Advance(now)
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
	n.engine.Advance(n.now())
	gone := n.keys.Expire()
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
	name := cmd.packet.Name
	switch {
	case n.refuses(cmd):
	case n.misused(cmd):
	case n.deaf(cmd):
	case !c.session.Queues() && own(name) != nil:
		if !own(name)(n, cmd) {
			return nil, false
		}
	case n.readOnly(name), name == "EXEC" && slices.ContainsFunc(c.session.Queue(), func(args []string) bool {
		return n.readOnly(strings.ToUpper(args[0]))
	}):
		n.reject(cmd, n.denied())
	default:
		n.engine.Execute(c.session, cmd.args)
	}
	reply := c.session.Reply()
	if cmd.packet.Number > 0 {
		n.world.record(cmd.observed(reply))
		if !n.engine.ReadOnly(name) {
			if n.engine.Wrote() {
				n.compare(cmd.packet.Client)
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
	text := engine.Misuse(cmd.packet.Name, cmd.args)
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

// reject answers with an error in place of executing the command.
func (n *node) reject(cmd *command, text string) {
	n.engine.Reject(cmd.conn.session, cmd.packet.Name, text)
}

// refuse lets the node answer with an error until end is called.
func (n *node) refuse(r *refusal) { n.refusals = append(n.refusals, r) }

func (n *node) relent(r *refusal) {
	n.refusals = slices.DeleteFunc(n.refusals, func(o *refusal) bool { return o == r })
}

// readOnly reports whether the node may not execute the command, since it is a
// replica, or a primary that has too few. What a script does is looked at
// command by command.
func (n *node) readOnly(name string) bool { return n.deny(name) != "" }

// deny says why the node may not execute the command, or "".
func (n *node) deny(name string) string {
	if text := n.denied(); text != "" && n.engine.Writes(name) {
		return text
	}
	return ""
}

func (n *node) record(r history.Record) {
	r.Who, r.Kind = n.name, history.Observe
	n.world.record(r)
}

// look records every key.
func (n *node) look(text string) {
	n.tick()
	n.keys.Look(text)
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
	n.engine.ForgetScripts()
	n.restore(n.world.Now() - lose)
}

// start brings the node up again.
func (n *node) start() {
	n.down = false
	n.tick()
	n.setAlarm()
	n.role.start(n)
}
