package harness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/impls/catalog"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// sound are the locks that keep their promises as long as no lease ends under
// the work.
func sound() []impls.Version {
	all := variants()
	for _, name := range []string{
		"lua-release", "spin-tool", "watchdog", "redislock", "redsync",
		"notify", "fair", "read-write", "multi", "fenced", "redlock", "redlock-fenced", "reentrant",
	} {
		all = append(all, mustLookup(name))
	}
	none := broken.None
	return append(all, broken.Single(none), broken.Renewing(none), broken.Fenced(none), broken.Fair(none), broken.Shared(none),
		broken.Several(none), broken.Reentrant(none), broken.Quorum(none), broken.QuorumFenced(none))
}

func mustLookup(name string) impls.Version {
	v, ok := catalog.Lookup(name)
	if !ok {
		panic(name)
	}
	return v
}

// kept are the promises that no fault of benign can break: with any of them an
// outcome may stay unknown, a wait be in vain and a client die, but a lease is
// never used up by the work.
var kept = []string{"mutual-exclusion", "stale-use", "linearizable", "ownership", "honesty", "no-deadlock", "no-orphan", "no-lost-update"}

// chance is what a scenario of chance is drawn from.
type chance struct{ *rand.Rand }

func (c chance) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.Int64N(int64(most-least)+1))
}

// benign returns a scenario of chance in which every lease outlasts its section:
// work of at most TTL/3, and everything that can come on top of it (one pause
// and one hold of at most TTL/4 per client, an answer that takes a read time-out
// of 3 s) within the rest. The store's links are left alone: a write that is
// late is late whatever the lock.
func benign(seed uint64) *scenarios.Scenario {
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	s := c.scenario(fmt.Sprintf("benign-%d", seed))
	ttl, w := s.Lock.TTL, s.Workload
	paused := map[string]bool{}
	for range c.IntN(7) {
		client := scenarios.ClientName(1 + c.IntN(w.Clients))
		step := faults.Step{Fault: c.fault(client), When: c.trigger(client, w.Work), For: c.between(time.Millisecond, ttl/4)}
		switch f := step.Fault.(type) {
		case faults.Pause:
			if paused[client] {
				continue
			}
			paused[client] = true
		case faults.Reset, faults.Crash:
			step.For = 0
		case faults.Drop:
			picked := c.somewhere()
			if picked.Point = faults.BeforeSend; f.What == faults.Reply {
				picked.Point = faults.Applied
			}
			step.For, step.When = 0, wire(client, picked)
		}
		s.Steps = append(s.Steps, step)
	}
	return s
}

// scenario is one without faults, whose work takes at most a third of the TTL.
func (c chance) scenario(name string) *scenarios.Scenario {
	s := plain(name)
	ttl := c.between(25*time.Second, 40*time.Second).Truncate(time.Millisecond) // Redis counts no finer
	s.Lock.TTL, s.Lock.Wait = ttl, c.between(0, ttl+ttl/2)
	w := &s.Workload
	w.Resource = []string{"register", "counter", "stock"}[c.IntN(3)]
	w.Clients, w.Rounds = 2+c.IntN(5), 1+c.IntN(3)
	w.Stagger, w.Think = c.between(0, 2*time.Second), c.between(0, 5*time.Second)
	w.Heed = c.IntN(2) == 0
	switch c.IntN(4) {
	case 0:
		w.Work = c.between(0, ttl/3)
	case 1:
		w.Work, w.Think, w.Stagger = c.between(0, 20*time.Millisecond), 0, 0
	default:
		w.Work = c.between(0, time.Second)
	}
	return s
}

// fault is one that concerns the client.
func (c chance) fault(client string) faults.Fault {
	node := scenarios.NodeName(1)
	if c.IntN(2) == 0 {
		node = scenarios.NodeName(1 + c.IntN(5))
	}
	link := to(client, node)
	way := []faults.Direction{faults.Both, faults.ToNode, faults.ToClient}[c.IntN(3)]
	switch c.IntN(9) {
	case 0, 1:
		return faults.Pause{Client: client}
	case 2:
		return faults.Hold{Link: link, Direction: way}
	case 3:
		return faults.Cut{Link: link, Direction: way}
	case 4:
		return faults.Slow{Link: link, Direction: way, By: c.between(0, 1500*time.Millisecond)}
	case 5:
		return faults.Reset{Link: link}
	case 6:
		return faults.Crash{Client: client}
	case 7:
		return faults.Stop{Node: node}
	default:
		return faults.Drop{What: []faults.Message{faults.Request, faults.Reply}[c.IntN(2)]}
	}
}

