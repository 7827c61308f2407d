// Package harness runs one scenario with one version on one testbed, once: it
// lets the clients work, sets off the faults, looks at what is left, and has the
// recorded history judged.
//
// It knows no testbed by name and prints nothing. The scenario's expectation is
// compared with the verdicts at the very end and touches nothing before.
//
// The rule that surprises: a step that never happened makes the run undecided,
// whatever the checks say: the scenario did not take place.
package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/scenarios"
)

// Setup is what Do needs for a run.
type Setup struct {
	Scenario *scenarios.Scenario
	Version  impls.Version
	Testbed  testbed.Testbed
	Seed     uint64
	Scale    float64   // what the scenario's times are multiplied by; 0 is 1
	History  io.Writer // where the history goes, as it happens
}

// Outcome is a run that was carried out and judged.
type Outcome struct {
	History   *history.History
	SHA256    string           // of the history file, hexadecimal
	Undecided string           // why the outcome cannot be judged; empty when it can
	Disturbed bool             // it cannot, for a reason that another try may not meet
	Results   []checker.Result // in the order of the scenario's checks; footprint always, last when it is not one of them
}

// The times of the quiet period after the clients have stopped.
const (
	// Slack is what a key may outlive its TTL by until it counts as left over.
	Slack = time.Second

	// ProbeWait is how long the probe tries to get a lock that nobody has, at the
	// scenario's own times.
	ProbeWait = 10 * time.Second
)

// Do carries out one run. The error is for what kept it from being carried out:
// a history that cannot be written, a fault that this testbed cannot do, a
// testbed that failed. Whatever the lock does is part of the outcome.
func Do(ctx context.Context, s Setup) (*Outcome, error) {
	s.Scale = cmp.Or(s.Scale, 1)
	s.Scenario = s.Scenario.Scaled(s.Scale)
	r := &run{Setup: s, steps: steps(s.Scenario, s.Version)}
	r.cancels = slices.ContainsFunc(r.steps, func(s faults.Step) bool { return s.Fault.Name() == faults.Cancel{}.Name() })
	rec, err := history.NewRecorder(s.History, header(s), history.Late(s.Testbed.Lag()))
	if err != nil {
		return nil, fmt.Errorf("harness: begin the history: %w", err)
	}
	r.rec = rec
	spec := testbed.Spec{
		Need:      Need(s.Scenario, s.Version),
		Name:      s.Scenario.Name + " with " + s.Version.Name,
		Clients:   append(s.Scenario.Clients(), history.Probe),
		Processes: processes(s.Scenario),
		Resources: resources(s.Scenario),
		Store:     scenarios.Store,
		Initial:   s.Scenario.Workload.Initial,
		Fences:    s.Scenario.Workload.Fences != scenarios.Ignored,
		Retries:   s.Scenario.Lock.Retries,
		Seed:      s.Seed,
		Scale:     s.Scale,
		Recorder:  rec,
		Packet:    func(p faults.Packet) bool { return r.schedule.Packet(p) },
	}
	failure := s.Testbed.Run(ctx, spec, r.carryOut)
	switch {
	case errors.Is(failure, testbed.ErrLeft):
		r.left()
		failure = nil
	case errors.Is(failure, testbed.ErrDisturbed) && ctx.Err() == nil && r.failure() == nil:
		r.disturbed = failure
		failure = nil
	}
	fail := func(err error) error {
		return fmt.Errorf("harness: %s with %s, seed %d: %w", s.Scenario.Name, s.Version.Name, s.Seed, err)
	}
	if err := errors.Join(failure, r.failure()); err != nil {
		return nil, fail(errors.Join(err, rec.Flush())) // without an end, the history says that it is cut short
	}
	h, sum, err := rec.Close(r.ended, r.undecided())
	if err != nil {
		return nil, fail(fmt.Errorf("write the history: %w", err))
	}
	return &Outcome{History: h, SHA256: sum, Undecided: checker.Undecided(h), Disturbed: r.disturbed != nil, Results: Judge(h, s.Scenario.Checks)}, nil
}

// Need is what a testbed must have for the scenario and the version.
func Need(sc *scenarios.Scenario, v impls.Version) testbed.Need {
	return testbed.Need{Topology: topology(sc, v), Replicas: replicas(sc, v), Steps: steps(sc, v), Version: v}
}

// Judge applies the named checks to a history, and footprint in any case: its
// figures belong to every run. Where there is no lock, only those of the resource
// say anything. It panics on a name that is no check; the scenario's loader has
// refused those.
func Judge(h *history.History, names []string) []checker.Result {
	const always = "footprint"
	if slices.Contains(h.Header.Labels, history.LabelNoLock) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !scenarios.OfResource(name) })
	}
	if !slices.Contains(names, always) {
		names = append(slices.Clone(names), always)
	}
	var checks []checker.Check
	for _, name := range names {
		c, ok := checker.Lookup(name)
		if !ok {
			panic("harness: no check " + name)
		}
		checks = append(checks, c)
	}
	return checker.JudgeAll(h, checks)
}

// undecided says why the outcome cannot be judged, or "".
func (r *run) undecided() string {
	var why []string
	for _, s := range r.schedule.Unfired() {
		why = append(why, fmt.Sprintf("this step never happened: %s", s))
	}
	if r.disturbed != nil {
		why = append(why, r.disturbed.Error())
	}
	return strings.Join(why, "; ")
}

