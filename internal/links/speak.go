package links

import (
	"fmt"
	"strings"

	"lockpick/internal/resp"
)

// speech is what a connection's client says.
type speech struct {
	commands resp.Commands
	begun    bool
	raw      bool // it is not understood
	spoken   uint64
}

// speak puts what the client says on the link, command by command.
func (c *Conn) speak() {
	h := c.halves[toNode]
	for {
		piece, ok := h.inbox.take(c.ended.Done())
		if !ok {
			break
		}
		c.say(piece)
	}
	if rest := c.speech.commands.Rest(); rest != "" && !c.speech.raw {
		h.send(&message{bytes: []byte(rest)}, false)
	}
	c.Link.mu.Lock()
	c.left = true
	c.Link.mu.Unlock()
	h.send(&message{role: ending}, false)
}

// say sends the commands that are whole with a piece of what the client says.
func (c *Conn) say(piece []byte) {
	h := c.halves[toNode]
	if c.speech.raw {
		h.send(&message{bytes: piece}, false)
		return
	}
	if !c.speech.begun {
		c.speech.begun = true
		if piece[0] != '*' { // a server with TLS would not take a name either
			c.sayRaw(string(piece))
			return
		}
		h.send(&message{bytes: resp.AppendCommand(nil, "CLIENT", "SETNAME", c.Name()), role: naming}, false)
	}
	c.Link.mu.Lock()
	garbled := c.garbled
	c.Link.mu.Unlock()
	if garbled {
		c.sayRaw(c.speech.commands.Rest() + string(piece))
		return
	}
	commands, err := c.speech.commands.Feed(piece)
	for i, one := range commands {
		if leavesRESP(one.Args) {
			var rest strings.Builder
			for _, more := range commands[i:] {
				rest.WriteString(more.Raw)
			}
			c.sayRaw(rest.String() + c.speech.commands.Rest())
			return
		}
		if !c.sayCommand(one) {
			return
		}
	}
	if err != nil {
		c.sayRaw(c.speech.commands.Rest())
	}
}

// sayRaw sends the first of what is not understood.
func (c *Conn) sayRaw(text string) {
	c.speech.raw = true
	c.halves[toNode].send(&message{bytes: []byte(text), role: opaque}, false)
}

// sayCommand sends a command, and reports whether the connection has not ended.
func (c *Conn) sayCommand(one resp.Command) bool {
	if closed(c.ended.Done()) {
		return false
	}
	c.speech.spoken++
	m := &Command{Conn: c, Number: c.speech.spoken, Name: strings.ToUpper(one.Args[0]), Args: one.Args}
	drop := c.Link.network.hooks.Sending(c.ended, m)
	c.Link.mu.Lock()
	c.open[m] = struct{}{}
	c.Link.mu.Unlock()
	if c.gone() {
		c.lose(m) // it goes on all the same
	}
	c.halves[toNode].send(&message{bytes: []byte(one.Raw), command: m}, drop)
	return true
}

// forward hands the server what comes through the link.
func (c *Conn) forward() {
	h := c.halves[toNode]
	stub := <-h.stub
	defer stub.Close()
	for {
		m, ok := h.arrival()
		switch {
		case !ok:
			return
		case m.role == ending:
			c.end()
			return
		case c.ask(m):
			h.write(stub, m.bytes)
		}
	}
}

// ask awaits the answer to a message that has come to the server, and reports
// whether the server is to see it.
func (c *Conn) ask(m *message) bool {
	c.Link.mu.Lock()
	deaf := c.deaf
	seen := deaf || c.await(m)
	c.Link.mu.Unlock()
	if deaf {
		c.lose(m.command)
	}
	return seen
}

// await is ask while the server is understood. The caller holds Link.mu.
func (c *Conn) await(m *message) bool {
	if m.command == nil {
		if m.role != plain {
			c.dialogue.await(awaited{opaque: m.role == opaque})
		}
		return true
	}
	r := c.Link.refuses(m.command.Name)
	if r == nil {
		c.dialogue.await(awaited{command: m.command})
		return true
	}
	if _, is := c.open[m.command]; is { // else the client has hung up and needs no answer
		m.command.Refused = true
		c.dialogue.await(awaited{command: m.command, refusal: fmt.Appendf(nil, "-%s\r\n", r.text)})
		c.halves[toClient].inbox.put(nil)
	}
	return false
}
