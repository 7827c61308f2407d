package harness_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/internal/testbed/sim"
	"lockpick/scenarios"
)

// long lets the tests take minutes: more seeds and more repetitions.
var long = flag.Bool("long", os.Getenv("LOCKPICK_LONG") != "", "take minutes: more seeds, more repetitions (also: LOCKPICK_LONG=1)")

// upTo is how often a test repeats what it does: few times under the race
// detector and with -short, most often with -long.
func upTo(few, usual, many int) int {
	switch {
	case *long:
		return many
	case testing.Short() || raceDetector:
		return few
	default:
		return usual
	}
}

// pair is one version in one scenario.
type pair struct {
	scenario *scenarios.Scenario
	version  impls.Version
}

// large says that the run takes as long as dozens of others: it has many sections,
// or clients that poll for minutes.
func (p pair) large() bool {
	w := p.scenario.Workload
	return w.Clients*w.Rounds > 100 || p.scenario.Lock.TTL > time.Minute
}

func (p pair) String() string { return p.scenario.Name + "/" + p.version.Name }

func mustCatalog(t testing.TB) []*scenarios.Scenario {
	t.Helper()
	all, err := scenarios.Catalog(harness.Known(catalog.All()))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mustPairs returns every pair of the catalogue that makes sense.
func mustPairs(t testing.TB) []pair {
	t.Helper()
	var all []pair
	for _, sc := range mustCatalog(t) {
		for _, v := range catalog.All() {
			if harness.Skip(sc, v) == "" {
				all = append(all, pair{sc, v})
			}
		}
	}
	return all
}

// mustSome returns every pair, or under the race detector and with -short only
// each n-th, so that every scenario and every version is among them, and no large
// ones.
func mustSome(t testing.TB, n int) []pair {
	t.Helper()
	all := mustPairs(t)
	if !raceDetector && !testing.Short() {
		return all
	}
	var some []pair
	for i, p := range all {
		if i%n == 0 && !p.large() {
			some = append(some, p)
		}
	}
	return some
}

// mustPair finds one pair of the catalogue.
func mustPair(t testing.TB, scenario, version string) pair {
	t.Helper()
	sc, err := scenarios.Lookup(scenario, harness.Known(catalog.All()))
	if err != nil {
		t.Fatal(err)
	}
	v, ok := catalog.Lookup(version)
	if !ok {
		t.Fatalf("there is no version %q", version)
	}
	return pair{sc, v}
}

// bed is the simulator of all tests of the package. A run that does not come to
// an end within the guard ends the test binary.
var bed = sim.New(sim.WithGuard(2*time.Minute, func(err error) { panic(err) }))

// setup is the run of a pair.
func (p pair) setup(seed uint64, w io.Writer) harness.Setup {
	return harness.Setup{Scenario: p.scenario, Version: p.version, Testbed: bed, Seed: seed, History: w}
}

// mustRun carries out a run and checks that its history reads back as what was
// judged.
func mustRun(t testing.TB, p pair, seed uint64) *harness.Outcome {
	t.Helper()
	var file bytes.Buffer
	out, err := harness.Do(t.Context(), p.setup(seed, &file))
	if err != nil {
		t.Errorf("%v, seed %d: %v", p, seed, err)
		return &harness.Outcome{History: &history.History{}}
	}
	h, sum, err := history.DecodeSum(&file)
	if err != nil || !h.Complete || sum != out.SHA256 || len(h.Records) != len(out.History.Records) {
		t.Errorf("%v, seed %d: the history reads back as %d of %d records, complete %v, sum %s of %s: %v",
			p, seed, len(h.Records), len(out.History.Records), h.Complete, sum, out.SHA256, err)
	}
	if seed == 1 {
		first.LoadOrStore(p.String(), out.SHA256)
	}
	return out
}

// side calls f for 0 to n-1, some at a time.
func side(n int, f func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, 2*runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// verdict returns what a check said.
func verdict(out *harness.Outcome, check string) checker.Result {
	for _, r := range out.Results {
		if r.Check == check {
			return r
		}
	}
	return checker.Result{Check: check, Reason: "it was not asked"}
}

// tell describes an outcome for the message of a failing test.
func tell(out *harness.Outcome) string {
	var b strings.Builder
	if out.Undecided != "" {
		fmt.Fprintf(&b, "\n  undecided: %s", out.Undecided)
	}
	for _, r := range out.Results {
		if r.Verdict == checker.Holds || r.Verdict == checker.Unknown && r.Reason == out.Undecided {
			continue
		}
		fmt.Fprintf(&b, "\n  %s: %v %s", r.Check, r.Verdict, r.Reason)
		for _, f := range r.Findings[:min(3, len(r.Findings))] {
			fmt.Fprintf(&b, "\n    %v: %s", f.Who, f.Cause)
		}
	}
	return b.String()
}

// plain is a scenario in which nothing goes wrong, for tests to change: client-1
// and, a second later, client-2 sell one of 200 each.
func plain(name string, change ...func(*scenarios.Scenario)) *scenarios.Scenario {
	s := &scenarios.Scenario{
		Name:     name,
		Topology: scenarios.Topology{Redis: "single", Quorum: 5},
		Lock:     scenarios.Lock{Key: "order:123", TTL: 30 * time.Second, Wait: time.Minute},
		Workload: scenarios.Workload{Resource: "stock", Initial: 200, Clients: 2, Rounds: 1, Stagger: time.Second, Work: 5 * time.Second},
	}
	for _, c := range checker.All() {
		s.Checks = append(s.Checks, c.Name)
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// with adds steps to a scenario.
func with(steps ...faults.Step) func(*scenarios.Scenario) {
	return func(s *scenarios.Scenario) { s.Steps = append(s.Steps, steps...) }
}

// The beginnings of steps.
func at(d time.Duration) faults.Trigger { return faults.Trigger{At: d} }

func when(client string, e faults.Event, after time.Duration) faults.Trigger {
	return faults.Trigger{Client: client, Event: e, After: after}
}

func wire(client string, w faults.Wire) faults.Trigger {
	return faults.Trigger{Client: client, Wire: &w}
}

func pause(client string, d time.Duration, t faults.Trigger) faults.Step {
	return faults.Step{Fault: faults.Pause{Client: client}, For: d, When: t}
}

func to(client, node string) faults.Link { return faults.Link{Client: client, Node: node} }

// count is the number of records that match.
func count(h *history.History, match func(history.Record) bool) int {
	n := 0
	for _, r := range h.Records {
		if match(r) {
			n++
		}
	}
	return n
}

// note reports whether the harness remarked so, of the target if there is one.
func note(h *history.History, op, target string) bool {
	return slices.ContainsFunc(h.Records, func(r history.Record) bool {
		return r.Kind == history.Note && r.Op == op && r.Target == target
	})
}
