package harness_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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

// mustSum returns the sum of a run's history.
func mustSum(t testing.TB, p pair, seed uint64) string {
	t.Helper()
	out, err := harness.Do(t.Context(), p.setup(seed, io.Discard))
	if err != nil {
		t.Errorf("%v, seed %d: %v", p, seed, err)
		return ""
	}
	return out.SHA256
}

// first keeps the sums of the runs with seed 1 by the names of their pairs.
var first sync.Map

// firstSum is the sum of a pair's first run with seed 1 in this process.
func firstSum(t testing.TB, p pair) string {
	t.Helper()
	if sum, ok := first.Load(p.String()); ok {
		return sum.(string)
	}
	return mustSum(t, p, 1)
}

// sums is the sum of every pair of the catalogue, run side by side.
func sums(t *testing.T) map[string]string {
	t.Helper()
	pairs := mustSome(t, 8)
	all := make([]string, len(pairs))
	side(len(pairs), func(i int) { all[i] = firstSum(t, pairs[i]) })
	of := map[string]string{}
	for i, p := range pairs {
		of[p.String()] = all[i]
	}
	return of
}

// asked makes TestSumsInChild print what it computes.
const asked = "LOCKPICK_TEST_SUMS"

// TestSumsInChild is the other side of TestSameSeedInAnotherProcess.
func TestSumsInChild(t *testing.T) {
	if os.Getenv(asked) == "" {
		t.Skip("started by another test only")
	}
	bubble.Use(t)
	for name, sum := range sums(t) {
		fmt.Printf("sum %s %s\n", name, sum)
	}
}

// Every version in every scenario: the same seed gives the same history, byte
// for byte, alone and beside other runs, in this process and in another.
func TestSameSeedSameHistory(t *testing.T) {
	bubble.Use(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSumsInChild$")
	cmd.Env = append(os.Environ(), asked+"=1", "GOMAXPROCS=1")
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("the other process: %v\n%s", err, text)
	}
	elsewhere := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, sum, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "sum ")), " "); ok && strings.HasPrefix(line, "sum ") {
			elsewhere[name] = sum
		}
	}
	pairs := mustSome(t, 8)
	here := sums(t)
	if len(here) != len(pairs) || len(elsewhere) != len(pairs) {
		t.Fatalf("%d sums here and %d elsewhere of %d pairs", len(here), len(elsewhere), len(pairs))
	}
	different := map[string]bool{}
	for i, p := range pairs {
		sum := here[p.String()]
		if sum == "" || sum != elsewhere[p.String()] {
			t.Errorf("%v: %s here and %s in another process", p, sum, elsewhere[p.String()])
		}
		different[sum] = true
		if i%3 == 0 && !p.large() || *long {
			if alone := mustSum(t, p, 1); alone != sum {
				t.Errorf("%v: %s alone and %s beside others", p, alone, sum)
			}
		}
	}
	if len(different) != len(pairs) {
		t.Errorf("%d different histories of %d pairs", len(different), len(pairs))
	}
}

// checkSame runs a pair with seed 1 again and again, side by side, and reports
// how many different histories that gave.
func checkSame(t *testing.T, p pair, times int) {
	t.Helper()
	all := make([]string, times)
	side(times, func(i int) { all[i] = mustSum(t, p, 1) })
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 1 {
		t.Errorf("%v: %d different histories of %d runs", p, n, times)
	}
}

// The pairs in which most happens at one instant, again and again.
func TestSameSeedAgainAndAgain(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		scenario, version string
		few, usual        int // times; 1000 with -long
	}{
		{"gc-pause", "redsync", 3, 20},
		{"single-down", "redsync", 20, 100},
		{"gc-pause", "watchdog", 20, 100},
		{"renewal-after-release", "fragile-watchdog", 20, 100},
		{"renew-other", "distlock", 20, 100},
		{"split-brain", "redlock-fenced", 10, 50},
		{"counter-200", "lua-release", 0, 3},
		{"counter-200", "redsync", 0, 2},
	} {
		t.Run(tt.scenario+"/"+tt.version, func(t *testing.T) {
			if upTo(tt.few, tt.usual, 1000) == 0 {
				t.Skip("takes too long under the race detector and with -short")
			}
			checkSame(t, mustPair(t, tt.scenario, tt.version), upTo(tt.few, tt.usual, 1000))
		})
	}
}

