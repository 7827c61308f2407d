package links

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Conn is a client's connection over a link.
type Conn struct {
	Link   *Link
	Number uint64 // of the link's connections, from 1

	halves  [2]*half
	ended   context.Context // it has been reset, or has ended at both ends
	cancel  context.CancelFunc
	telling sync.Mutex // held while a hook is called that Sending may run beside

	speech  speech  // used by speak alone
	hearing hearing // used by listen alone

	// guarded by Link.mu
	torn     bool
	open     map[*Command]struct{} // told to Sending, and not yet to Delivered or Lost
	dialogue dialogue
	garbled  bool // the server said what cannot be understood
	deaf     bool // the server's replies are not awaited any more
	left     bool // the client has hung up, and all that it said is on its way
}

// Command is a command of a client.
type Command struct {
	Conn   *Conn
	Number uint64 // of the connection's commands, from 1
	Name   string // in capitals
	Args   []string

	// Refused says that the link has answered in the server's place, which never
	// saw the command. It is for Answered and what comes after.
	Refused bool
}

// Name is the name that the server was given for the connection before the
// client's first command, by CLIENT SETNAME. Clients see it with CLIENT GETNAME
// and may give another. The server has it not when it wants a password first, or
// when the connection does not begin with a command in RESP, as one with TLS. On a
// raw link the name is "".
func (c *Conn) Name() string {
	if c.Link.raw {
		return ""
	}
	return fmt.Sprintf("lockpick:%s:%s:%d", c.Link.From, c.Link.To, c.Number)
}

// open makes a connection.
func (l *Link) open() *Conn {
	l.unfinished.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
	c := &Conn{Link: l, Number: l.opened, open: map[*Command]struct{}{}}
	c.ended, c.cancel = context.WithCancel(context.Background())
	c.halves = [...]*half{newHalf(c, toNode), newHalf(c, toClient)}
	if l.raw {
		c.speech.raw, c.hearing.raw = true, true
	}
	if l.closed {
		c.end()
	}
	l.conns[c] = struct{}{}
	l.opening = c
	return c
}

// run is the connection's life.
func (c *Conn) run() {
	defer c.Link.unfinished.Done()
	hooks := &c.Link.network.hooks
	hooks.Opened(c)
	var stages sync.WaitGroup
	stages.Go(c.speak)
	stages.Go(c.listen)
	stages.Go(c.forward)
	stages.Go(c.back)
	stages.Wait()
	c.loseAll()
	c.Link.mu.Lock()
	delete(c.Link.conns, c)
	c.Link.mu.Unlock()
	hooks.Closed(c)
}

// end ends the connection at both ends; what is under way is lost. It does not
// wait.
func (c *Conn) end() { c.cancel() }

// gone reports whether the client has hung up.
func (c *Conn) gone() bool { return closed(c.halves[toNode].silent) }

// settle reports whether it is still to be said what became of a command, which
// it then no longer is. The caller holds Link.mu.
func (c *Conn) settle(m *Command) bool {
	_, is := c.open[m]
	delete(c.open, m)
	return is
}

// tell calls the hook that says what became of a command, if none has been yet. It may
// be nil.
func (c *Conn) tell(m *Command, hook func(*Command)) {
	c.Link.mu.Lock()
	is := c.settle(m)
	c.Link.mu.Unlock()
	if is {
		c.telling.Lock()
		hook(m)
		c.telling.Unlock()
	}
}

// lose says of commands that the client gets no reply. Some may be nil, or have
// been lost or delivered before.
func (c *Conn) lose(all ...*Command) {
	for _, m := range all {
		c.tell(m, c.Link.network.hooks.Lost)
	}
}

// loseAll says it of every command that was not answered.
func (c *Conn) loseAll() {
	c.Link.mu.Lock()
	all := slices.SortedFunc(maps.Keys(c.open), func(a, b *Command) int { return cmp.Compare(a.Number, b.Number) })
	c.Link.mu.Unlock()
	c.lose(all...)
}
