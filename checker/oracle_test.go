package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
)

// The tests here compare the checks with dumb ones, which follow the promise's
// words, on small random histories. Each history follows from its seed alone.

// script writes a random history, record by record.
type script struct {
	*rand.Rand
	h    *history.History
	now  time.Duration
	open []history.Record // invokes
	id   int
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
	type state struct {
		busy   *history.Record // the operation that is open
		held   bool
		round  int
		dead   bool
		paused bool
	}
	clients := map[string]*state{}
	for _, n := range names {
		clients[n] = &state{}
	}
	for range 6 + s.IntN(30) {
		s.tick()
		name := names[s.IntN(len(names))]
		c := clients[name]
		switch {
		case c.dead:
		case s.IntN(25) == 0:
			c.dead = true
			s.add(history.Record{Who: history.World, Kind: history.Fault, Op: "crash", Target: name, Text: history.Struck})
		case s.IntN(12) == 0:
			text := history.Struck
			if c.paused {
				text = history.Healed
			}
			c.paused = !c.paused
			s.add(history.Record{Who: history.World, Kind: history.Fault, Op: "pause", Target: name, Text: text})
		case c.busy != nil:
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
				r.Owner = fmt.Sprint(name, r.Round)
			}
			s.finish(r, kind)
			c.busy = nil
		case !c.held:
			c.round++
			r := s.begin(history.Record{Who: name, Op: history.Acquire, Round: c.round})
			c.busy = &r
		default:
			r := history.Record{Who: name, Op: history.Release, Round: c.round, Owner: fmt.Sprint(name, c.round)}
			switch s.IntN(5) {
			case 0:
				r.Kind, r.Op = history.Observe, history.Lost
				s.add(r)
				continue
			case 1:
				r.Op = history.Extend
			default:
				c.held = false
			}
			r = s.begin(r)
			c.busy = &r
		}
	}
	return s.end()
}

// believes says, from the records alone, whether the client believes in a lease
// throughout the instants between t and the next nanosecond.
func believes(h *history.History, name string, t time.Duration) bool {
	type belief struct {
		round int
		until time.Duration
	}
	var b *belief
	lost := map[int]bool{}
	for _, r := range h.Records {
		if r.T > t {
			break
		}
		if r.Op == "crash" && r.Target == name {
			return false
		}
		if r.Who != name {
			continue
		}
		switch {
		case r.Op == history.Acquire && r.Kind == history.OK:
			b = &belief{r.Round, r.Until}
		case r.Op == history.Release && r.Kind == history.Invoke && b != nil && b.round == r.Round:
			b = nil
		case r.Op == history.Lost:
			lost[r.Round] = true
		case r.Op == history.Extend && r.Kind == history.OK && b != nil && b.round == r.Round:
			b.until = r.Until
		}
	}
	return b != nil && !lost[b.round] && (b.until == 0 || t < b.until)
}

func lastInstant(h *history.History) time.Duration { return h.Records[len(h.Records)-1].T }

func TestMutualExclusionOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(20_000) {
		h := lockHistory(seed)
		want := Holds
		for now := range lastInstant(h) {
			n := 0
			for _, c := range h.Header.Workload.Clients {
				if believes(h, c, now) {
					n++
				}
			}
			if n > 1 {
				want = Violated
			}
		}
		res := mutualExclusion().Judge(h)
		if res.Verdict == Unknown && want == Holds {
			continue // nobody tried
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

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

func TestAvailabilityOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(20_000) {
		h := lockHistory(seed)
		h.Header.Bounds.Availability = 5
		want := dumbAvailability(h)
		got := availability().Judge(h).Verdict
		if got != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, availability().Judge(h), want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// dumbAvailability looks at every nanosecond.
func dumbAvailability(h *history.History) Verdict {
	end := lastInstant(h)
	verdict, judged := Holds, false
	for i, r := range h.Records {
		if r.Op != history.Acquire || r.Kind != history.Invoke {
			continue
		}
		until, failed := end, false
		for _, e := range h.Records[i+1:] {
			if e.ID == r.ID {
				until, failed = e.T, e.Kind != history.OK
			}
		}
		if !allRunning(h, r.Who, r.T, until) {
			continue
		}
		judged = true
		free := time.Duration(0)
		for now := r.T; now < until; now++ {
			free++
			if slices.ContainsFunc(h.Header.Workload.Clients, func(c string) bool {
				return believes(h, c, now) && running(h, c, now)
			}) {
				free = 0
			}
			if free > 5 {
				verdict = Violated
			}
		}
		if failed && !touches(h, r.T, until) {
			verdict = Violated
		}
	}
	if !judged {
		return Unknown
	}
	return verdict
}

// running says whether the client was neither paused nor dead right after t.
func running(h *history.History, name string, t time.Duration) bool {
	paused := false
	for _, r := range h.Records {
		if r.T > t {
			break
		}
		if r.Target == name && r.Op == "crash" {
			return false
		}
		if r.Target == name && r.Op == "pause" {
			paused = r.Text == history.Struck
		}
	}
	return !paused
}

// allRunning is strict: a fault that only touches the time counts.
func allRunning(h *history.History, name string, from, to time.Duration) bool {
	if !running(h, name, max(from-1, 0)) && from > 0 || !running(h, name, from) {
		return false
	}
	for _, r := range h.Records {
		if r.Target == name && r.T >= from && r.T <= to {
			return false
		}
	}
	return true
}

// touches reports whether what a running client handled has so much as an
// instant in common with the time.
func touches(h *history.History, from, to time.Duration) bool {
	for _, name := range h.Header.Workload.Clients {
		for _, s := range handled(h, name) {
			for now := s.from; now < s.to; now++ {
				if running(h, name, now) && now <= to && now+1 >= from {
					return true
				}
			}
		}
	}
	return false
}

// handled is from when to when the client was getting its leases, had them, or
// was giving them back.
func handled(h *history.History, name string) []span {
	end := lastInstant(h)
	begun := map[int]time.Duration{}
	rounds := map[int]*span{}
	lost := map[int]bool{}
	for _, r := range h.Records {
		if r.Who != name {
			continue
		}
		switch {
		case r.Kind == history.Invoke:
			begun[r.ID] = r.T
			if s := rounds[r.Round]; s != nil && r.Op == history.Release {
				s.to = end
			}
		case r.Op == history.Acquire && r.Kind == history.OK:
			rounds[r.Round] = &span{begun[r.ID], r.T}
		case r.Op == history.Lost:
			lost[r.Round] = true
		case r.Op == history.Extend && r.Kind == history.OK && !lost[r.Round] && rounds[r.Round] != nil:
			rounds[r.Round].to = r.T // it believed again, be it for an instant
		case r.Op == history.Release && rounds[r.Round] != nil:
			rounds[r.Round].to = max(r.T, lastBelief(h, name, r.Round))
		}
	}
	var out []span
	for round, s := range rounds {
		s.to = max(s.to, lastBelief(h, name, round))
		out = append(out, *s)
	}
	return out
}

// lastBelief is when the belief in the round's lease ended for good.
func lastBelief(h *history.History, name string, round int) time.Duration {
	last := time.Duration(0)
	for now := range lastInstant(h) {
		if believes(h, name, now) && current(h, name, now) == round {
			last = now + 1
		}
	}
	return last
}

func current(h *history.History, name string, t time.Duration) int {
	round := 0
	for _, r := range h.Records {
		if r.T <= t && r.Who == name && r.Op == history.Acquire && r.Kind == history.OK {
			round = r.Round
		}
	}
	return round
}
