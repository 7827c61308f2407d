package harness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// downAfter is how long a primary must be silent until it is replaced.
const downAfter = 5 * time.Second

// around returns a scenario of chance, like benign, in which the world around the
// clients is hurt: nodes stand still and restart, clocks move, scripts are
// forgotten, commands refused, sections called off; and where there are replicas
// and Sentinels, those are hurt and cut off, too, or the primary dies.
//
// What would take an acknowledged grant away is left out, since no lock on one
// node survives it: the primary is replaced only while a client has worked under
// the lock for a while, so that the replicas have it, and then nothing else happens to
// the nodes; otherwise it is never silent for so long that it is replaced.
func around(seed uint64) *scenarios.Scenario {
	c := chance{rand.New(rand.NewPCG(seed, 1))}
	s := c.scenario(fmt.Sprintf("around-%d", seed))
	w := &s.Workload
	replicated := c.IntN(3) > 0
	dies := replicated && c.IntN(2) == 0
	if replicated {
		s.Topology = scenarios.Topology{Redis: scenarios.Sentinel, Quorum: 5, Replicas: 2, DownAfter: downAfter, MaxLag: 2 * downAfter}
	}
	if dies {
		w.Work = c.between(time.Second, s.Lock.TTL/3)
		s.Steps = append(s.Steps, faults.Step{
			Fault: faults.Stop{Node: "redis-1"}, For: c.between(2*downAfter, time.Minute), // else it may grant the lock as it is replaced
			When: when("client-1", faults.Acquired, c.between(50*time.Millisecond, w.Work/2)),
		})
	}
	hurt := map[string]bool{} // once each: two pauses in a row are a long one
	for range 1 + c.IntN(6) {
		client := scenarios.ClientName(1 + c.IntN(w.Clients))
		f, most := c.trouble(s, client, dies)
		step := faults.Step{Fault: f, When: c.trigger(client, w.Work)}
		if most > 0 {
			step.For = c.between(time.Millisecond, most)
		}
		switch f.(type) {
		case faults.Pause, faults.Stop, faults.Partition:
			if hurt[f.Target()] || hurt["redis-1"] && strings.Contains(f.Target(), "redis-1") {
				continue
			}
			hurt[f.Target()] = true
		}
		s.Steps = append(s.Steps, step)
	}
	return s
}

// trouble is a fault and how long it may last; 0 for one that does not last.
func (c chance) trouble(s *scenarios.Scenario, client string, dies bool) (faults.Fault, time.Duration) {
	ttl := s.Lock.TTL
	switch c.IntN(10) {
	case 9:
		return faults.Drift{Node: c.node(s), Rate: 0.5 + c.Float64()/2}, ttl
	case 0:
		return faults.Pause{Client: client}, ttl / 4
	case 1:
		return faults.Slow{Link: to(client, "redis-1"), Direction: faults.Both, By: c.between(0, time.Second)}, ttl / 4
	case 2:
		return faults.Clock{Client: client, Jump: c.between(-time.Hour, time.Hour)}, 0
	case 3:
		return faults.ForgetScripts{Node: c.node(s)}, 0
	case 4:
		return faults.Cancel{Client: client}, 0
	case 5:
		all := faults.Refusals()
		return faults.Refuse{Node: c.node(s), With: all[c.IntN(len(all))]}, ttl / 4
	case 6:
		return faults.Reset{Link: to(client, c.node(s))}, 0
	}
	if s.Topology.Redis == scenarios.Single {
		if c.IntN(2) == 0 {
			return faults.Stop{Node: "redis-1"}, ttl
		}
		return faults.Pause{Node: "redis-1"}, ttl / 4
	}
	bystanders := []string{"sentinel-1"} // who may be away
	if !dies {
		bystanders = append(bystanders, "redis-2", "redis-3")
	}
	one := bystanders[c.IntN(len(bystanders))]
	switch n := c.IntN(6); {
	case n == 0 && !dies:
		return faults.Pause{Node: "redis-1"}, downAfter / 2
	case n == 1 && !dies:
		return faults.Stop{Node: "redis-1"}, downAfter / 2
	case n == 2:
		return faults.Partition{Side: []faults.Use{{Name: one, Kind: faults.Node}}}, time.Minute
	case n == 3:
		return faults.Cut{Link: faults.Link{Peer: one, Node: "redis-1"}, Direction: faults.Both}, time.Minute
	case n == 4:
		return faults.Stop{Node: one}, time.Minute
	default:
		return faults.Pause{Node: one}, time.Minute
	}
}

// node is one of those that every topology of the scenario has.
func (c chance) node(s *scenarios.Scenario) string {
	if s.Topology.Redis == scenarios.Single {
		return "redis-1"
	}
	return scenarios.NodeName(1 + c.IntN(1+s.Topology.Replicas))
}

// fitted is the scenario as it is for one version: without what strikes nodes that
// the version does not have, with readers for one that has a shared mode, several
// keys, and nested sections.
func fitted(s *scenarios.Scenario, v impls.Version) *scenarios.Scenario {
	one := *spared(s, v)
	one.Steps = slices.DeleteFunc(slices.Clone(one.Steps), func(step faults.Step) bool {
		for _, u := range step.Fault.Uses() {
			if v.Traits.Quorum && strings.HasPrefix(u.Name, "sentinel") {
				return true
			}
		}
		return false
	})
	w := &one.Workload
	if v.Traits.Reentrant {
		w.Nest, w.Releases = 2, 2
	}
	if v.Traits.Shared && !slices.ContainsFunc(one.Steps, func(step faults.Step) bool { _, stops := step.Fault.(faults.Stop); return stops }) {
		w.Readers = one.Clients()[:w.Clients/2]
	}
	if v.Traits.Multi {
		one.Lock.Also = []string{"account:7"}
	}
	return &one
}

// keeps lists what the version promises, and none of around's faults can break.
func keeps(v impls.Version) []string {
	all := slices.Clone(kept)
	if v.Traits.Fencing {
		all = append(all, "fencing")
	}
	if v.Traits.Reentrant {
		all = append(all, "reentrancy")
	}
	if v.Traits.Fair {
		all = append(all, "fairness")
	}
	return all
}

// A correct lock is never accused, whatever becomes of the servers around it.
func TestSoundLocksAreNotAccusedOfTheWorld(t *testing.T) {
	bubble.Use(t)
	locks := append(sound(), mustLookup("wait-replicas"))
	seeds := upTo(40, 240, 900)
	each := upTo(1, 1, len(locks))
	var failovers atomic.Int64
	side(seeds*each, func(i int) {
		seed, v := uint64(i/each+1), locks[i%len(locks)]
		sc := around(seed)
		if v.Traits.Replicas && sc.Topology.Redis == scenarios.Single {
			return
		}
		p := pair{fitted(sc, v), v}
		out := mustRun(t, p, seed)
		failovers.Add(int64(count(out.History, func(r history.Record) bool {
			return r.Op == history.Role && r.Text == history.Primary && r.T > 0
		})))
		for _, name := range keeps(v) {
			if got := verdict(out, name); got.Verdict == checker.Violated {
				t.Errorf("%v, seed %d: accused of %s%s", p, seed, name, tell(out))
				tellSteps(t, p, seed)
				return
			}
		}
	})
	if n := failovers.Load(); n < int64(seeds/20) {
		t.Errorf("only %d nodes became a primary in %d runs", n, seeds*each)
	}
}
