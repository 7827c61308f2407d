package sim

import (
	"fmt"
	"time"

	"lockpick/faults"
)

// address gives lock node i an IP literal: a host name would make go-redis ask
// the real DNS inside of the bubble.
func address(i int) string { return fmt.Sprintf("10.0.0.%d:6379", i+1) }

type linkKey struct{ client, node string }

// link is what ties a client to a node: connections, and what is wrong with it.
type link struct {
	world  *world
	client *client
	node   string
	number uint64 // orders events of one instant; its latencies follow from it

	opened uint64  // connections so far
	conns  []*conn // the open ones
	ways   [2]way
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
	arrive := func() {
		at := max(l.world.Now()+l.latency(dir, seq)+w.extra, s.last)
		s.last = at
		l.world.push(&event{at: at, source: 1 + l.number<<1 | uint64(dir), seq: seq, do: deliver})
	}
	if w.holds > 0 {
		w.held = append(w.held, arrive)
	} else {
		arrive()
	}
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

func always(*conn) bool { return true }
