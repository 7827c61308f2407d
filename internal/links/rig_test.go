package links

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockpick/internal/redistest"
)

const bound = 10 * time.Second

// eventually looks until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("within %v it was not so that %s", bound, what)
		}
	}
}

// rig is a link between a client and a server.
type rig struct {
	*Link
	*witness
	t       testing.TB
	network *Network
	server  *server
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, server: newServer(t), witness: newWitness()}
	r.network = newNetwork(t, r.witness)
	r.Link = mustLink(t, r.network, "client-1", "redis-1", r.server.addr())
	return r
}

// newNetwork returns a network that must leave nothing behind.
func newNetwork(t testing.TB, w *witness) *Network {
	t.Helper()
	n := New(w.hooks())
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		w.over(t)
		nothingRuns(t)
	})
	return n
}

func nothingRuns(t testing.TB) {
	t.Helper()
	stacks := make([]byte, 16<<20)
	var left string
	for end := time.Now().Add(bound); ; time.Sleep(time.Millisecond) {
		left = ""
		for one := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(one, "toxiproxy") || strings.Contains(one, "links.(*Conn)") || strings.Contains(one, "links.(*half)") {
				left = one
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after Close there still runs\n%s", left)
		}
	}
}

func mustLink(t testing.TB, n *Network, from, to, upstream string) *Link {
	t.Helper()
	l, err := n.Link(from, to, upstream)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// client is a connection to a link.
type client struct {
	t  testing.TB
	nc net.Conn
	*redistest.Conn
}

func dial(t testing.TB, l *Link) *client {
	t.Helper()
	return dialAddr(t, l.Addr())
}

func dialAddr(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &client{t, nc, redistest.NewConn(nc)}
}

// wire is the bytes of commands.
func wire(commands ...string) string {
	var b strings.Builder
	for _, one := range commands {
		b.Write(redistest.Command(strings.Fields(one)...))
	}
	return b.String()
}

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := c.nc.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// wantRead reads what must come.
func (c *client) wantRead(want ...string) {
	c.t.Helper()
	for _, one := range want {
		if err := c.nc.SetReadDeadline(time.Now().Add(bound)); err != nil {
			c.t.Fatal(err)
		}
		got, err := c.Receive()
		if err != nil || string(got) != one {
			c.t.Fatalf("the client reads %q, %v; want %q", got, err, one)
		}
	}
}

// wantSilence makes sure that the connection is open and nothing comes.
func (c *client) wantSilence() {
	c.t.Helper()
	if err := c.nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		c.t.Fatal(err)
	}
	got, err := c.nc.Read(make([]byte, 1))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("the client reads %d bytes, %v; want silence", got, err)
	}
}

// wantEnd makes sure that the connection has ended.
func (c *client) wantEnd() {
	c.t.Helper()
	if err := c.nc.SetReadDeadline(time.Now().Add(bound)); err != nil {
		c.t.Fatal(err)
	}
	n, err := c.nc.Read(make([]byte, 1))
	if n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("the client reads %d bytes, %v; want the end", n, err)
	}
}

func (c *client) hangUp() {
	c.t.Helper()
	if err := c.nc.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// awaitUnderway waits until so many messages are under way on the link.
func (r *rig) awaitUnderway(dir, count int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d messages are under way", count), func() bool {
		r.Link.mu.Lock()
		defer r.Link.mu.Unlock()
		n := 0
		for c := range r.Link.conns {
			n += len(c.halves[dir].underway)
		}
		return n == count
	})
}
