package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lockpick/checker/history"
)

// The random histories that the checks are tried on. Each check is compared with a
// dumb one, in its own test file, that follows the promise's words. Each history follows from its seed alone.

// script writes a random history, record by record.
type script struct {
	*rand.Rand
	h   *history.History
	now time.Duration
	id  int
}

func newScript(seed uint64, clients ...string) *script {
	return &script{Rand: rand.New(rand.NewPCG(seed, 1)), h: &history.History{
		Complete: true,
		Header: history.Header{
			Lockpick: history.Format, Scenario: "random", Version: "none", Testbed: "none",
			Topology: history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1},
			Lock:     history.Lock{Key: "k", TTL: 4},
			Workload: history.Workload{Resource: "register", Clients: clients},
		},
	}}
}

func (s *script) add(r history.Record) {
	r.T = s.now
	s.h.Records = append(s.h.Records, r)
}

// tick lets up to three instants pass; often none.
func (s *script) tick() { s.now += time.Duration(max(0, s.IntN(5)-1)) }

func (s *script) begin(r history.Record) history.Record {
	s.id++
	r.ID, r.Kind = s.id, history.Invoke
	s.add(r)
	return r
}

func (s *script) finish(r history.Record, kind history.Kind) {
	r.Kind = kind
	s.add(r)
}

func (s *script) end() *history.History {
	s.tick()
	s.add(history.Record{Who: history.World, Kind: history.Note, Op: history.End})
	return s.h
}

// lockHistory lets clients acquire, extend, lose, release, pause and crash at
// random.
func lockHistory(seed uint64) *history.History {
	names := []string{"client-1", "client-2", "client-3"}
	s := newScript(seed, names...)
	clients := map[string]*actor{}
	for _, n := range names {
		clients[n] = &actor{name: n}
	}
	for range 6 + s.IntN(30) {
		s.tick()
		clients[names[s.IntN(len(names))]].act(s)
	}
	return s.end()
}

// actor is a client of a random history.
type actor struct {
	name   string
	busy   *history.Record // the operation that is open
	held   bool
	round  int
	dead   bool
	paused bool
}

// act does one thing at random.
func (c *actor) act(s *script) {
	switch {
	case c.dead:
	case s.IntN(25) == 0:
		c.dead = true
		s.add(history.Record{Who: history.World, Kind: history.Fault, Op: "crash", Target: c.name, Text: history.Struck})
	case s.IntN(12) == 0:
		text := history.Struck
		if c.paused {
			text = history.Healed
		}
		c.paused = !c.paused
		s.add(history.Record{Who: history.World, Kind: history.Fault, Op: "pause", Target: c.name, Text: text})
	case c.busy != nil:
		c.finish(s)
	case !c.held:
		c.round++
		r := s.begin(history.Record{Who: c.name, Op: history.Acquire, Round: c.round})
		c.busy = &r
	default:
		c.useLease(s)
	}
}

// finish ends the open operation.
func (c *actor) finish(s *script) {
	r := *c.busy
	kind := []history.Kind{history.OK, history.OK, history.Fail, history.Unknown}[s.IntN(4)]
	if kind == history.OK && r.Op != history.Release {
		if s.IntN(2) == 0 {
			r.Until = s.now + time.Duration(s.IntN(12)) - 2
		}
		r.Until = max(r.Until, 0)
		c.held = true
	}
	if kind == history.OK && r.Op == history.Acquire {
		r.Owner = fmt.Sprint(c.name, r.Round)
	}
	s.finish(r, kind)
	c.busy = nil
}

// useLease loses the lease, or begins to extend or release it.
func (c *actor) useLease(s *script) {
	r := history.Record{Who: c.name, Op: history.Release, Round: c.round, Owner: fmt.Sprint(c.name, c.round)}
	switch s.IntN(5) {
	case 0:
		r.Kind, r.Op = history.Observe, history.Lost
		s.add(r)
		return
	case 1:
		r.Op = history.Extend
	default:
		c.held = false
	}
	r = s.begin(r)
	c.busy = &r
}

func lastInstant(h *history.History) time.Duration { return h.Records[len(h.Records)-1].T }

func mustBoth(t *testing.T, counts map[Verdict]int) {
	t.Helper()
	t.Log(counts)
	if counts[Holds] < 200 || counts[Violated] < 200 {
		t.Errorf("the random histories are one-sided: %v", counts)
	}
}

