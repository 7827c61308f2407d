package links

import (
	"bytes"

	"lockpick/internal/resp"
)

// hearing is what a connection's server says.
type hearing struct {
	replies resp.Replies
	raw     bool // it is not understood
}

// listen puts what the server says on the link, reply by reply.
func (c *Conn) listen() {
	h := c.halves[toClient]
	for {
		piece, ok := h.inbox.take(c.ended.Done())
		if !ok {
			break
		}
		c.hear(piece)
	}
	if rest := c.hearing.replies.Rest(); len(rest) > 0 && !c.hearing.raw {
		h.send(&message{bytes: rest}, false)
	}
	c.deafen(false)
	h.send(&message{role: ending}, false)
}

// hear sends the replies that are whole with a piece of what the server says.
func (c *Conn) hear(piece []byte) {
	if c.opaque() {
		piece = append(c.hearing.replies.Rest(), piece...)
		c.hearRaw()
	}
	if c.hearing.raw {
		c.pass(piece)
		return
	}
	c.refuse()
	all, err := c.hearing.replies.Feed(piece)
	for i, reply := range all {
		c.hearReply(reply)
		c.refuse()
		if c.opaque() {
			c.hearRaw()
			c.pass(append(bytes.Join(all[i+1:], nil), c.hearing.replies.Rest()...))
			return
		}
	}
	if err != nil {
		c.hearRaw()
		c.pass(c.hearing.replies.Rest())
	}
}

// opaque reports whether the server now answers what is not understood.
func (c *Conn) opaque() bool {
	c.Link.mu.Lock()
	defer c.Link.mu.Unlock()
	return c.dialogue.opaque()
}

// hearRaw understands the server no more.
func (c *Conn) hearRaw() {
	c.hearing.raw = true
	c.deafen(true)
}

// deafen awaits no reply any more.
func (c *Conn) deafen(garbled bool) {
	c.Link.mu.Lock()
	c.deaf, c.garbled = true, c.garbled || garbled
	waiting := c.dialogue.waiting
	c.dialogue.waiting = nil
	signal(c.halves[toNode].wake)
	c.Link.mu.Unlock()
	for _, a := range waiting {
		c.lose(a.command)
	}
}

// pass sends what answers no command.
func (c *Conn) pass(b []byte) {
	if len(b) > 0 {
		c.halves[toClient].send(&message{bytes: b}, false)
	}
}

// hearReply sends a reply, or a push.
func (c *Conn) hearReply(reply []byte) {
	c.Link.mu.Lock()
	what, a := c.dialogue.hear(reply)
	c.Link.mu.Unlock()
	switch {
	case what == push:
		c.pass(reply)
	case what == confirmation:
		c.halves[toClient].send(&message{bytes: reply, command: a.command}, false)
	case a.command != nil: // else it is the server's answer to the name
		c.answer(a.command, reply)
	}
}

// refuse answers the commands whose turn it is and that the server never saw.
func (c *Conn) refuse() {
	for {
		c.Link.mu.Lock()
		a, ok := c.dialogue.refused()
		_, open := c.open[a.command]
		c.told()
		c.Link.mu.Unlock()
		switch {
		case !ok:
			return
		case open:
			c.answer(a.command, a.refusal)
		}
	}
}

// told lets the server's end be closed when the client has hung up and nothing
// else is awaited. The caller holds Link.mu.
func (c *Conn) told() {
	if c.left && !c.dialogue.owes() {
		signal(c.halves[toNode].wake)
	}
}

// answer sends the reply to a command.
func (c *Conn) answer(m *Command, reply []byte) {
	c.telling.Lock()
	drop := c.Link.network.hooks.Answered(m, reply)
	c.telling.Unlock()
	c.halves[toClient].send(&message{bytes: reply, command: m}, drop)
}

// back hands the client what comes through the link.
func (c *Conn) back() {
	h := c.halves[toClient]
	stub := <-h.stub
	for {
		m, ok := h.arrival()
		if !ok {
			break
		}
		if m.role == ending {
			c.end()
			break
		}
		if m.command != nil {
			c.tell(m.command, c.Link.network.hooks.Delivered)
		}
		h.write(stub, m.bytes)
	}
	stub.Close()
	if c.gone() {
		c.loseAll()
	}
}
