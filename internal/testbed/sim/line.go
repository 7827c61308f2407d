package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockpick/internal/resp"
)

// line is a client's connection to a Sentinel. What the client asks is answered
// on the spot, in no time; what that costs is made up for when the client dials
// the node that it was told of.
//
// go-redis holds a mutex while it asks the Sentinels, and another goroutine of
// the same client may wait for that mutex: were the question to take time, time
// would have to pass while a goroutine waits for a mutex, which it does not in a
// testing/synctest bubble. Nor must two Sentinels answer at one instant, since
// go-redis goes by the answer that comes first. So a client reaches one Sentinel
// at a time: the nearest that there is.
type line struct {
	client   *client
	sentinel *sentinel
	link     *link
	number   uint64
	stream   stream // of what is published; guarded by world.mu, like torn lines
	commands resp.Commands

	mu       sync.Mutex // never held while anything waits
	inbox    []byte
	err      error
	deadline time.Time
	resp3    bool
	channels []string
	changed  chan struct{}
}

// sentinelTimeout is what a Sentinel costs that does not answer: go-redis' default
// ReadTimeout.
const sentinelTimeout = 3 * time.Second

var errNotNearest = errors.New("sim: another Sentinel is nearer")

// call makes a line to a Sentinel.
func (c *client) call(s *sentinel) (net.Conn, error) {
	w := c.world
	// without the address: go-redis dials all Sentinels at once and joins what went
	// wrong in the order in which its goroutines happened to run
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch nearest := c.nearest(); {
	case nearest == nil:
		return fail(syscall.EHOSTUNREACH)
	case nearest != s:
		return fail(errNotNearest)
	}
	l := w.links[linkKey{c.name, s.name}]
	l.opened++
	one := &line{client: c, sentinel: s, link: l, number: l.opened, changed: make(chan struct{}, 1)}
	l.lines = append(l.lines, one)
	return one, nil
}

// nearest returns the Sentinel that would answer first. The caller holds w.mu.
func (c *client) nearest() *sentinel {
	var best *sentinel
	var least time.Duration
	for _, s := range c.world.watch {
		l := c.world.links[linkKey{c.name, s.name}]
		if d := l.latency(toNode, 0); l.reaches(s) && (best == nil || d < least) {
			best, least = s, d
		}
	}
	return best
}

// reaches reports whether a Sentinel would answer over the link. The caller holds
// w.mu.
func (l *link) reaches(s *sentinel) bool {
	for _, way := range l.ways {
		if way.cuts > 0 || way.holds > 0 {
			return false
		}
	}
	return !s.silent
}

// Write implements net.Conn: it answers.
func (c *line) Write(p []byte) (int, error) {
	w := c.client.world
	w.mu.Lock()
	reaches := c.link.reaches(c.sentinel)
	if !reaches && !c.sentinel.gone {
		c.client.debt += sentinelTimeout
	}
	w.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return 0, c.err
	case !reaches:
		return 0, os.ErrDeadlineExceeded
	}
	commands, err := c.commands.Feed(p)
	if err != nil {
		return 0, err
	}
	for _, one := range commands {
		c.answer(one.Args)
	}
	c.notify()
	return len(p), nil
}

func (c *line) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Read implements net.Conn.
func (c *line) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		if len(c.inbox) > 0 && c.err == nil {
			n := copy(p, c.inbox)
			c.inbox = c.inbox[n:]
			c.mu.Unlock()
			return n, nil
		}
		err, deadline := c.err, c.deadline
		c.mu.Unlock()
		if err != nil {
			return 0, err
		}
		if deadline.IsZero() {
			<-c.changed
			continue
		}
		left := time.Until(deadline)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(left)
		select {
		case <-c.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// fail ends the line.
func (c *line) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.notify()
}

// Close implements net.Conn.
func (c *line) Close() error {
	w := c.client.world
	w.mu.Lock()
	c.link.lines = slices.DeleteFunc(c.link.lines, func(o *line) bool { return o == c })
	w.mu.Unlock()
	c.fail(net.ErrClosed)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *line) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	c.notify()
	return nil
}

// SetDeadline implements net.Conn; writes never wait.
func (c *line) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *line) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (c *line) LocalAddr() net.Addr { return addr(c.client.name) }

// RemoteAddr implements net.Conn.
func (c *line) RemoteAddr() net.Addr { return addr(c.sentinel.addr) }

// answer appends the reply to one command. The caller holds c.mu.
func (c *line) answer(args []string) {
	w := c.client.world
	primary := c.sentinel.announced.at(w.Now())
	switch strings.ToUpper(args[0]) {
	case "HELLO":
		c.resp3 = len(args) > 1 && args[1] == "3"
		c.mapping("server", "redis", "version", "7.0.15", "proto", fmt.Sprint(2+boolInt(c.resp3)), "mode", "sentinel", "role", "sentinel")
	case "PING":
		c.simple("PONG")
	case "CLIENT", "AUTH", "SELECT":
		c.simple("OK")
	case "ROLE":
		c.open('*', 2)
		c.bulk("sentinel")
		c.bulks(MasterName)
	case "SUBSCRIBE", "UNSUBSCRIBE":
		c.listen(strings.ToLower(args[0]), args[1:])
	case "SENTINEL":
		if len(args) < 2 {
			c.complain("ERR wrong number of arguments for 'sentinel' command")
			return
		}
		c.tell(strings.ToUpper(args[1]), args[2:], primary)
	default:
		c.complain(fmt.Sprintf("ERR unknown command '%s', with args beginning with: ", args[0]))
	}
}

