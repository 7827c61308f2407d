package harness_test

import (
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/internal/harness"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// apart is a partition of the names, of which the clients come first.
func apart(clients int, names ...string) faults.Step {
	var p faults.Partition
	for i, name := range names {
		kind := faults.Node
		if i < clients {
			kind = faults.Client
		}
		p.Side = append(p.Side, faults.Use{Name: name, Kind: kind})
	}
	return faults.Step{Fault: p, For: time.Second, When: at(time.Second)}
}

func sentinels(s *scenarios.Scenario) {
	s.Topology = scenarios.Topology{Redis: scenarios.Sentinel, Quorum: 5, Replicas: 2, DownAfter: 5 * time.Second, MaxLag: 10 * time.Second}
}

func TestSkipByWhatTheVersionCanDo(t *testing.T) {
	quorum, asking := broken.Quorum(broken.None), control
	asking.Traits.Replicas = true
	replicated := quorum
	replicated.Traits.Replicated = true
	strategy := (&changes{}).version()
	stop := func(node string) faults.Step { return faults.Step{Fault: faults.Stop{Node: node}, When: at(0)} }
	cut := func(l faults.Link) faults.Step {
		return faults.Step{Fault: faults.Cut{Link: l, Direction: faults.Both}, When: at(0)}
	}
	readers := workload(func(w *scenarios.Workload) { w.Readers = []string{"client-2"} })
	single, five := "and this version runs on redis-1 alone", "and this version runs on redis-1, redis-2, redis-3, redis-4, redis-5 alone"
	tests := []struct {
		name string
		sc   *scenarios.Scenario
		v    impls.Version
		want string
	}{
		{"a strategy among locks", plain("x"), strategy, "tries locks, and this version is a strategy of the resource, without a lock"},
		{"a strategy that is wanted", bare(), strategy, ""},
		{"a lock among strategies", bare(), control, ""},
		{"a strategy that waits for a lock", bare(with(pause("client-1", 1, when("client-1", faults.Acquired, 0)))), strategy,
			"a step waits for client-1: acquired, and this version has no lock"},
		{"a strategy in a phase of a lock", bare(with(pause("client-1", 1, wire("client-1", faults.Wire{Command: 1, During: faults.InHold, Point: faults.Applied})))),
			strategy, "a step waits for the phase hold of client-1, and this version has no lock"},
		{"a strategy that writes", bare(with(pause("client-1", 1, when("client-1", faults.Writing, 0)), pause("client-1", 1, at(0)),
			pause("client-1", 1, wire("client-1", faults.Wire{Command: 1, Point: faults.Applied})))), strategy, ""},
		{"a lock that waits for its phase", bare(with(pause("client-1", 1, when("client-1", faults.Acquired, 0)))), control, ""},
		{"a strategy without the trait that is needed", bare(func(s *scenarios.Scenario) { s.Needs = map[string][]string{"strategy": {"false"}} }),
			strategy, "needs strategy: false; this version's is true"},

		{"replicas where there are none", plain("x"), asking, "this version asks the primary for its replicas, and a single Redis has none"},
		{"replicas where there are some", plain("x", sentinels), asking, ""},
		{"readers without a shared mode", plain("x", readers), control, "shared mode is for client-2, and this version has none"},
		{"readers", plain("x", readers), shared, ""},
		{"several keys of one", plain("x", func(s *scenarios.Scenario) { s.Needs = map[string][]string{"multi": {"true"}} }),
			made(func(t *impls.Traits) { t.Multi = true }, func(l impls.Lock, _ impls.Env, _ impls.Config) impls.Lock { return l }),
			"needs a lock of several keys, and the scenario's has one"},

		{"a replica of a single node", plain("x", with(stop("redis-2"))), control, "a step strikes redis-2, " + single},
		{"a replica", plain("x", sentinels, with(stop("redis-3"))), control, ""},
		{"a fourth replica", plain("x", sentinels, with(stop("redis-4"))), control,
			"a step strikes redis-4, and this version runs on redis-1, redis-2, redis-3, sentinel-1, sentinel-2, sentinel-3 alone"},
		{"one of five", plain("x", sentinels, with(stop("redis-4"))), quorum, ""},
		{"a Sentinel", plain("x", sentinels, with(stop("sentinel-1"))), control, ""},
		{"a Sentinel of five", plain("x", sentinels, with(stop("sentinel-1"))), quorum, "a step strikes sentinel-1, " + five},
		{"a link between nodes", plain("x", sentinels, with(cut(faults.Link{Peer: "redis-1", Node: "redis-2"}))), control, ""},
		{"a link between nodes that nobody uses", plain("x", sentinels, with(cut(faults.Link{Peer: "redis-1", Node: "redis-2"}))), quorum, ""},
		{"a link between replicas of a quorum", plain("x", with(cut(faults.Link{Peer: "redis-1", Node: "redis-5"}))), replicated, ""},
		{"a link to a replica of a single node", plain("x", with(cut(faults.Link{Peer: "redis-1", Node: "redis-2"}))), control,
			"a step strikes redis-2, " + single},
		{"a link of a Sentinel of five", plain("x", sentinels, with(cut(faults.Link{Peer: "sentinel-1", Node: "redis-2"}))), quorum,
			"a step strikes sentinel-1, " + five},
		{"the store", plain("x", with(cut(to("client-1", "store")))), control, ""},

		{"a partition", plain("x", sentinels, with(apart(1, "client-1", "redis-1", "sentinel-1"))), control, ""},
		{"a partition without its Sentinel", plain("x", sentinels, with(apart(1, "client-1", "redis-1", "sentinel-1"))), quorum, ""},
		{"a partition of a client alone", plain("x", with(apart(1, "client-1", "redis-2"))), control, ""},
		{"a partition of nobody", plain("x", with(apart(0, "redis-2", "redis-3"))), control,
			"a partition leaves nobody on one side, for this version runs on redis-1 alone"},
		{"a partition from nobody", plain("x", with(apart(2, "client-1", "client-2", "redis-1", "store"))), control,
			"a partition leaves nobody on one side, for this version runs on redis-1 alone"},
		{"a partition from the store", plain("x", with(apart(2, "client-1", "client-2", "redis-1"))), control, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := harness.Skip(tt.sc, tt.v); got != tt.want {
				t.Errorf("Skip = %q, want %q", got, tt.want)
			}
		})
	}
}

// The testbed is told only of those who are there, and the scenario stays as it is.
func TestPartitionOfThoseWhoAreThere(t *testing.T) {
	bubble.Use(t)
	sc := plain("split", sentinels, with(apart(1, "client-1", "redis-1", "sentinel-1"), apart(1, "client-2", "sentinel-3", "redis-2", "store")))
	out, spy := mustSpy(t, pair{sc, broken.Quorum(broken.None)})
	slices.SortFunc(spy.sides, slices.Compare)
	want := [][]string{{"client-1", "redis-1"}, {"client-2", "redis-2", "store"}}
	if !slices.EqualFunc(spy.sides, want, slices.Equal) {
		t.Errorf("partitions of %q, want %q", spy.sides, want)
	}
	for _, target := range []string{"client-1, redis-1 from the rest", "client-2, redis-2, store from the rest"} {
		n := count(out.History, func(r history.Record) bool { return r.Kind == history.Fault && r.Target == target })
		if n != 2 {
			t.Errorf("%d records of %s, want that it was struck and healed", n, target)
		}
	}
	if got := sc.Steps[0].Fault.Target(); got != "client-1, redis-1, sentinel-1 from the rest" {
		t.Errorf("the scenario's step has become %s", got)
	}
}
