package sim

import (
	"lockpick/internal/engine"
	"lockpick/internal/testbed"
)

// subscribing are the commands that a node answers with as many messages as there
// are channels, and that nobody waits for as for an answer.
var subscribing = map[string]bool{"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true}

// Answers implements testbed.Client.
func (c *client) Answers() testbed.Answers {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.process.answers
}

// asked takes a command that was written. The caller holds world.mu.
func (cmd *command) asked() {
	if engine.SetsUp(cmd.packet.Name) || subscribing[cmd.packet.Name] {
		return
	}
	p := cmd.conn.link.client.process
	p.answers.Sent++
	if cmd.conn.err != nil {
		p.answers.Missed++
		return
	}
	p.answers.Waiting++
	cmd.waited = true
	cmd.conn.waiting++
}

// answered takes the answer of a command that arrives at a client which still has
// the connection. The caller holds world.mu.
func (cmd *command) answered() {
	if !cmd.waited || cmd.conn.err != nil {
		return
	}
	cmd.conn.waiting--
	cmd.conn.link.client.process.answers.Waiting--
}

// giveUp takes the end of a connection: what waits on it gets no answer any more.
// The caller holds world.mu.
func (c *conn) giveUp() {
	a := &c.link.client.process.answers
	a.Waiting -= c.waiting
	a.Missed += c.waiting
	c.waiting = 0
}
