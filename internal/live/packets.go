package live

import (
	"context"
	"strings"
	"time"

	"lockpick/faults"
	"lockpick/internal/engine"
	"lockpick/internal/links"
	"lockpick/internal/testbed"
)

// command is one that counts on its way from a client to a lock node and back. Its
// fields are guarded by the node's mutex unless stated.
type command struct {
	node   *node
	client *client
	packet faults.Packet // fixed once it was sent
	args   []string      // fixed
	waited bool          // the client waits for its answer; fixed
	sent   time.Duration // fixed

	applied  bool // the node has executed it, and says when
	at       time.Duration
	shadow   []byte // what the node's shadow answered; nil when it does not know
	answered time.Duration
	reply    []byte // nil until it comes
	settled  bool   // it was delivered or lost
	told     bool   // it is in the history
}

// subscribing are the commands that are answered with as many messages as there
// are channels, and that nobody waits for as for an answer.
var subscribing = map[string]bool{"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true}

// opened takes a new connection of a client.
func (w *world) opened(c *links.Conn) { w.nodes[c.Link.To].accept(c) }

// closed takes the end of a connection.
func (w *world) closed(c *links.Conn) { w.nodes[c.Link.To].hangUp(c) }

// sending takes a command that has left a client, and lets the schedule strike.
// What sets a connection up is not the lock's doing: it is neither counted nor
// recorded, and no trigger sees it.
func (w *world) sending(ctx context.Context, m *links.Command) (drop bool) {
	name := strings.ToUpper(m.Args[0])
	cl := w.clients[m.Conn.Link.From]
	if engine.SetsUp(name) {
		return cl.process.gate(ctx) != nil
	}
	n := w.nodes[m.Conn.Link.To]
	cmd := &command{node: n, client: cl, args: m.Args, waited: !subscribing[name], packet: cl.count(n.name, name)}
	if cmd.waited {
		cl.process.change(func(a *testbed.Answers) { a.Sent++; a.Waiting++ })
	}
	drop = cmd.hook(faults.BeforeSend) // which may pause or kill the client
	if err := cl.process.gate(ctx); err != nil {
		drop = true
	}
	cmd.sent = w.Now()
	n.sent(m, cmd)
	return drop
}

// hook tells the run's schedule where the command is and reports whether the
// message is to be dropped there.
func (cmd *command) hook(p faults.Point) bool {
	hook := cmd.node.world.spec.Packet
	if hook == nil || cmd.node.world.ended.Load() != never {
		return false
	}
	packet := cmd.packet
	packet.Point = p
	return hook(packet)
}

// answered takes a node's reply on its way.
func (w *world) answered(m *links.Command, reply []byte) (drop bool) {
	cmd := w.nodes[m.Conn.Link.To].reply(m, reply)
	return cmd != nil && cmd.hook(faults.Applied)
}

// delivered takes a reply that has reached the client.
func (w *world) delivered(m *links.Command) {
	cmd := w.nodes[m.Conn.Link.To].settle(m)
	if cmd == nil {
		return
	}
	cmd.hook(faults.Replied)
	if cmd.waited {
		cmd.client.process.change(func(a *testbed.Answers) { a.Waiting-- })
	}
}

// lost takes a command that will not be answered any more.
func (w *world) lost(m *links.Command) {
	cmd := w.nodes[m.Conn.Link.To].settle(m)
	if cmd != nil && cmd.waited {
		cmd.client.process.change(func(a *testbed.Answers) { a.Waiting--; a.Missed++ })
	}
}