// tell answers SENTINEL.
func (c *line) tell(what string, args []string, primary *node) {
	if what == "MASTERS" {
		c.open('*', 1)
		c.primary(primary)
		return
	}
	if what == "MYID" {
		c.bulk(fmt.Sprintf("%040x", hashOf(c.sentinel.name)))
		return
	}
	if len(args) != 1 {
		c.complain("ERR wrong number of arguments for 'sentinel|" + strings.ToLower(what) + "' command")
		return
	}
	if args[0] != MasterName {
		if what == "GET-MASTER-ADDR-BY-NAME" {
			c.null()
		} else {
			c.complain("ERR No such master with that name")
		}
		return
	}
	w := c.client.world
	switch what {
	case "GET-MASTER-ADDR-BY-NAME":
		ip, port := hostPort(primary.addr)
		c.bulks(ip, port)
	case "MASTER":
		c.primary(primary)
	case "CKQUORUM":
		c.simple(fmt.Sprintf("OK %d usable Sentinels. Quorum and failover authorization can be reached", len(w.watch)))
	case "SENTINELS":
		c.open('*', len(w.watch)-1)
		for _, s := range w.watch {
			if s != c.sentinel {
				ip, port := hostPort(s.addr)
				c.mapping("name", s.name, "ip", ip, "port", port, "flags", "sentinel")
			}
		}
	case "REPLICAS", "SLAVES":
		c.open('*', len(w.nodes)-1)
		for _, name := range w.spec.Topology.Nodes {
			if n := w.nodes[name]; n != primary {
				ip, port := hostPort(n.addr)
				c.mapping("name", n.addr, "ip", ip, "port", port, "flags", "slave", "slave-priority", "100")
			}
		}
	default:
		c.complain(fmt.Sprintf("ERR unknown subcommand '%s'. Try SENTINEL HELP.", strings.ToLower(what)))
	}
}

func (c *line) primary(n *node) {
	ip, port := hostPort(n.addr)
	w := c.client.world
	c.mapping("name", MasterName, "ip", ip, "port", port, "flags", "master",
		"num-slaves", fmt.Sprint(len(w.nodes)-1), "num-other-sentinels", fmt.Sprint(len(w.watch)-1), "quorum", fmt.Sprint(c.sentinel.quorum))
}

// listen answers SUBSCRIBE and UNSUBSCRIBE.
func (c *line) listen(kind string, channels []string) {
	if kind == "unsubscribe" && len(channels) == 0 {
		channels = slices.Clone(c.channels)
	}
	for _, name := range channels {
		c.channels = slices.DeleteFunc(c.channels, func(o string) bool { return o == name })
		if kind == "subscribe" {
			c.channels = append(c.channels, name)
		}
		c.open(c.push(), 3)
		c.bulk(kind)
		c.bulk(name)
		c.inbox = fmt.Appendf(c.inbox, ":%d\r\n", len(c.channels))
	}
}

// push is the mark of what comes unasked.
func (c *line) push() byte {
	if c.resp3 {
		return '>'
	}
	return '*'
}

func (c *line) open(mark byte, n int) { c.inbox = fmt.Appendf(c.inbox, "%c%d\r\n", mark, n) }
func (c *line) bulk(s string)         { c.inbox = fmt.Appendf(c.inbox, "$%d\r\n%s\r\n", len(s), s) }
func (c *line) simple(s string)       { c.inbox = fmt.Appendf(c.inbox, "+%s\r\n", s) }
func (c *line) complain(s string)     { c.inbox = fmt.Appendf(c.inbox, "-%s\r\n", s) }
func (c *line) bulks(elements ...string) {
	c.open('*', len(elements))
	for _, e := range elements {
		c.bulk(e)
	}
}

func (c *line) null() {
	if c.resp3 {
		c.inbox = append(c.inbox, "_\r\n"...)
	} else {
		c.inbox = append(c.inbox, "*-1\r\n"...)
	}
}

// mapping writes pairs of names and values.
func (c *line) mapping(pairs ...string) {
	if c.resp3 {
		c.open('%', len(pairs)/2)
	} else {
		c.open('*', len(pairs))
	}
	for _, p := range pairs {
		c.bulk(p)
	}
}

// publish sends a message to every client that listens, over the network.
func (s *sentinel) publish(channel, message string) {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.spec.Clients {
		l := w.links[linkKey{name, s.name}]
		for _, c := range l.lines {
			l.send(toClient, c.number, &c.stream, func() { c.deliver(channel, message) })
		}
	}
}

// deliver is the arrival of a message at a client.
func (c *line) deliver(channel, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.channels, channel) {
		return
	}
	c.open(c.push(), 3)
	c.bulk("message")
	c.bulk(channel)
	c.bulk(message)
	c.notify()
}

// reach dials whatever go-redis' client for Sentinels has been told of.
func (c *client) reach(ctx context.Context, address string) (net.Conn, error) {
	for _, s := range c.world.watch {
		if s.addr == address {
			return c.call(s)
		}
	}
	n, ok := c.world.byAddr[address]
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: syscall.EHOSTUNREACH}
	}
	l := c.world.links[linkKey{c.name, n.name}]
	time.Sleep(c.owes() + l.apart())
	return l.dial(ctx, n)
}

// owes returns the time that asking the Sentinels has cost: a round trip, and what
// was waited for in vain.
func (c *client) owes() time.Duration {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	d := c.debt
	c.debt = 0
	return d + 2*MinLatency
}
