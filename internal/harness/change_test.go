package harness_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/internal/harness"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// bare is a scenario that takes strategies.
func bare(change ...func(*scenarios.Scenario)) *scenarios.Scenario {
	return plain("bare", append([]func(*scenarios.Scenario){func(s *scenarios.Scenario) { s.Strategies = true }}, change...)...)
}

func mustFail(t *testing.T, p pair, word string) {
	t.Helper()
	out, err := harness.Do(t.Context(), p.setup(1, io.Discard))
	if out != nil || err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("Do = %v, %v; want an error with %q", out, err, word)
	}
}

func TestStrategyChangesWithoutALock(t *testing.T) {
	bubble.Use(t)
	for resource, delta := range map[string]string{"stock": "-1", "counter": "+1"} {
		t.Run(resource, func(t *testing.T) {
			book := &changes{}
			sc := bare(workload(func(w *scenarios.Workload) { w.Resource, w.Rounds, w.Think = resource, 2, time.Second }))
			out := mustRun(t, pair{sc, book.version()}, 1)
			want := []string{"probe prepare 200", "client-1 change client-1/1 " + delta, "client-2 change client-2/1 " + delta,
				"client-1 change client-1/2 " + delta, "client-2 change client-2/2 " + delta}
			if !slices.Equal(book.asked, want) {
				t.Errorf("asked\n%q\nwant\n%q", book.asked, want)
			}
			if got, want := heard(out.History, "client-1"), []string{"invoke change", "ok change", "invoke change", "ok change"}; !slices.Equal(got, want) {
				t.Errorf("client-1 did %q, want %q", got, want)
			}
			if got, want := heard(out.History, history.Probe), []string{"invoke read", "ok read"}; !slices.Equal(got, want) {
				t.Errorf("the probe did %q, want %q", got, want)
			}
			total := map[string]int64{"stock": 196, "counter": 204}[resource]
			for _, r := range out.History.Records {
				switch {
				case r.Op == history.Change && (!strings.HasPrefix(r.Text, r.Who+"/") || r.Value == nil || *r.Value*4 != total-200):
					t.Errorf("a change is recorded as %+v", r)
				case r.Who == history.Probe && r.Kind == history.OK && (r.Value == nil || *r.Value != total || r.Round != 0):
					t.Errorf("the probe read %+v, want %d", r, total)
				}
			}
			h := out.History.Header
			if h.Lock.TTL != 0 || len(h.Labels) != 1 || !strings.Contains(h.Labels[0], "no lock") {
				t.Errorf("the header is %+v", h)
			}
		})
	}
}

// Of a strategy only the checks of the resource say anything, and the footprint
// has its figures, in the run and when the history is judged again.
func TestStrategyIsJudgedByTheResource(t *testing.T) {
	bubble.Use(t)
	sc := bare()
	out := mustRun(t, pair{sc, (&changes{}).version()}, 1)
	for _, results := range [][]checker.Result{out.Results, harness.Judge(out.History, sc.Checks)} {
		var got []string
		for _, r := range results {
			got = append(got, r.Check)
		}
		if want := []string{"no-lost-update", "footprint"}; !slices.Equal(got, want) {
			t.Errorf("judged by %q, want %q", got, want)
		}
	}
}

// A client that has not heard asks again for the same change, a second apart, and
// gives up after the third time. All of it is one operation.
func TestStrategyIsAskedAgain(t *testing.T) {
	bubble.Use(t)
	tests := []struct {
		name  string
		lost  int // replies to the change
		calls int
		want  history.Kind
	}{
		{"heard at once", 0, 1, history.OK},
		{"heard at the second time", 1, 2, history.OK},
		{"heard at the third time", 2, 3, history.OK},
		{"not heard", 9, 3, history.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			book := &changes{loses: func(int) int { return tt.lost }}
			sc := bare(workload(func(w *scenarios.Workload) { w.Clients = 1 }))
			out := mustRun(t, pair{sc, book.version()}, 1)
			if got, want := heard(out.History, "client-1"), []string{"invoke change", string(tt.want) + " change"}; !slices.Equal(got, want) {
				t.Errorf("client-1 did %q, want %q", got, want)
			}
			calls := book.asked[1:]
			if len(calls) != tt.calls || len(slices.Compact(slices.Clone(calls))) != 1 {
				t.Errorf("calls %q, want %d of the same change", calls, tt.calls)
			}
			for i := 2; i < len(book.times); i++ {
				if gap := book.times[i].Sub(book.times[i-1]); gap < time.Second || gap > 1100*time.Millisecond {
					t.Errorf("call %d comes %v after the one before it, want about 1s", i, gap)
				}
			}
		})
	}
}

// A change that did definitely not happen is not asked for again.
func TestStrategyThatRefuses(t *testing.T) {
	bubble.Use(t)
	book := &changes{refuses: true}
	out := mustRun(t, pair{bare(), book.version()}, 1)
	if got, want := heard(out.History, "client-1"), []string{"invoke change", "fail change"}; !slices.Equal(got, want) {
		t.Errorf("client-1 did %q, want %q", got, want)
	}
	if len(book.asked) != 3 {
		t.Errorf("asked %q, want one call of each client", book.asked)
	}
}

// The client works before it changes anything, and can be struck before and after
// the change.
func TestStepsAroundAChange(t *testing.T) {
	bubble.Use(t)
	struck := func(e faults.Event) time.Duration {
		sc := bare(workload(func(w *scenarios.Workload) { w.Clients = 1 }), with(pause("client-1", time.Second, when("client-1", e, 0))))
		for _, r := range mustRun(t, pair{sc, (&changes{}).version()}, 1).History.Records {
			if r.Kind == history.Fault && r.Text == history.Struck {
				return r.T
			}
		}
		t.Fatalf("nothing was struck on %s", e)
		return 0
	}
	reading, writing, written := struck(faults.Reading), struck(faults.Writing), struck(faults.Written)
	if writing-reading < 5*time.Second || written <= writing || written-writing > time.Second {
		t.Errorf("reading at %v, writing at %v, written at %v; want 5s of work between the first two", reading, writing, written)
	}
}

// A cancelled client asks no more.
func TestCancelledChange(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name  string
		when  faults.Trigger
		calls int
		want  []string
	}{
		{"while it works", at(2 * time.Second), 0, nil},
		{"before it asks", when("client-1", faults.Writing, 0), 0, nil},
		{"before it asks again", when("client-1", faults.Writing, 500*time.Millisecond), 1, []string{"invoke change", "unknown change"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			book := &changes{loses: func(int) int { return 9 }}
			sc := bare(workload(func(w *scenarios.Workload) { w.Clients = 1 }),
				with(faults.Step{Fault: faults.Cancel{Client: "client-1"}, When: tt.when}))
			out := mustRun(t, pair{sc, book.version()}, 1)
			if got := heard(out.History, "client-1"); !slices.Equal(got, tt.want) || len(book.asked)-1 != tt.calls {
				t.Errorf("client-1 did %q in %d calls, want %q in %d", got, len(book.asked)-1, tt.want, tt.calls)
			}
		})
	}
}

func TestStrategyThatCannotBePrepared(t *testing.T) {
	bubble.Use(t)
	book := &changes{broken: errors.New("no such table")}
	mustFail(t, pair{bare(), book.version()}, "prepare the strategy: no such table")
	if len(book.asked) != 1 {
		t.Errorf("asked %q after that", book.asked)
	}
}
