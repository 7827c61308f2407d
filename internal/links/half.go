package links

import (
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// maxPiece is how much is handed to the proxy at a time. It copies by 32 KiB, and
// v2.12.0 loses data of a piece that is more than twice as long.
const maxPiece = 32 << 10

// message is what is carried as one.
type message struct {
	bytes   []byte
	command *Command // that it is, or answers; nil for none
	role    role
	held    bool
	due     time.Time // when it arrives at the earliest
}

// role says what is special about a message.
type role uint8

const (
	plain  role = iota
	naming      // gives the connection its name
	opaque      // the first that is not understood
	ending      // nothing comes after
)

// half is one direction of a connection: what comes in, and what is under way.
type half struct {
	conn   *Conn
	dir    int
	stub   chan *toxics.ToxicStub // has one as soon as there is one
	inbox  inbox
	silent chan struct{} // closed when whoever speaks in this direction has hung up

	// guarded by Link.mu
	underway []*message // in order: none arrives before the one ahead of it
	wake     chan struct{}
}

func newHalf(c *Conn, dir int) *half {
	c.Link.unfinished.Add(1) // intake ends it
	return &half{
		conn: c, dir: dir,
		stub: make(chan *toxics.ToxicStub, 1), inbox: newInbox(), silent: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// intake takes everything that comes until there is no more. It never waits for
// anything else, which is how the end of a connection is noticed while it is held
// up; and the proxy's goroutines would stay that could not hand over what they
// have read.
func (h *half) intake(stub *toxics.ToxicStub) {
	h.stub <- stub
	for {
		select {
		case <-stub.Interrupt: // by nobody: toxics are not changed
			return
		case piece := <-stub.Input:
			if piece != nil {
				h.inbox.put(piece.Data)
				continue
			}
			close(h.silent)
			h.inbox.close()
			if closed(h.conn.halves[toNode].silent) && closed(h.conn.halves[toClient].silent) {
				h.conn.end()
			}
			h.conn.Link.unfinished.Done()
			return
		}
	}
}

// send puts a message on the link, unless it is lost there.
func (h *half) send(m *message, drop bool) {
	c := h.conn
	c.Link.mu.Lock()
	way := &c.Link.ways[h.dir]
	lost := drop || way.cuts > 0 || c.torn && m.role != ending
	if lost {
		c.torn = true
	} else {
		m.due, m.held = time.Now().Add(way.extra), way.holds > 0
		h.underway = append(h.underway, m)
		signal(h.wake)
	}
	c.Link.mu.Unlock()
	if lost {
		c.lose(m.command)
	}
}

// release lets go what was held. The caller holds Link.mu.
func (h *half) release(extra time.Duration) {
	at := time.Now().Add(extra)
	for _, m := range h.underway {
		if m.held {
			m.held, m.due = false, at
		}
	}
	signal(h.wake)
}

// arrival waits for the next message that comes through. There is none any more
// when the connection has ended or, for the client, when that has hung up.
func (h *half) arrival() (*message, bool) {
	c := h.conn
	var hungUp chan struct{}
	if h.dir == toClient {
		hungUp = c.halves[toNode].silent
	}
	for {
		c.Link.mu.Lock()
		m, wait := h.first()
		lost := m != nil && c.Link.ways[h.dir].cuts > 0
		c.torn = c.torn || lost
		c.Link.mu.Unlock()
		switch {
		case closed(c.ended.Done()), closed(hungUp):
			return nil, false
		case lost:
			c.lose(m.command)
			continue
		case m != nil:
			return m, true
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-h.wake:
		case <-due:
		case <-hungUp:
		case <-c.ended.Done():
		}
	}
}

// first takes the next message when it has arrived. Else it says how long that
// takes, 0 when that depends on others. The caller holds Link.mu.
func (h *half) first() (*message, time.Duration) {
	if len(h.underway) == 0 || h.underway[0].held {
		return nil, 0
	}
	m := h.underway[0]
	if wait := time.Until(m.due); wait > 0 {
		return nil, wait
	}
	if m.role == ending && h.dir == toNode && h.conn.dialogue.owes() {
		return nil, 0
	}
	h.underway[0] = nil
	h.underway = h.underway[1:]
	return m, 0
}

// write hands bytes to the proxy, unless the other end is gone.
func (h *half) write(stub *toxics.ToxicStub, bytes []byte) {
	other := h.conn.halves[1-h.dir]
	for piece := range slices.Chunk(bytes, maxPiece) {
		select {
		case stub.Output <- &stream.StreamChunk{Data: piece}:
		case <-other.silent:
			return
		case <-h.conn.ended.Done():
			return
		}
	}
}

// signal wakes who waits for it, now or the next time.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
