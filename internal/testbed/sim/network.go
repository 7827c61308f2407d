package sim

import (
	"fmt"
	"syscall"
	"time"

	"lockpick/faults"
)

// address gives lock node i an IP literal: a host name would make go-redis ask
// the real DNS inside of the bubble.
func address(i int) string { return fmt.Sprintf("10.0.0.%d:6379", i+1) }

// sentinelAddress is that of Sentinel i.
func sentinelAddress(i int) string { return fmt.Sprintf("10.0.1.%d:26379", i+1) }

type linkKey struct{ far, node string }

// link is what ties a client to a host, or two hosts to each other: connections,
// and what is wrong with it.
type link struct {
	world  *world
	client *client // nil between two hosts
	far    string  // the end that is not node
	node   string
	number uint64 // orders events of one instant; its latencies follow from it

	opened uint64   // connections so far
	conns  []*conn  // of the client to the node, the open ones
	lines  []*line  // of the client to the Sentinel
	cables []*cable // of the two hosts
	ways   [2]way
}

// between returns the link of two hosts and the direction from the one to the
// other. The caller holds w.mu or is the world's goroutine: links are made before
// the run begins.
func (w *world) between(from, to *host) (*link, int) {
	if l, ok := w.links[linkKey{from.name, to.name}]; ok {
		return l, toNode
	}
	return w.links[linkKey{to.name, from.name}], toClient
}

// linksOf returns every link with that end, in the order of their numbers.
func (w *world) linksOf(name string) []*link {
	var all []*link
	for _, l := range w.wired {
		if l.far == name || l.node == name {
			all = append(all, l)
		}
	}
	return all
}

// wireUp makes a link.
func (w *world) wireUp(c *client, far, node string) {
	l := &link{world: w, client: c, far: far, node: node, number: uint64(len(w.wired))}
	w.links[linkKey{far, node}] = l
	w.wired = append(w.wired, l)
}

// way is one direction of a link.
type way struct {
	cuts  int // faults that cut it now
	holds int
	extra time.Duration
	held  []func() // what a hold keeps, in order
}

// apart keeps what happens on several links from happening at one instant: the
// time-outs of calls that began together, as those of a quorum lock do, end in
// the order of their links.
func (l *link) apart() time.Duration { return time.Duration(l.number) }

// place orders those who wait at the client's gate for this link.
func (l *link) place() uint64 { return (l.number + 1) << 32 }

// The directions as indices.
const (
	toNode = iota
	toClient
)

var directions = [...]faults.Direction{toNode: faults.ToNode, toClient: faults.ToClient}

// stream is one direction of one connection, which keeps its order.
type stream struct {
	torn bool          // it has lost something: nothing that comes after is delivered either
	sent uint64        // messages so far
	last time.Duration // when the newest of them arrives
}

// send lets deliver happen when a message sent now over the stream arrives,
// unless it is lost on the way. The caller holds w.mu.
func (l *link) send(dir int, connNumber uint64, s *stream, deliver func()) {
	w := &l.ways[dir]
	s.sent++
	s.torn = s.torn || w.cuts > 0
	if s.torn {
		return
	}
	seq := connNumber<<32 | s.sent
	if w.holds > 0 {
		w.held = append(w.held, func() { l.carry(dir, seq, s, deliver) })
	} else {
		l.carry(dir, seq, s, deliver)
	}
}

// carry lets deliver happen after the message's latency. The caller holds w.mu.
func (l *link) carry(dir int, seq uint64, s *stream, deliver func()) {
	s.last = max(l.world.Now()+l.latency(dir, seq)+l.ways[dir].extra, s.last)
	l.world.push(event{at: s.last, source: 1 + l.number<<1 | uint64(dir), seq: seq, do: deliver})
}

// latency computes the delay of a message from the seed and the message's place,
// so that it does not matter which goroutine asks first.
func (l *link) latency(dir int, seq uint64) time.Duration {
	h := mix(mix(mix(l.world.spec.Seed)^(l.number<<1|uint64(dir))) ^ seq)
	return MinLatency + time.Duration(h%uint64(MaxLatency-MinLatency))
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", 2014), after its increment.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// reset breaks every open connection, at both ends and at once. The caller holds
// w.mu.
func (l *link) reset(match func(*conn) bool) {
	kept := l.conns[:0]
	for _, c := range l.conns {
		if match(c) {
			c.breakOff()
		} else {
			kept = append(kept, c)
		}
	}
	clear(l.conns[len(kept):])
	l.conns = kept
}

// resetTorn breaks every connection that has lost something: its ends no longer
// agree, and find out when they reach each other again, which another fault may
// still prevent. The caller holds w.mu.
func (l *link) resetTorn() {
	if l.ways[toNode].cuts > 0 || l.ways[toClient].cuts > 0 {
		return
	}
	l.reset((*conn).torn)
	l.resetLines(func(c *line) bool { return c.stream.torn })
	l.resetCables((*cable).torn)
}

// resetAll breaks every connection. The caller holds w.mu.
func (l *link) resetAll() {
	l.reset(func(*conn) bool { return true })
	l.resetLines(func(*line) bool { return true })
	l.resetCables(func(*cable) bool { return true })
}

func (l *link) resetLines(match func(*line) bool) {
	kept := l.lines[:0]
	for _, c := range l.lines {
		if match(c) {
			c.fail(syscall.ECONNRESET)
		} else {
			kept = append(kept, c)
		}
	}
	clear(l.lines[len(kept):])
	l.lines = kept
}