// trigger is a time, something that the client does, or a command of its.
func (c chance) trigger(client string, work time.Duration) faults.Trigger {
	switch c.IntN(3) {
	case 0:
		return at(c.between(0, 10*time.Second))
	case 1:
		events := faults.Events()
		t := when(client, events[c.IntN(len(events))], c.between(0, work+time.Second))
		t.Nth = 1 + c.IntN(2)
		return t
	default:
		return wire(client, c.somewhere())
	}
}

// somewhere picks a command on the wire.
func (c chance) somewhere() faults.Wire {
	w := faults.Wire{Command: 1 + c.IntN(6), Point: faults.Points()[c.IntN(3)]}
	switch c.IntN(3) {
	case 0:
		w.During = faults.Phases()[c.IntN(3)]
		w.Command = 1 + c.IntN(2)
	case 1:
		w.Command, w.Names = 0, []string{"SET", "EVAL", "EVALSHA"}
	}
	return w
}

// onOneNode moves the steps of a scenario to the one node that there is.
func onOneNode(s *scenarios.Scenario, v impls.Version) *scenarios.Scenario {
	if v.Traits.Quorum {
		return s
	}
	one := *s
	one.Steps = nil
	for _, step := range s.Steps {
		switch f := step.Fault.(type) {
		case faults.Hold:
			f.Link.Node = "redis-1"
			step.Fault = f
		case faults.Cut:
			f.Link.Node = "redis-1"
			step.Fault = f
		case faults.Slow:
			f.Link.Node = "redis-1"
			step.Fault = f
		case faults.Reset:
			f.Link.Node = "redis-1"
			step.Fault = f
		case faults.Stop:
			f.Node = "redis-1"
			step.Fault = f
		}
		one.Steps = append(one.Steps, step)
	}
	return &one
}

// spared leaves out what loses answers, for a re-entrant lock. Its owner is the
// handle and not the grant, so that one of which it has not heard counts all the
// same, and has to be given back.
func spared(s *scenarios.Scenario, v impls.Version) *scenarios.Scenario {
	if !v.Traits.Reentrant {
		return s
	}
	one := *s
	one.Steps = slices.DeleteFunc(slices.Clone(s.Steps), func(step faults.Step) bool {
		switch f := step.Fault.(type) {
		case faults.Pause:
			return f.Node != ""
		case faults.Slow:
			return f.By > time.Second // the client library waits for 3 s
		case faults.Drop, faults.Cut, faults.Hold, faults.Reset, faults.Stop, faults.Refuse, faults.Cancel:
			return true
		}
		return false
	})
	return &one
}

// A correct lock is never accused, whatever goes wrong around it. That a step
// never happened is no matter here: what did happen must still be judged right.
func TestSoundLocksAreNotAccused(t *testing.T) {
	bubble.Use(t)
	locks := sound()
	seeds := upTo(40, 360, 900)
	each := upTo(1, 1, len(locks)) // locks of each seed, in turn
	side(seeds*each, func(i int) {
		seed, v := uint64(i/each+1), locks[i%len(locks)]
		p := pair{spared(onOneNode(benign(seed), v), v), v}
		out := mustRun(t, p, seed)
		for _, name := range kept {
			if got := verdict(out, name); got.Verdict == checker.Violated {
				t.Errorf("%v, seed %d: accused of %s%s", p, seed, name, tell(out))
				tellSteps(t, p, seed)
				return
			}
		}
	})
}

// tellSteps logs what a run was asked to be.
func tellSteps(t *testing.T, p pair, seed uint64) {
	t.Helper()
	for _, s := range p.scenario.Steps {
		t.Logf("%v, seed %d: %v", p, seed, s)
	}
	t.Logf("%v, seed %d: TTL %v, wait %v, %+v, %+v", p, seed, p.scenario.Lock.TTL, p.scenario.Lock.Wait, p.scenario.Topology, p.scenario.Workload)
}
