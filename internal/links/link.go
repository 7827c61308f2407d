package links

import (
	"slices"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"

	"lockpick/faults"
)

// Link is what ties a client to a node, or two nodes to each other: a port to
// connect to, and what is wrong with it. Its methods do not block, and are safe
// for concurrent use.
//
// What goes over it is judged twice: a cut strikes what is sent while it lasts,
// and what would arrive then. What is between those, because it is held or slow,
// is under way.
type Link struct {
	From, To string

	network    *Network
	raw        bool
	proxy      *toxiproxy.Proxy
	addr       string
	unfinished sync.WaitGroup // connections and what reads for them

	// mu guards what follows, and the fields of connections that say so
	mu       sync.Mutex
	ways     [2]way
	refusals []*refusal
	conns    map[*Conn]struct{}
	opened   uint64 // connections so far
	opening  *Conn  // the one that has one direction
	closed   bool
}

// The directions as indices.
const (
	toNode = iota
	toClient
)

var directions = [...]faults.Direction{toNode: faults.ToNode, toClient: faults.ToClient}

// way is one direction of a link.
type way struct {
	cuts  int // faults that cut it now
	holds int
	extra time.Duration
}

// Addr is the address that the client connects to, on 127.0.0.1.
func (l *Link) Addr() string { return l.addr }

// Cut loses what is sent in that direction and what would arrive. A connection
// that loses something is torn: nothing that is sent afterwards is carried, in
// either direction, as its ends no longer agree. Cuts are counted: each has a Mend.
func (l *Link) Cut(d faults.Direction) { l.on(d, func(dir int) { l.ways[dir].cuts++ }) }

// Mend takes back a Cut. When no direction is cut any more, the torn connections
// are reset, those that a hook has torn too.
func (l *Link) Mend(d faults.Direction) {
	l.on(d, func(dir int) {
		l.ways[dir].cuts = max(l.ways[dir].cuts-1, 0)
		if l.ways[toNode].cuts > 0 || l.ways[toClient].cuts > 0 {
			return
		}
		for c := range l.conns {
			if c.torn {
				c.end()
			}
		}
	})
}

// Hold keeps what is sent in that direction, in order. Holds are counted: each has a
// Release.
func (l *Link) Hold(d faults.Direction) { l.on(d, func(dir int) { l.ways[dir].holds++ }) }

// Release takes back a Hold. The last one delivers what was kept, also what a
// client had sent that has hung up since.
func (l *Link) Release(d faults.Direction) {
	l.on(d, func(dir int) {
		l.ways[dir].holds = max(l.ways[dir].holds-1, 0)
		if l.ways[dir].holds > 0 {
			return
		}
		for c := range l.conns {
			c.halves[dir].release(l.ways[dir].extra)
		}
	})
}

// Slow adds to the latency of what is sent in that direction from now on; a
// negative time takes it off again. The order is kept, so what is sent waits for
// what was sent before.
func (l *Link) Slow(d faults.Direction, by time.Duration) {
	l.on(d, func(dir int) { l.ways[dir].extra += by })
}

// Reset ends the open connections at both ends. What is under way on them is lost.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.end()
	}
}

// refusal is an error that is answered for the time being.
type refusal struct {
	names []string // all when empty
	text  string
}

// Refuse answers commands of those names, in capitals, with an error in the
// server's place and in their turn; when there are no names, all commands but those
// that set a connection up. It
// strikes commands that arrive from now until relent is called. Of several
// refusals the oldest counts. The server does not know of it: in a transaction it
// executes what was not refused.
func (l *Link) Refuse(names []string, text string) (relent func()) {
	r := &refusal{slices.Clone(names), text}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals = append(l.refusals, r)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refusals = slices.DeleteFunc(l.refusals, func(o *refusal) bool { return o == r })
	}
}

// settingUp are the commands that a client's library sends of its own accord.
var settingUp = []string{"HELLO", "CLIENT", "AUTH", "SELECT", "COMMAND", "READONLY"}

// refuses returns the refusal that strikes a command, nil for none. The caller
// holds l.mu.
func (l *Link) refuses(name string) *refusal {
	for _, r := range l.refusals {
		if len(r.names) == 0 && !slices.Contains(settingUp, name) || slices.Contains(r.names, name) {
			return r
		}
	}
	return nil
}

// on applies do to each direction that d covers.
func (l *Link) on(d faults.Direction, do func(dir int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for dir, one := range directions {
		if d.Covers(one) {
			do(dir)
		}
	}
}

// shut ends what is open, and what is still accepted.
func (l *Link) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for c := range l.conns {
		c.end()
	}
}
