package sim

import (
	"strings"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/internal/engine"
	"lockpick/internal/resp"
)

// command is one command on its way from a client to a lock node and back.
type command struct {
	conn    *conn
	args    []string
	packet  faults.Packet // what hooks are told; Number is 0 for commands that do not count
	section uint64        // which of the client's phases it was written in
	drop    bool          // it is lost on the way
	waited  bool          // the client waits for its answer, or did
	sent    time.Duration
	kept    time.Duration // since when it was kept back by a pause
}

// submit takes a command that the client has written. It leaves a nanosecond
// later, in the world's goroutine: what several goroutines of a client write at
// one instant, as those of a quorum lock do, is numbered and sent in the order
// of its links, whichever of them ran first.
func (c *conn) submit(args []string) error {
	cl := c.link.client
	w := c.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := c.known(); err != nil {
		cl.process.answers.Missed++
		return err
	}
	c.written++
	name := strings.ToUpper(args[0])
	if engine.Known(name) {
		args[0] = name // it need not be turned into capitals again; no answer shows it
	}
	cmd := &command{conn: c, args: args, section: cl.section, packet: faults.Packet{
		Client: cl.name, Node: c.node.name, Name: name, Phase: cl.phase,
	}}
	cmd.asked()
	w.push(event{at: w.Now() + 1, source: leaving | c.link.number, seq: c.number<<32 | c.written, do: cmd.leave})
	return nil
}

// leaving marks the source of events that are commands leaving their client.
const leaving = 1 << 32

// leave is the command's way out of the client, unless the client stands still
// or has died.
func (cmd *command) leave() {
	if !cmd.conn.link.client.Alive() {
		return
	}
	// what sets a connection up is not the lock's doing: it is neither counted nor
	// recorded, and no trigger sees it
	if !engine.SetsUp(cmd.packet.Name) {
		cmd.conn.link.client.count(cmd)
		cmd.drop = cmd.hook(faults.BeforeSend) // which may pause or kill the client
	}
	w := cmd.conn.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if cl := cmd.conn.link.client; cl.pauses > 0 {
		cmd.kept = w.Now()
		cl.unsent = append(cl.unsent, cmd)
	} else {
		cmd.send()
	}
}

// goOn sends a command that was kept back while its client stood still. Time
// stood still for the client too: what is left for the reply is left whole. The
// caller holds w.mu.
func (cmd *command) goOn() {
	c := cmd.conn
	if now := c.link.world.Now(); !c.deadline.IsZero() && c.revived != now {
		c.deadline, c.revived = c.deadline.Add(now-cmd.kept), now
		c.notify()
	}
	cmd.send()
}

// send puts the command on the wire. The caller holds w.mu.
func (cmd *command) send() {
	c := cmd.conn
	if c.link.client.crashed || c.reset {
		return
	}
	cmd.sent = c.link.world.Now()
	if cmd.drop {
		c.streams[toNode].torn = true
	}
	c.link.send(toNode, c.number, &c.streams[toNode], cmd.arrive)
}

// hook tells the run's schedule where the command is and reports whether the
// message is to be dropped there.
func (cmd *command) hook(p faults.Point) bool {
	hook := cmd.conn.link.world.spec.Packet
	if hook == nil || cmd.packet.Number == 0 {
		return false
	}
	cmd.packet.Point = p
	return hook(cmd.packet)
}

// arrive is the command's arrival at its node.
func (cmd *command) arrive() {
	cmd.conn.node.handle(func() {
		if !cmd.conn.gone() {
			cmd.conn.node.arrive(cmd)
		}
	})
}

// reply sends the node's answer.
func (cmd *command) reply(reply []byte) {
	c := cmd.conn
	w := c.link.world
	lost := cmd.hook(faults.Applied)
	w.mu.Lock()
	defer w.mu.Unlock()
	if lost {
		c.streams[toClient].torn = true
	}
	c.link.send(toClient, c.number, &c.streams[toClient], func() { cmd.deliver(reply) })
}

// deliver is the reply's arrival at the client.
func (cmd *command) deliver(reply []byte) {
	cmd.hook(faults.Replied)
	w := cmd.conn.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	cmd.answered()
	cmd.conn.inbox = append(cmd.conn.inbox, reply...)
	cmd.conn.notify()
}

// observed is the node's record of the command.
func (cmd *command) observed(reply []byte) history.Record {
	labels, client := cmd.conn.link.world.labels, cmd.packet.Client
	return history.Record{
		Who: cmd.conn.node.name, Kind: history.Observe, Op: history.Command,
		Client: client, Command: labels.Command(client, cmd.args),
		Reply: resp.Render(reply, func(s string) string { return labels.Of(client, s) }), Sent: cmd.sent,
	}
}
