package sim

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"lockpick/internal/engine"
	"lockpick/internal/resp"
)

// DialTimeout is how long a connection may take to be made, as in go-redis.
const DialTimeout = 5 * time.Second

// conn is the client's end of a connection to a lock node, and what the node
// keeps of it. Its fields are guarded by world.mu unless stated.
type conn struct {
	link   *link
	node   *node
	number uint64 // among the connections of the link

	inbox    []byte        // arrived and not read
	changed  chan struct{} // something that Read waits for may have happened
	err      error         // how the connection ended
	deadline time.Time     // of Read
	reading  bool          // a Read waits
	reminder time.Duration // when the deadline is looked at, as world time; 0 for never
	revived  time.Duration // when the deadline was last moved by a pause
	streams  [2]stream
	waiting  int           // commands that the client waits to be answered
	written  uint64        // commands that the client has written
	reset    bool          // what is still under way is lost
	broken   time.Duration // when it was reset

	commands resp.Commands // cuts what the client writes; used by one Write at a time

	// the node's side; of the world's goroutine alone
	session *engine.Session // from when the node has accepted
	wrote   int64           // how far the node was after the connection's last command
	blocked bool            // a command waits
	behind  []*command      // what came after it
}

// dial makes a connection from the client, which takes a round trip.
func (l *link) dial(ctx context.Context, n *node) (net.Conn, error) {
	w := l.world
	switch err := l.client.gate(l.place()); {
	case errors.Is(err, errSilenced):
		return tomb{}, nil
	case err != nil:
		return nil, err
	}
	c := &conn{link: l, node: n, changed: make(chan struct{}, 1)}
	answer := make(chan error, 1)
	w.mu.Lock()
	answers := &l.client.process.answers
	answers.Waiting++
	l.opened++
	c.number = l.opened
	// it leaves as a command does: what strikes the link at this very instant comes first
	w.push(event{at: w.Now() + 1, source: leaving | l.number, seq: c.number << 32, do: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.send(toNode, c.number, &c.streams[toNode], func() { c.accept(answer) })
	}})
	w.mu.Unlock()

	limit := time.NewTimer(DialTimeout + l.apart())
	defer limit.Stop()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		time.Sleep(c.apart())
		err = ctx.Err()
	case <-limit.C:
		err = os.ErrDeadlineExceeded
	}
	if dead := l.client.gate(l.place()); dead != nil {
		err = dead
	} else if err != nil {
		select { // an answer that came while the client stood still counts
		case err = <-answer:
		default:
		}
	}
	w.mu.Lock()
	answers.Waiting--
	if err != nil {
		answers.Missed++
	}
	w.mu.Unlock()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr(n.addr), Err: err}
	}
	return c, nil
}

// accept is the arrival of the dial at the node.
func (c *conn) accept(answer chan<- error) {
	w := c.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	var refused error
	if c.node.down {
		refused = syscall.ECONNREFUSED
	} else {
		c.session = engine.NewSession()
		c.link.conns = append(c.link.conns, c)
		c.node.welcome()
	}
	c.link.send(toClient, c.number, &c.streams[toClient], func() { answer <- refused })
}

// gate is the client's, called by whoever uses the connection.
func (c *conn) gate() error {
	err := c.link.client.gate(c.link.place() | c.number)
	if errors.Is(err, errSilenced) {
		runtime.Goexit()
	}
	return err
}

// tomb is the connection that a client gets that was silenced. go-redis dials in
// goroutines of its own, and ending those would leave the subject's waiting; it
// first writes in the subject's own goroutine, which ends there.
type tomb struct{ net.Conn }

func (tomb) Read([]byte) (int, error)         { runtime.Goexit(); return 0, nil }
func (tomb) Write([]byte) (int, error)        { runtime.Goexit(); return 0, nil }
func (tomb) Close() error                     { return nil }
func (tomb) SetDeadline(time.Time) error      { return nil }
func (tomb) SetReadDeadline(time.Time) error  { return nil }
func (tomb) SetWriteDeadline(time.Time) error { return nil }
func (tomb) LocalAddr() net.Addr              { return addr("nowhere") }
func (tomb) RemoteAddr() net.Addr             { return addr("nowhere") }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	w, waited := c.link.world, false
	for {
		if err := c.gate(); err != nil {
			return 0, err
		}
		w.mu.Lock()
		c.reading = false
		if len(c.inbox) > 0 && c.err == nil {
			n := copy(p, c.inbox)
			c.inbox = c.inbox[n:]
			w.mu.Unlock()
			return n, nil
		}
		err, late := c.err, c.late()
		if err == nil && !late {
			c.reading = true
			c.remind()
		}
		w.mu.Unlock()
		switch {
		case err != nil && waited:
			time.Sleep(c.apart())
			return 0, err
		case err != nil:
			return 0, err
		case late:
			return 0, os.ErrDeadlineExceeded
		}
		<-c.changed
		waited = true
	}
}

