package harness_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// alone is one client with one section that acquires and releases so often. A
// nested acquire that is in vain gives up before the outer lease has expired.
func alone(nest, releases int) *scenarios.Scenario {
	return plain("nested", workload(func(w *scenarios.Workload) { w.Clients, w.Nest, w.Releases = 1, nest, releases }),
		func(s *scenarios.Scenario) { s.Lock.Wait = 20 * time.Second })
}

func TestNestedSections(t *testing.T) {
	bubble.Use(t)
	use := []string{"invoke read", "ok read", "invoke write", "ok write"}
	get := func(depth string) []string { return []string{"invoke acquire" + depth, "ok acquire" + depth} }
	give := func(depth string) []string { return []string{"invoke release" + depth, "ok release" + depth} }
	vain := []string{"invoke acquire 2", "fail acquire 2"}
	tests := []struct {
		name           string
		v              impls.Version
		nest, releases int
		want           []string
	}{
		{"once", nesting, 1, 1, slices.Concat(get(""), use, give(""))},
		{"two deep", nesting, 2, 2, slices.Concat(get(""), get(" 2"), use, give(" 2"), give(""))},
		{"three deep", nesting, 3, 3, slices.Concat(get(""), get(" 2"), get(" 3"), use, give(" 3"), give(" 2"), give(""))},
		{"the outermost is not given back", nesting, 3, 2, slices.Concat(get(""), get(" 2"), get(" 3"), use, give(" 3"), give(" 2"))},
		{"without a word of releases", nesting, 2, 0, slices.Concat(get(""), get(" 2"), use, give(" 2"), give(""))},
		{"a lock that is not re-entrant", control, 2, 2, slices.Concat(get(""), vain, use, give(""))},
		{"it tries no deeper than it got", control, 3, 3, slices.Concat(get(""), vain, use, give(""))},
		{"what it did not get it need not give back", control, 2, 1, slices.Concat(get(""), vain, use, give(""))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := mustRun(t, pair{alone(tt.nest, tt.releases), tt.v}, 1)
			if got := heard(out.History, "client-1"); !slices.Equal(got, tt.want) {
				t.Errorf("client-1 did\n%q\nwant\n%q", got, tt.want)
			}
			if note(out.History, history.Stuck, "client-1") {
				t.Error("client-1 is said to be stuck")
			}
		})
	}
}

// A client that has the lock is in the phase hold, however the nested ones end.
func TestPhasesOfNestedSections(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name string
		v    impls.Version
		want []string
	}{
		{"re-entrant", nesting, []string{"acquire", "hold", "acquire", "hold", "release", "hold", "release", "", ""}},
		{"not", control, []string{"acquire", "hold", "acquire", "hold", "release", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, spy := mustSpy(t, pair{alone(2, 2), tt.v})
			if !slices.Equal(spy.phases, tt.want) {
				t.Errorf("phases %q, want %q", spy.phases, tt.want)
			}
		})
	}
}

func TestReadersShareAndDoNotWrite(t *testing.T) {
	bubble.Use(t)
	sc := plain("readers", workload(func(w *scenarios.Workload) { w.Readers = []string{"client-2"} }))
	out := mustRun(t, pair{sc, shared}, 1)
	want := []string{"invoke acquire shared", "ok acquire shared", "invoke read", "ok read", "invoke read", "ok read", "invoke release", "fail release"}
	if got := heard(out.History, "client-2"); !slices.Equal(got, want) {
		t.Errorf("the reader did\n%q\nwant\n%q", got, want)
	}
	var reads []time.Duration
	for _, r := range out.History.Records {
		if r.Who == "client-2" && r.Op == history.Read && r.Kind == history.Invoke {
			reads = append(reads, r.T)
		}
	}
	if len(reads) != 2 || reads[1]-reads[0] < 5*time.Second {
		t.Errorf("it reads at %v, want before and after 5s of work", reads)
	}
	if got := heard(out.History, "client-1"); !slices.Contains(got, "ok write") || slices.Contains(got, "ok acquire shared") {
		t.Errorf("client-1 did %q, want a section with a write", got)
	}
}