// header describes the run for the checks.
func header(s Setup) history.Header {
	sc := s.Scenario
	cfg := config(sc, s.Version)
	h := history.Header{
		Lockpick: history.Format,
		Scenario: sc.Name, Version: s.Version.Name, Testbed: s.Testbed.Name(), Seed: s.Seed,
		Topology: topology(sc, s.Version),
		Lock:     history.Lock{Key: cfg.Key, Also: cfg.Also, TTL: cfg.TTL, Wait: cfg.Wait},
		Workload: history.Workload{
			Resource: sc.Workload.Resource, Initial: sc.Workload.Initial,
			Clients: sc.Clients(), Rounds: sc.Workload.Rounds, Heed: sc.Workload.Heed,
			Readers: sc.Workload.Readers,
		},
		Bounds: history.Bounds{
			Availability:       sc.Bounds.Availability,
			CommandsPerAcquire: sc.Bounds.CommandsPerAcquire,
			RenewalsPerTTL:     sc.Bounds.RenewalsPerTTL,
			Connections:        sc.Bounds.Connections,
			Subscriptions:      sc.Bounds.Subscriptions,
			Overtakes:          sc.Bounds.Overtakes,
			Throughput:         sc.Bounds.Throughput,
		},
		TimeScale: s.Scale,
		Software:  s.Testbed.Software(),
	}
	if s.Version.Traits.TTL == impls.TTLNone || s.Version.Strategy != nil {
		h.Lock.TTL = 0
	}
	if n := sc.Lock.Count; n > 1 {
		h.Lock.Count = n
	}
	if n := sc.Workload.Threads; n > 1 {
		h.Workload.Threads = n
	}
	if nest := sc.Workload.Nest; nest > 1 {
		h.Workload.Nest = nest
		if n := releases(sc.Workload); n < nest {
			h.Workload.Releases = n
		}
	}
	h.Labels = labels(s.Version)
	return h
}

// labels warn of what a reader of the history should know of the version.
func labels(v impls.Version) []string {
	if v.Strategy != nil {
		return []string{history.LabelNoLock}
	}
	var all []string
	switch v.Traits.Token {
	case impls.TokenUnique:
	case impls.TokenClient:
		all = append(all, history.LabelOneOwner)
	default:
		all = append(all, history.LabelNotUnique)
	}
	if v.Traits.Fair {
		all = append(all, history.LabelInOrder)
	}
	return all
}

// processes says which clients are threads of one process. The probe, which comes
// last, is nobody's.
func processes(sc *scenarios.Scenario) map[string]int {
	if sc.Workload.Threads <= 1 {
		return nil
	}
	of := map[string]int{}
	for i, name := range sc.Clients() {
		of[name] = sc.ProcessOf(i + 1)
	}
	return of
}

// resources says which resource each client uses: that of its lock. The probe has
// the first client's.
func resources(sc *scenarios.Scenario) map[string]string {
	if sc.Lock.Count <= 1 {
		return nil
	}
	of := map[string]string{history.Probe: sc.KeyOf(1)}
	for i, name := range sc.Clients() {
		of[name] = sc.KeyOf(i + 1)
	}
	return of
}

// config is what every client's lock is made with, but for the key where there
// are several locks.
func config(sc *scenarios.Scenario, v impls.Version) impls.Config {
	cfg := impls.Config{Key: sc.Lock.Key, TTL: sc.Lock.TTL, Wait: sc.Lock.Wait}
	if sc.Lock.RenewingTTL > 0 && v.Traits.Renew != impls.RenewNone {
		cfg.TTL = sc.Lock.RenewingTTL
	}
	if v.Traits.Multi {
		cfg.Also = slices.Clone(sc.Lock.Also)
	}
	return cfg
}

// topology gives a version that asks a majority its nodes, which are independent
// of one another unless it has the mistake of using replicas; and every other one
// what the scenario says.
func topology(sc *scenarios.Scenario, v impls.Version) history.Topology {
	first := scenarios.NodeName(1)
	t := history.Topology{Name: sc.Topology.Redis, Quorum: 1}
	n := 1
	switch {
	case v.Traits.Quorum && v.Traits.Replicated:
		n = sc.Topology.Quorum
		t.Name, t.Quorum, t.Primary = fmt.Sprintf("replicated-%d", n), n/2+1, first
	case v.Traits.Quorum:
		n = sc.Topology.Quorum
		t.Name, t.Quorum = fmt.Sprintf("independent-%d", n), n/2+1
	case sc.Topology.Redis == scenarios.Sentinel:
		n, t.Primary = 1+sc.Topology.Replicas, first
		for i := range scenarios.Sentinels {
			t.Sentinels = append(t.Sentinels, scenarios.SentinelName(i+1))
		}
	}
	for i := range n {
		t.Nodes = append(t.Nodes, scenarios.NodeName(i+1))
	}
	return t
}

// replicas says how the topology's replicas, if there are any, are tied to its
// primary.
func replicas(sc *scenarios.Scenario, v impls.Version) testbed.Replicas {
	if topology(sc, v).Primary == "" {
		return testbed.Replicas{}
	}
	return testbed.Replicas{
		Writable:  v.Traits.Replicated,
		DownAfter: sc.Topology.DownAfter,
		Min:       sc.Topology.MinReplicas,
		MaxLag:    sc.Topology.MaxLag,
	}
}