// limit is when Read gives up, as world time. The caller holds w.mu.
func (c *conn) limit() time.Duration {
	return c.deadline.Sub(c.link.world.start) + c.link.apart()
}

// late reports whether that time has come. The caller holds w.mu.
func (c *conn) late() bool { return !c.deadline.IsZero() && c.limit() <= c.link.world.Now() }

// remind makes sure that a Read that waits is woken when it must give up. Every
// command moves the deadline, so a reminder is not moved with it: it looks when it
// goes off, and is set again. Read itself is not woken too early: it would join
// those who stand still at the gate of a paused client. The caller holds w.mu.
func (c *conn) remind() {
	if c.deadline.IsZero() {
		return
	}
	w, at := c.link.world, c.limit()
	if c.reminder != 0 && c.reminder <= at {
		return
	}
	c.reminder = at
	w.push(event{at: at, source: reminding | c.link.number, seq: c.number, do: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.reminder != at {
			return // the deadline has been moved forward
		}
		c.reminder = 0
		switch {
		case !c.reading:
		case c.late():
			c.notify()
		default:
			c.remind()
		}
	}})
}

// reminding marks the source of events that are reminders: they come after all
// else of their instant.
const reminding = 2 << 32

// gone reports whether the connection was reset.
func (c *conn) gone() bool {
	c.link.world.mu.Lock()
	defer c.link.world.mu.Unlock()
	return c.reset
}

// torn reports whether the connection has lost something: its ends no longer
// agree, and it is of no use any more. The caller holds w.mu.
func (c *conn) torn() bool { return c.streams[toNode].torn || c.streams[toClient].torn }

// notify wakes Read. The caller holds w.mu.
func (c *conn) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Write implements net.Conn. It takes whole commands out of what is written and
// sends each as one message; a command that is not complete waits for the rest.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.gate(); err != nil {
		return 0, err
	}
	commands, err := c.commands.Feed(p)
	if err != nil {
		return 0, err
	}
	for _, one := range commands {
		if err := c.submit(one.Args); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// push sends what the client did not ask for. The caller holds w.mu.
func (c *conn) push(b []byte) {
	c.link.send(toClient, c.number, &c.streams[toClient], func() {
		c.link.world.mu.Lock()
		defer c.link.world.mu.Unlock()
		c.inbox = append(c.inbox, b...)
		c.notify()
	})
}

// Close implements net.Conn.
func (c *conn) Close() error {
	w := c.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.err == nil {
		c.hangUp(net.ErrClosed)
	}
	return nil
}

// hangUp ends the connection from the client's side. What was sent is still under
// way, and is executed when it arrives. The caller holds w.mu.
func (c *conn) hangUp(err error) {
	c.err = err
	c.giveUp()
	c.notify()
	c.link.conns = slices.DeleteFunc(c.link.conns, func(o *conn) bool { return o == c })
}

// breakOff ends the connection at both ends. The caller holds w.mu and takes it
// off the link's list.
func (c *conn) breakOff() {
	c.err, c.reset, c.broken = syscall.ECONNRESET, true, c.link.world.Now()
	c.giveUp()
	c.notify()
}

// known is how the connection ended, as far as the client can know: whoever looks
// at the very instant of a reset sees nothing of it yet, so that it does not matter
// which of the two goroutines runs first. The caller holds w.mu.
func (c *conn) known() error {
	if c.reset && c.broken == c.link.world.Now() {
		return nil
	}
	return c.err
}

// apart keeps the readers of connections that end at one instant, of which a reset
// or a failover of go-redis makes many, from going on at one instant: several
// goroutines of a client may then try again.
func (c *conn) apart() time.Duration { return c.link.apart() + time.Duration(c.number-1)<<8 }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.link.world.mu.Lock()
	defer c.link.world.mu.Unlock()
	c.deadline = t
	if c.reading {
		c.notify()
	}
	return nil
}

// SetDeadline implements net.Conn; writes never wait.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return addr(c.link.client.name) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return addr(c.node.addr) }

// SyscallConn implements syscall.Conn, for go-redis, which looks whether a
// connection of its pool has ended before it uses it again.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c}, nil }

// rawConn answers that one question.
type rawConn struct{ conn *conn }

// Read implements syscall.RawConn. It does not call f, which would ask a socket.
func (r rawConn) Read(func(fd uintptr) bool) error {
	r.conn.link.world.mu.Lock()
	defer r.conn.link.world.mu.Unlock()
	return r.conn.known()
}

func (rawConn) Control(func(fd uintptr)) error    { return errors.ErrUnsupported }
func (rawConn) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