// A version that promises a shared mode and has none is a mistake in the version.
func TestReadersOfALockThatCannotShare(t *testing.T) {
	bubble.Use(t)
	v := control
	v.Traits.Shared = true
	sc := plain("readers", workload(func(w *scenarios.Workload) { w.Readers = []string{"client-2"} }))
	mustFail(t, pair{sc, v}, "SharedLocker")
}

// A cancelled client stops what it does, gives back under the same context, and
// does its next round.
func TestCancelledSection(t *testing.T) {
	bubble.Use(t)
	cancel := func(e faults.Event, after time.Duration) faults.Step {
		return faults.Step{Fault: faults.Cancel{Client: "client-1"}, When: when("client-1", e, after)}
	}
	get, read := []string{"invoke acquire", "ok acquire"}, []string{"invoke read", "ok read"}
	write, given := []string{"invoke write", "ok write"}, []string{"invoke release", "unknown release"}
	tests := []struct {
		name string
		step faults.Step
		want []string // of the first round
	}{
		{"before the acquire", cancel(faults.Acquiring, 0), []string{"invoke acquire", "fail acquire"}},
		{"before the read", cancel(faults.Acquired, 0), slices.Concat(get, given)},
		{"in the middle of its work", cancel(faults.Acquired, time.Second), slices.Concat(get, read, given)},
		{"before the write", cancel(faults.Writing, 0), slices.Concat(get, read, given)},
		{"after the write", cancel(faults.Written, 0), slices.Concat(get, read, write, given)},
		{"not at all", cancel(faults.Released, 0), slices.Concat(get, read, write, []string{"invoke release", "ok release"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := plain("cancelled", workload(func(w *scenarios.Workload) { w.Rounds = 2 }), with(tt.step))
			out := mustRun(t, pair{sc, control}, 1)
			first := *out.History
			first.Records = slices.DeleteFunc(slices.Clone(first.Records), func(r history.Record) bool { return r.Round != 1 })
			if got := heard(&first, "client-1"); !slices.Equal(got, tt.want) {
				t.Errorf("in the cancelled round client-1 did\n%q\nwant\n%q", got, tt.want)
			}
			for client, writes := range map[string]int{"client-1": 1, "client-2": 2} {
				got := count(out.History, func(r history.Record) bool {
					return r.Who == client && r.Op == history.Write && r.Kind == history.OK && (client != "client-1" || r.Round == 2)
				})
				if got != writes {
					t.Errorf("%s wrote %d times in the rounds that were not cancelled, want %d", client, got, writes)
				}
			}
		})
	}
}

// A client that is cancelled while it works stops at once, not when it would have
// been done.
func TestCancelCutsWorkShort(t *testing.T) {
	bubble.Use(t)
	for _, extend := range []time.Duration{0, time.Second} {
		sc := plain("cut-short", workload(func(w *scenarios.Workload) { w.Clients, w.Work, w.Extend = 1, time.Hour, extend }),
			with(faults.Step{Fault: faults.Cancel{Client: "client-1"}, When: at(3500 * time.Millisecond)}))
		out := mustRun(t, pair{sc, control}, 1)
		for _, r := range out.History.Records {
			if r.Who == "client-1" && r.Op == history.Release && r.Kind == history.Invoke && r.T != 3500*time.Millisecond {
				t.Errorf("extending every %v, it releases at %v, want at 3.5s", extend, r.T)
			}
		}
	}
}

// A client that stands still does not notice that it was cancelled.
func TestCancelOfAPausedClient(t *testing.T) {
	bubble.Use(t)
	sc := plain("asleep", workload(func(w *scenarios.Workload) { w.Clients, w.Work = 1, time.Hour }),
		with(pause("client-1", 10*time.Second, at(2*time.Second)),
			faults.Step{Fault: faults.Cancel{Client: "client-1"}, When: at(3 * time.Second)}))
	out := mustRun(t, pair{sc, control}, 1)
	for _, r := range out.History.Records {
		if r.Who == "client-1" && r.Op == history.Release && r.Kind == history.Invoke && r.T.Truncate(time.Millisecond) != 12*time.Second {
			t.Errorf("it releases at %v, want when it wakes at 12s", r.T)
		}
	}
}

// Only a version that locks several keys as one is told of the others.
func TestFurtherKeys(t *testing.T) {
	bubble.Use(t)
	several := control
	several.Traits.Multi = true
	for _, tt := range []struct {
		name string
		v    impls.Version
		want []string
	}{{"several", several, []string{"order:124", "order:125"}}, {"one", control, nil}} {
		t.Run(tt.name, func(t *testing.T) {
			sc := plain("keys", func(s *scenarios.Scenario) { s.Lock.Also = []string{"order:124", "order:125"} })
			out, spy := mustSpy(t, pair{sc, tt.v})
			if got := out.History.Header.Lock.Also; !slices.Equal(got, tt.want) {
				t.Errorf("the header has %q, want %q", got, tt.want)
			}
			for _, got := range spy.also {
				if !slices.Equal(got, tt.want) {
					t.Errorf("a lock was made with %q, want %q", got, tt.want)
				}
			}
			if len(spy.also) != 3 { // two clients and the probe
				t.Errorf("%d locks were made", len(spy.also))
			}
		})
	}
}

// Equal seeds give equal histories of every kind of section.
func TestSectionsAreDeterministic(t *testing.T) {
	bubble.Use(t)
	for name, p := range map[string]pair{
		"nested":    {alone(3, 2), nesting},
		"readers":   {plain("readers", workload(func(w *scenarios.Workload) { w.Clients, w.Readers = 4, []string{"client-2", "client-3"} })), shared},
		"cancelled": {plain("cancelled", workload(func(w *scenarios.Workload) { w.Clients, w.Rounds = 3, 3 }), with(cancelAt(2), cancelAt(9))), control},
		"strategy":  {bare(workload(func(w *scenarios.Workload) { w.Clients, w.Stagger = 5, 0 })), (&changes{}).version()},
	} {
		t.Run(name, func(t *testing.T) {
			first := mustRun(t, p, 7).SHA256
			for range upTo(2, 5, 50) {
				if again := mustRun(t, p, 7).SHA256; again != first {
					t.Fatalf("%s and %s", first, again)
				}
			}
			if other := mustRun(t, p, 8).SHA256; other == first {
				t.Error("another seed gives the same history")
			}
		})
	}
}

func cancelAt(seconds int) faults.Step {
	return faults.Step{Fault: faults.Cancel{Client: "client-1"}, When: at(time.Duration(seconds) * time.Second)}
}

// noting remembers when the contexts of its Acquires ended.
type noting struct {
	impls.Lock
	ended chan<- time.Time
}

func (n noting) Acquire(ctx context.Context) (impls.Lease, error) {
	context.AfterFunc(ctx, func() { n.ended <- time.Now() })
	return n.Lock.Acquire(ctx)
}

// What a section calls off as it ends is over before the client asks for the lock
// again: at one instant either could come first.
func TestASectionsContextEndsWithIt(t *testing.T) {
	bubble.Use(t)
	ended := make(chan time.Time, 3) // and the probe's
	v := made(func(*impls.Traits) {}, func(l impls.Lock, _ impls.Env, _ impls.Config) impls.Lock { return noting{l, ended} })
	s := plain("two rounds", workload(func(w *scenarios.Workload) { w.Clients, w.Rounds, w.Think = 1, 2, time.Second }))
	out := mustRun(t, pair{s, v}, 1)
	var released []time.Duration
	for _, r := range out.History.Records {
		if r.Who == "client-1" && r.Op == history.Release && r.Kind == history.OK {
			released = append(released, r.T)
		}
	}
	if len(released) != 2 || len(ended) < 2 {
		t.Fatalf("%d releases and %d contexts that ended, want 2 of each", len(released), len(ended))
	}
	first, second := <-ended, <-ended
	if got, want := second.Sub(first), released[1]-released[0]; got != want {
		t.Errorf("the second context ended %v after the first, and the second section %v", got, want)
	}
}
