package harness

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/scenarios"
)

func TestOutcome(t *testing.T) {
	lost := errors.New("the connection was reset")
	tests := []struct {
		name string
		op   string
		err  error
		want history.Kind
	}{
		{"no error is ok", history.Acquire, nil, history.OK},
		{"a refusal is definite", history.Acquire, impls.ErrNotAcquired, history.Fail},
		{"a wrapped refusal is definite", history.Acquire, fmt.Errorf("acquire: %w", impls.ErrNotAcquired), history.Fail},
		{"a refusal with the reason is definite", history.Acquire, fmt.Errorf("%w: %w", impls.ErrNotAcquired, lost), history.Fail},
		{"any other error is unknown", history.Acquire, lost, history.Unknown},
		{"a grant that was lost while cleaning up is unknown", history.Acquire, errors.Join(lost, impls.ErrNotHeld), history.Unknown},
		{"a lease that was gone is definite", history.Release, fmt.Errorf("release: %w", impls.ErrNotHeld), history.Fail},
		{"a release that was not acquired is unknown", history.Release, impls.ErrNotAcquired, history.Unknown},
		{"an extension of what is gone is definite", history.Extend, impls.ErrNotHeld, history.Fail},
		{"a write that the store refused is definite", history.Write, fmt.Errorf("write: %w", testbed.ErrRefused), history.Fail},
		{"a change that was refused is definite", history.Change, fmt.Errorf("sell: %w", impls.ErrNotChanged), history.Fail},
		{"a change that met another is unknown", history.Change, impls.ErrConflict, history.Unknown},
		{"a write of a lock error is unknown", history.Write, impls.ErrNotHeld, history.Unknown},
		{"a read fails for no reason that is definite", history.Read, testbed.ErrRefused, history.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := outcome(tt.op, tt.err); got != tt.want {
				t.Errorf("outcome(%s, %v) = %s, want %s", tt.op, tt.err, got, tt.want)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	tests := []struct {
		name            string
		now, left, want time.Duration
	}{
		{"the usual", time.Minute, 30 * time.Second, 90 * time.Second},
		{"of the past", time.Minute, -30 * time.Second, 30 * time.Second},
		{"of before the run", time.Minute, -time.Hour, 1},
		{"of the very beginning", time.Minute, -time.Minute, 1},
		{"as early as can be", time.Minute, math.MinInt64, 1},
		{"as late as can be", time.Minute, math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := claim(tt.now, tt.left); got != tt.want {
				t.Errorf("claim(%v, %v) = %v, want %v", tt.now, tt.left, got, tt.want)
			}
		})
	}
}

func TestWorkOf(t *testing.T) {
	w := scenarios.Workload{
		Work:     time.Second,
		WorkOf:   map[string]time.Duration{"client-2": 2 * time.Second},
		SlowWork: scenarios.SlowWork{Every: 3, Work: time.Minute},
	}
	tests := []struct {
		client string
		n      int
		want   time.Duration
	}{
		{"client-1", 1, time.Second},
		{"client-2", 2, 2 * time.Second},
		{"client-1", 3, time.Minute},
		{"client-2", 6, time.Minute},
		{"client-3", 7, time.Second},
	}
	for _, tt := range tests {
		if got := workOf(w, tt.client, tt.n); got != tt.want {
			t.Errorf("section %d of %s takes %v, want %v", tt.n, tt.client, got, tt.want)
		}
	}
	if got := workOf(scenarios.Workload{Work: time.Second}, "client-1", 0); got != time.Second {
		t.Errorf("without slow sections: %v", got)
	}
}

// Every section of a run has a number of its own, from 1, without a gap.
func TestSectionNumber(t *testing.T) {
	r := &run{Setup: Setup{Scenario: &scenarios.Scenario{Workload: scenarios.Workload{Clients: 3, Rounds: 4}}}}
	seen := map[int]bool{}
	for round := 1; round <= 4; round++ {
		for client := 1; client <= 3; client++ {
			seen[r.sectionNumber(client, round)] = true
		}
	}
	for n := 1; n <= 12; n++ {
		if !seen[n] {
			t.Errorf("no section has number %d", n)
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d numbers of 12 sections", len(seen))
	}
}

// The horizon lies beyond everything that a run can wait for.
func TestHorizon(t *testing.T) {
	base := func() *scenarios.Scenario {
		return &scenarios.Scenario{
			Lock:     scenarios.Lock{TTL: 30 * time.Second, Wait: time.Minute},
			Workload: scenarios.Workload{Clients: 2, Rounds: 1, Work: 5 * time.Second},
		}
	}
	of := func(sc *scenarios.Scenario, t impls.Traits) time.Duration {
		return (&run{Setup: Setup{Scenario: sc, Version: impls.Version{Traits: t}, Scale: 1}}).horizon()
	}
	tests := []struct {
		name   string
		more   time.Duration // than the base at least
		change func(*scenarios.Scenario)
	}{
		{"a longer wait", time.Hour, func(s *scenarios.Scenario) { s.Lock.Wait += time.Hour }},
		{"longer work", time.Hour, func(s *scenarios.Scenario) { s.Workload.Work += time.Hour }},
		{"longer work of one", time.Hour, func(s *scenarios.Scenario) {
			s.Workload.WorkOf = map[string]time.Duration{"client-2": time.Hour + 5*time.Second}
		}},
		{"slow sections", time.Hour, func(s *scenarios.Scenario) {
			s.Workload.SlowWork = scenarios.SlowWork{Every: 2, Work: time.Hour + 5*time.Second}
		}},
		{"rounds", 9 * 95 * time.Second, func(s *scenarios.Scenario) { s.Workload.Rounds = 10 }},
		{"thinking", time.Hour, func(s *scenarios.Scenario) { s.Workload.Think = time.Hour }},
		{"coming late", time.Hour, func(s *scenarios.Scenario) { s.Workload.Stagger = time.Hour }},
		{"a fault that lasts", 3 * time.Hour, func(s *scenarios.Scenario) {
			s.Steps = []faults.Step{{Fault: faults.Pause{Client: "client-1"}, For: time.Hour, When: faults.Trigger{At: time.Hour, After: time.Hour}}}
		}},
		{"sections in sections", 2 * time.Minute, func(s *scenarios.Scenario) { s.Workload.Nest = 3 }},
		{"commands that are sent again", 3 * time.Minute, func(s *scenarios.Scenario) { s.Lock.Retries = 3 }},
		{"new primaries", 3*time.Hour + 2*50*time.Second, func(s *scenarios.Scenario) {
			s.Topology = scenarios.Topology{Redis: scenarios.Sentinel, Quorum: 5, Replicas: 2, DownAfter: 5 * time.Second}
			s.Steps = []faults.Step{
				{Fault: faults.Pause{Node: "redis-1"}, For: time.Hour, When: faults.Trigger{At: time.Hour}},
				{Fault: faults.Stop{Node: "redis-2"}, For: time.Hour},
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := base()
			tt.change(sc)
			if got := of(sc, impls.Traits{}) - of(base(), impls.Traits{}); got < tt.more {
				t.Errorf("the horizon moves by %v, want %v at least", got, tt.more)
			}
		})
	}
	full := (&run{Setup: Setup{Scenario: base(), Scale: 1}}).horizon()
	if got := (&run{Setup: Setup{Scenario: base().Scaled(0.1), Scale: 0.1}}).horizon(); got != full/10 {
		t.Errorf("at a tenth of the scale the horizon is %v of %v", got, full)
	}
	sc := base()
	sc.Lock.RenewingTTL = time.Second
	if of(sc, impls.Traits{Renew: impls.RenewOwned}) >= of(sc, impls.Traits{Renew: impls.RenewNone}) {
		t.Error("a version that renews is given the TTL of the others")
	}
	asking := impls.Version{Strategy: func(impls.Env, impls.Store, impls.Config) (impls.Strategy, error) { return nil, nil }}
	if got := (&run{Setup: Setup{Scenario: base(), Version: asking, Scale: 1}}).horizon() - of(base(), impls.Traits{}); got < 2*time.Minute {
		t.Errorf("asking a strategy three times moves the horizon by %v", got)
	}
	largest := base()
	largest.Workload.Clients, largest.Workload.Rounds = scenarios.MaxClients, scenarios.MaxRounds
	day := scenarios.MaxHours * time.Hour
	largest.Lock = scenarios.Lock{TTL: day, Wait: day}
	largest.Workload.Work, largest.Workload.Think, largest.Workload.Stagger = day, day, day
	if got := of(largest, impls.Traits{}); got < time.Duration(scenarios.MaxRounds)*day {
		t.Errorf("the largest scenario has a horizon of %v", got)
	}
}

// After the faults the run waits for what they leave under way.
func TestSettling(t *testing.T) {
	stop := faults.Step{Fault: faults.Stop{Node: "redis-1"}}
	slow := faults.Step{Fault: faults.Slow{Link: faults.Link{Client: "client-1", Node: "redis-1"}, By: time.Minute}}
	sentinel := scenarios.Topology{Redis: scenarios.Sentinel, Quorum: 5, Replicas: 2, DownAfter: 5 * time.Second}
	single := scenarios.Topology{Redis: scenarios.Single, Quorum: 5}
	replicated := impls.Traits{Quorum: true, Replicated: true}
	tests := []struct {
		name     string
		topology scenarios.Topology
		traits   impls.Traits
		steps    []faults.Step
		want     time.Duration
	}{
		{"nothing went wrong", sentinel, impls.Traits{}, nil, time.Millisecond},
		{"a single node", single, impls.Traits{}, []faults.Step{stop}, time.Millisecond},
		{"a slow link", single, impls.Traits{}, []faults.Step{stop, slow}, time.Minute + time.Millisecond},
		{"a failover", sentinel, impls.Traits{}, []faults.Step{stop}, 50*time.Second + time.Millisecond},
		{"a failover over a slow link", sentinel, impls.Traits{}, []faults.Step{slow}, 110*time.Second + time.Millisecond},
		{"independent nodes", sentinel, impls.Traits{Quorum: true}, []faults.Step{stop}, time.Millisecond},
		{"replicas that nobody watches", single, replicated, []faults.Step{stop}, 30*time.Second + time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := &scenarios.Scenario{Topology: tt.topology}
			r := &run{Setup: Setup{Scenario: sc, Version: impls.Version{Traits: tt.traits}, Scale: 1}, steps: tt.steps}
			if got := r.settling(); got != tt.want {
				t.Errorf("settling takes %v, want %v", got, tt.want)
			}
		})
	}
}