func show(h *history.History) string {
	out := ""
	for i, r := range h.Records {
		out += fmt.Sprintf("%d: %d %s %s %s id=%d round=%d owner=%s until=%d %s %s\n", history.Line(i), r.T, r.Who, r.Kind, r.Op, r.ID, r.Round, r.Owner, r.Until, r.Target, r.Text)
	}
	return out
}

// resourceHistory lets three clients read and write a resource at random. Half
// of the values that they read are what the resource had at some time.
func resourceHistory(seed uint64) *history.History {
	names := []string{"client-1", "client-2", "client-3"}
	s := newScript(seed, names...)
	counter := s.IntN(2) == 0
	if counter {
		s.h.Header.Workload.Resource = "counter"
	}
	value := int64(0)
	type state struct {
		busy  *history.Record
		read  *int64
		round int
	}
	clients := map[string]*state{}
	for _, n := range names {
		clients[n] = &state{round: 1}
	}
	writes := 0
	for range 40 {
		s.tick()
		name := names[s.IntN(len(names))]
		c := clients[name]
		switch {
		case c.busy != nil && c.busy.Op == history.Read:
			r := *c.busy
			c.busy = nil
			v := value
			if s.IntN(4) == 0 {
				v = int64(s.IntN(4))
			}
			r.Value = history.Int(v)
			c.read = r.Value
			s.finish(r, history.OK)
		case c.busy != nil:
			r := *c.busy
			c.busy, c.read = nil, nil
			kind := []history.Kind{history.OK, history.OK, history.OK, history.Unknown, history.Fail}[s.IntN(5)]
			if kind == history.OK || kind == history.Unknown && s.IntN(2) == 0 {
				value = *r.Value
			}
			s.finish(r, kind)
			c.round++
		case writes < 6 && (c.read != nil || s.IntN(20) == 0):
			writes++
			v := int64(s.IntN(4))
			if c.read != nil && counter {
				v = *c.read + 1
			}
			r := s.begin(history.Record{Who: name, Op: history.Write, Round: c.round, Value: &v})
			c.busy = &r
		case writes < 6 && s.IntN(3) == 0:
			r := s.begin(history.Record{Who: name, Op: history.Read, Round: c.round})
			c.busy = &r
		}
	}
	if s.IntN(2) == 0 {
		s.now += 2
		s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Keys, Value: history.Int(value)})
	}
	return s.end()
}

// usedHistory is a few sections of one client at a time, with the node's record
// of the key and the store's of the writes. Round and owner go together.
func usedHistory(seed uint64) *history.History {
	s := newScript(seed, "client-1")
	node := func(op, owner string, ttl time.Duration) {
		s.add(history.Record{Who: "redis-1", Kind: history.Observe, Op: op, Key: "k", Owner: owner, Holder: "client-1", Client: "client-1", TTL: ttl})
	}
	for round := 1; round <= 2; round++ {
		owner := fmt.Sprint("owner", round)
		me := history.Record{Who: "client-1", Round: round}
		s.now++
		r := me
		r.Op = history.Acquire
		r = s.begin(r)
		s.now++
		gone := false
		node(history.Granted, owner, 4)
		s.now++
		r.Owner = owner
		if s.IntN(2) == 0 {
			r.Until = s.now + time.Duration(s.IntN(15))
		}
		s.finish(r, history.OK)
		r = me
		r.Op, r.Owner = history.Release, owner
		for range s.IntN(7) {
			s.now += time.Duration(s.IntN(3))
			switch o := me; s.IntN(6) {
			case 0, 1:
				o.Op = history.Read
				o = s.begin(o)
				o.Value = history.Int(0)
				s.finish(o, history.OK)
			case 2, 3:
				o.Op, o.Value = history.Write, history.Int(int64(s.id))
				o = s.begin(o)
				s.now += time.Duration(s.IntN(4))
				s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Apply, Client: "client-1", Value: o.Value})
				s.finish(o, history.OK)
			case 4:
				if !gone {
					s.now++
					node(history.Expired, owner, 0)
					gone = true
				}
			case 5:
				o.Kind, o.Op, o.Owner = history.Observe, history.Lost, owner
				s.add(o)
			}
		}
		s.now++
		r = s.begin(r)
		s.now++
		if !gone {
			node(history.Deleted, owner, 0)
		}
		s.finish(r, history.OK)
	}
	return s.end()
}
