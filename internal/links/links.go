// Package links carries what lock clients, processes in any language, send to
// real Redis servers, and strikes it on the way: one proxy of toxiproxy for each
// client and node, with a toxic of our own in each direction that understands
// RESP, so that a fault can strike a single command or reply. A link between two
// servers is not understood, but can be struck as a whole.
//
// It knows no scenario and no lock, and of Redis just enough to tell which reply
// belongs to which command.
//
// The rule that surprises: a client that hangs up takes nothing back. What it has
// sent goes on to the server, late when the link holds it, and only then is the
// server's end closed. And nobody is told of a loss: a connection that has lost
// something stays open and silent, as a real one does, until the link is mended.
//
// What a client sees that a real network would not show it: it is connected at
// once, over a cut link too, where its first command is lost. When the server
// takes no connection, the client's is closed right after it was made. And the
// end of a connection, by Reset too, is an EOF. What is held, and what the other
// end does not read, is kept in memory, without a limit.
package links

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Hooks are told what happens on the links; each may be nil. Goroutines of the
// connection call them: for one connection, Opened before all others and Closed
// after them, and Answered, Delivered and Lost never at the same time. Sending,
// which is the other direction, may run beside those three. They may call the
// methods of Link, but not Network.Close.
//
// Of a connection that is not understood, such as a Raw link's, only Opened and
// Closed are told.
type Hooks struct {
	// Opened is called before anything is carried.
	Opened func(*Conn)

	// Sending is called when a whole command has left the client, before any fault
	// of the link strikes it, and answers whether it is to be lost. It may block,
	// which holds up this direction of this connection. It must return when the
	// context ends, with the connection or the network.
	Sending func(context.Context, *Command) (drop bool)

	// Answered is called when the server's reply, whole, has come to the proxy,
	// before any fault of the link strikes it, and answers whether it is to be
	// lost. The bytes may be kept and must not be changed. It is called after Lost
	// when the client hung up and the server still did what it was told. It is not
	// called for the confirmations of SUBSCRIBE and its like.
	Answered func(m *Command, reply []byte) (drop bool)

	// Delivered is called when the reply has come through the link. The client
	// gets it when Delivered returns, and so can have done nothing about it before.
	Delivered func(*Command)

	// Lost is called when the client will get no reply any more, or none that
	// could be understood. For each command that Sending was called for, either
	// Delivered or Lost is called, once.
	Lost func(*Command)

	// Closed is called when the connection has ended at both ends.
	Closed func(*Conn)
}

// patience is how long Close waits for what must end at once.
const patience = 10 * time.Second

// Network is links. It is safe for concurrent use.
type Network struct {
	hooks  Hooks
	server *toxiproxy.ApiServer // serves nothing; a proxy needs one

	mu     sync.Mutex
	links  map[string]*Link
	closed bool
}

// New returns a network without links.
func New(h Hooks) *Network {
	return &Network{
		hooks:  h.filled(),
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		links:  map[string]*Link{},
	}
}

// filled puts what does nothing in the place of hooks that are not there.
func (h Hooks) filled() Hooks {
	if h.Opened == nil {
		h.Opened = func(*Conn) {}
	}
	if h.Sending == nil {
		h.Sending = func(context.Context, *Command) bool { return false }
	}
	if h.Answered == nil {
		h.Answered = func(*Command, []byte) bool { return false }
	}
	if h.Delivered == nil {
		h.Delivered = func(*Command) {}
	}
	if h.Lost == nil {
		h.Lost = func(*Command) {}
	}
	if h.Closed == nil {
		h.Closed = func(*Conn) {}
	}
	return h
}

// Link makes a link between a client and a node whose server listens on upstream,
// a TCP address. Names are of printable ASCII, without spaces.
func (n *Network) Link(from, to, upstream string) (*Link, error) {
	return n.link(from, to, upstream, false)
}

// Raw makes a link that is not understood: its messages are the pieces in which
// the bytes come.
func (n *Network) Raw(from, to, upstream string) (*Link, error) {
	return n.link(from, to, upstream, true)
}

func (n *Network) link(from, to, upstream string, raw bool) (*Link, error) {
	name := from + ":" + to
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return nil, fmt.Errorf("links: link %s: the network is closed", name)
	case from == "" || to == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("links: link %q: the names of its ends must be of printable letters without spaces", name)
	case n.links[name] != nil:
		return nil, fmt.Errorf("links: link %s: there is one already", name)
	}
	l := &Link{From: from, To: to, network: n, raw: raw, conns: map[*Conn]struct{}{}}
	if err := l.start(name, upstream); err != nil {
		return nil, fmt.Errorf("links: link %s: %w", name, err)
	}
	n.links[name] = l
	return l, nil
}

// Close ends every connection and listens no more. When it returns without an
// error, the last hook has been called. It waits at most 10 s, for a hook that
// does not return. Closing again is harmless.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	links := n.links
	n.links = nil
	n.mu.Unlock()
	for _, l := range links {
		l.shut()
	}
	late := time.After(patience)
	var all []error
	for name, l := range links {
		ended := make(chan struct{})
		go func() {
			l.proxy.Stop()
			l.unfinished.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-late:
			late = time.After(0)
			all = append(all, fmt.Errorf("links: close link %s: a connection of it has not ended within %v", name, patience))
		}
	}
	return errors.Join(all...)
}