// Schedules of chance, each run twice: pauses, holds and cuts in the middle of
// everything.
func TestSameSeedUnderFaults(t *testing.T) {
	bubble.Use(t)
	locks := sound()
	side(upTo(20, 100, 3000), func(i int) {
		seed, v := uint64(i+1), locks[i%len(locks)]
		p := pair{onOneNode(benign(seed), v), v}
		if a, b := mustSum(t, p, seed), mustSum(t, p, seed); a != b {
			t.Errorf("%v, seed %d: %s and %s", p, seed, a, b)
			for _, s := range p.scenario.Steps {
				t.Logf("%v: %v", p, s)
			}
		}
	})
}

// A quorum lock's goroutines that stand still together go on in an order of
// their own, not in the order in which they came.
func TestSameSeedWhenAWaiterIsPaused(t *testing.T) {
	bubble.Use(t)
	for _, v := range []string{"redsync", "watchdog"} {
		p := mustPair(t, "gc-pause", v)
		p.scenario = plain("paused-waiter",
			workload(func(w *scenarios.Workload) { w.Work = 8 * time.Second }),
			with(pause("client-2", 2*time.Second, at(3*time.Second)), pause("client-2", 2*time.Second, at(6*time.Second))))
		checkSame(t, p, upTo(20, 100, 1000))
	}
}

// Links that lose everything make clients give up at the instant of a time-out,
// all of them together.
func TestSameSeedWhenTimeOutsCoincide(t *testing.T) {
	bubble.Use(t)
	for _, v := range []string{"lua-release", "redislock", "watchdog", "redsync"} {
		p := mustPair(t, "gc-pause", v)
		var steps []faults.Step
		for n := range 5 {
			steps = append(steps, faults.Step{
				Fault: faults.Cut{Link: to("client-1", scenarios.NodeName(n+1)), Direction: faults.ToNode}, For: 30 * time.Second,
			}, faults.Step{
				Fault: faults.Cut{Link: to("client-2", scenarios.NodeName(n+1)), Direction: faults.Both}, For: 20 * time.Second, When: at(4 * time.Second),
			})
		}
		p.scenario = plain("cut-off-from-the-start", with(steps...))
		p.scenario = onOneNode(p.scenario, p.version)
		checkSame(t, p, upTo(20, 100, 1000))
	}
}

// Two hundred clients begin within a microsecond, so some begin at the same
// nanosecond; a step that each of them sets off is recorded in one order.
func TestSameSeedWhenClientsCoincide(t *testing.T) {
	bubble.Use(t)
	sc := plain("coincidence", workload(func(w *scenarios.Workload) {
		w.Clients, w.Stagger, w.Work, w.Resource = 200, 0, 0, "counter"
	}), func(s *scenarios.Scenario) { s.Lock.Wait = 0 })
	for i := range 200 {
		name := scenarios.ClientName(i + 1)
		sc.Steps = append(sc.Steps, pause(name, time.Millisecond, when(name, faults.Acquiring, 0)),
			pause(name, time.Millisecond, when(name, faults.Acquiring, time.Second)))
	}
	checkSame(t, pair{sc, broken.Single(broken.None)}, upTo(3, 20, 200))
}

// A subject that throws dice of its own is seen to be what it is.
func TestChanceOfTheSubjectIsSeen(t *testing.T) {
	bubble.Use(t)
	v := broken.Single(broken.None)
	sound := v.New
	v.New = func(e impls.Env, c impls.Config) (impls.Lock, error) {
		l, err := sound(e, c)
		return &gambler{l}, err
	}
	p := pair{plain("dice"), v}
	seen := map[string]bool{}
	var mu sync.Mutex
	side(10, func(int) {
		sum := mustSum(t, p, 1)
		mu.Lock()
		defer mu.Unlock()
		seen[sum] = true
	})
	if len(seen) < 2 {
		t.Error("ten runs of a lock that throws the process's own dice gave one history")
	}
}

// gambler waits for a time of chance that no seed decides before it acquires.
type gambler struct{ impls.Lock }

func (g *gambler) Acquire(ctx context.Context) (impls.Lease, error) {
	pause := rand.Int64N(int64(time.Second)) //nolint:forbidigo // this is the mistake that must be seen
	if err := impls.Sleep(ctx, time.Duration(pause)); err != nil {
		return impls.Lease{}, err
	}
	return g.Lock.Acquire(ctx)
}

// Different seeds give different histories of what depends on chance.
func TestOtherSeedOtherHistory(t *testing.T) {
	bubble.Use(t)
	p := mustPair(t, "gc-pause", "lua-release")
	seen := map[string]bool{}
	for seed := range uint64(20) {
		out := mustRun(t, p, seed)
		var latencies strings.Builder
		for _, r := range out.History.Records {
			if r.Op == history.Command {
				fmt.Fprintln(&latencies, r.T)
			}
		}
		seen[latencies.String()] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d different courses of 20 seeds", len(seen))
	}
}
