package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

var control = broken.Single(broken.None)

func TestSkip(t *testing.T) {
	renewing := broken.Renewing(broken.None)
	tests := []struct {
		name  string
		needs map[string][]string
		v     impls.Version
		want  string
	}{
		{"no needs", nil, control, ""},
		{"a need that is met", map[string][]string{"renew": {"blind", "owned"}}, renewing, ""},
		{"a need that is not", map[string][]string{"renew": {"blind", "owned"}}, control, "needs renew: blind or owned; this version's is none"},
		{"a trait that one has or has not", map[string][]string{"quorum": {"true"}}, control, "needs quorum: true; this version's is false"},
		{"the first in the order of the alphabet", map[string][]string{"wait": {"none"}, "fair": {"true"}}, control, "needs fair: true; this version's is false"},
		{"all of them", map[string][]string{"wait": {"poll"}, "fair": {"false"}}, control, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := harness.Skip(plain("needy", func(s *scenarios.Scenario) { s.Needs = tt.needs }), tt.v); got != tt.want {
				t.Errorf("Skip = %q, want %q", got, tt.want)
			}
		})
	}
}

// Whatever a version can be is something that a scenario can ask for.
func TestTraitsAreComplete(t *testing.T) {
	known := harness.Traits()
	for _, v := range append(catalog.All(), (&changes{}).version(), nesting) {
		values := harness.TraitValues(v.Traits)
		if len(values) != len(known) {
			t.Fatalf("%d traits of a version, %d are known", len(values), len(known))
		}
		for trait, value := range values {
			if !slices.Contains(known[trait], value) {
				t.Errorf("%s of %s is %q, which is none of %q", trait, v.Name, value, known[trait])
			}
		}
		if got, want := values["strategy"], fmt.Sprint(v.Strategy != nil); got != want {
			t.Errorf("%s is a strategy: %s, want %s", v.Name, got, want)
		}
	}
}

// A step whose trigger never happens leaves the run undecided: no check holds.
func TestStepThatNeverHappens(t *testing.T) {
	bubble.Use(t)
	sc := plain("in-vain", with(pause("client-1", time.Second, when("client-2", faults.Acquired, time.Hour)),
		pause("client-1", time.Second, wire("client-1", faults.Wire{Command: 1000, Point: faults.Applied}))))
	out := mustRun(t, pair{sc, control}, 1)
	for _, word := range []string{"this step never happened: pause client-1, 1h0m0s after client-2: acquired", "command 1000"} {
		if !strings.Contains(out.Undecided, word) {
			t.Errorf("undecided says %q, not %q", out.Undecided, word)
		}
	}
	for _, r := range out.Results {
		if r.Verdict != checker.Unknown || r.Reason == "" {
			t.Errorf("%s is %v (%s), want unknown with a reason", r.Check, r.Verdict, r.Reason)
		}
	}
}

// A violation stays one although a step never happened.
func TestViolationInSpiteOfAStep(t *testing.T) {
	bubble.Use(t)
	sc := plain("in-vain", with(pause("client-1", time.Second, when("client-2", faults.Acquired, time.Hour))))
	if got := verdict(mustRun(t, pair{sc, broken.Single(broken.ShortTTL)}, 1), "mutual-exclusion"); got.Verdict != checker.Violated {
		t.Errorf("mutual-exclusion is %v", got.Verdict)
	}
}

// blunt is a testbed whose world can do no harm.
type blunt struct{ testbed.Testbed }

func (b blunt) Run(ctx context.Context, s testbed.Spec, f func(testbed.World)) error {
	return b.Testbed.Run(ctx, s, func(w testbed.World) { f(blunted{w}) })
}

// blunted hides what else the world can do.
type blunted struct{ testbed.World }

func TestFaultThatTheTestbedCannotDo(t *testing.T) {
	bubble.Use(t)
	s := pair{plain("too-much", with(pause("client-1", time.Second, at(time.Second)))), control}.setup(5, io.Discard)
	s.Testbed = blunt{bed}
	out, err := harness.Do(t.Context(), s)
	var cannot *faults.ErrCannot
	if out != nil || !errors.As(err, &cannot) || cannot.Fault != "pause" {
		t.Fatalf("Do = %v, %v; want ErrCannot of pause", out, err)
	}
	for _, word := range []string{"too-much", "single/none", "seed 5", "pause client-1"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not name %q: %v", word, err)
		}
	}
}

func TestFaultOfSomethingThatIsNotThere(t *testing.T) {
	bubble.Use(t)
	for _, f := range []faults.Fault{
		faults.Pause{Client: "client-9"}, faults.Crash{Client: "client-9"}, faults.Stop{Node: "redis-9"},
		faults.Clock{Node: "redis-9", Jump: time.Second}, faults.Cut{Link: to("client-1", "redis-9"), Direction: faults.Both},
	} {
		sc := plain("nobody", with(faults.Step{Fault: f, When: at(time.Second)}))
		if out, err := harness.Do(t.Context(), pair{sc, control}.setup(1, io.Discard)); err == nil {
			t.Errorf("%s %s: the run came out as %v", f.Name(), f.Target(), out.Results)
		}
	}
}

// full is a disk with room for so many bytes.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n := f.room
		f.room = 0
		return n, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

// A run whose history cannot be written was not carried out, wherever the
// writing failed.
func TestHistoryThatCannotBeWritten(t *testing.T) {
	bubble.Use(t)
	var whole bytes.Buffer
	p := pair{plain("full-disk"), control}
	if _, err := harness.Do(t.Context(), p.setup(1, &whole)); err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 100, 2000, whole.Len() / 2, whole.Len() - 1} {
		out, err := harness.Do(t.Context(), p.setup(1, &full{room}))
		if out != nil || !errors.Is(err, errFull) {
			t.Errorf("with room for %d of %d bytes: %v, %v; want the writer's error", room, whole.Len(), out, err)
		}
	}
	if _, err := harness.Do(t.Context(), p.setup(1, &full{whole.Len()})); err != nil {
		t.Errorf("with room for all: %v", err)
	}
}

func TestContextThatEndedBefore(t *testing.T) {
	bubble.Use(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := harness.Do(ctx, pair{plain("too-late"), control}.setup(1, io.Discard))
	if out != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, %v; want context.Canceled", out, err)
	}
}

// broke is a testbed that panics in the middle of a run, as one with a bug does.
type broke struct{ testbed.Testbed }

func (b broke) Run(ctx context.Context, s testbed.Spec, f func(testbed.World)) error {
	return b.Testbed.Run(ctx, s, func(w testbed.World) { f(w); panic("out of order") })
}

func TestTestbedThatFails(t *testing.T) {
	bubble.Use(t)
	var file bytes.Buffer
	s := pair{plain("accident"), control}.setup(1, &file)
	s.Testbed = broke{bed}
	if out, err := harness.Do(t.Context(), s); out != nil || err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("Do = %v, %v; want the testbed's panic", out, err)
	}
	h, err := history.Decode(&file)
	if err != nil || h.Complete || len(h.Records) == 0 {
		t.Errorf("the history decodes with %v, complete %v, %d records; want what there was, cut short", err, h.Complete, len(h.Records))
	}
}

// The clients that come to rest leave nothing on the way: what a slow link still
// carries when the last client has given up arrives before the quiet begins.
func TestQuietWaitsForLatePackets(t *testing.T) {
	bubble.Use(t)
	sc := plain("late-packet", workload(func(w *scenarios.Workload) { w.Clients, w.Rounds = 1, 2 }),
		with(faults.Step{
			Fault: faults.Slow{Link: to("client-1", "redis-1"), Direction: faults.ToNode, By: 20 * time.Second},
			For:   time.Second, When: faults.Trigger{Client: "client-1", Event: faults.Acquiring, Nth: 2},
		}))
	out := mustRun(t, pair{sc, control}, 1)
	quiet := time.Duration(0)
	for _, r := range out.History.Records {
		switch {
		case r.Kind == history.Note && r.Op == history.Quiet:
			quiet = r.T
		case r.Op == history.Granted && quiet > 0 && r.Client != history.Probe:
			t.Errorf("a key of %s was granted %v after the quiet had begun", r.Client, r.T-quiet)
		}
	}
	for _, name := range kept {
		if got := verdict(out, name); got.Verdict != checker.Holds {
			t.Errorf("%s is %v%s", name, got.Verdict, tell(out))
		}
	}
}

// claimer is a lock that claims its lease until a time of its own choice.
type claimer struct {
	impls.Lock
	until time.Time
}

func (c claimer) Acquire(ctx context.Context) (impls.Lease, error) {
	l, err := c.Lock.Acquire(ctx)
	l.Until = c.until
	return l, err
}

// A claim is a claim, however odd: one of the distant past is believed for no
// time, one of the distant future is caught.
func TestOddClaims(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name    string
		until   time.Time
		check   string
		verdict checker.Verdict
	}{
		{"the past", time.Unix(0, 0), "mutual-exclusion", checker.Holds},
		{"the past", time.Unix(0, 0), "stale-use", checker.Violated},
		{"the future", time.Unix(1<<40, 0), "honesty", checker.Violated},
	} {
		v := broken.Single(broken.NoTokenCheck)
		sound := v.New
		v.New = func(e impls.Env, c impls.Config) (impls.Lock, error) {
			l, err := sound(e, c)
			return claimer{l, tt.until}, err
		}
		out := mustRun(t, pair{overrun, v}, 1)
		if got := verdict(out, tt.check); got.Verdict != tt.verdict {
			t.Errorf("a claim until %s: %s is %v, want %v%s", tt.name, tt.check, got.Verdict, tt.verdict, tell(out))
		}
	}
}

// A client that keeps the lock does its section and does not give it back; what
// renews the lock in its process goes on.
func TestKeeping(t *testing.T) {
	bubble.Use(t)
	keeper := workload(func(w *scenarios.Workload) { w.Keep = []string{"client-1"} })
	for _, tt := range []struct {
		v       impls.Version
		verdict checker.Verdict // of no-deadlock
	}{
		{control, checker.Holds},
		{broken.Renewing(broken.None), checker.Violated},
	} {
		out := mustRun(t, pair{plain("kept", keeper), tt.v}, 1)
		want := []string{"invoke acquire", "ok acquire", "invoke read", "ok read", "invoke write", "ok write"}
		if got := heard(out.History, "client-1"); !slices.Equal(got, want) {
			t.Errorf("%s: client-1 did\n%q\nwant\n%q", tt.v.Name, got, want)
		}
		if got := verdict(out, "no-deadlock"); got.Verdict != tt.verdict {
			t.Errorf("%s: no-deadlock is %v, want %v%s", tt.v.Name, got.Verdict, tt.verdict, tell(out))
		}
	}
	read := plain("kept", workload(func(w *scenarios.Workload) {
		w.Clients, w.Keep, w.Readers = 1, []string{"client-1"}, []string{"client-1"}
	}))
	want := []string{"invoke acquire shared", "ok acquire shared", "invoke read", "ok read", "invoke read", "ok read"}
	if got := heard(mustRun(t, pair{read, shared}, 1).History, "client-1"); !slices.Equal(got, want) {
		t.Errorf("the reader did\n%q\nwant\n%q", got, want)
	}
}

// The header says what the checks must know, and no more than the version has.
func TestHeader(t *testing.T) {
	bubble.Use(t)
	short := func(s *scenarios.Scenario) { s.Lock.RenewingTTL = 3 * time.Second }
	h := mustRun(t, pair{plain("renewing", short), broken.Renewing(broken.None)}, 1).History.Header
	if h.Lock.TTL != 3*time.Second || h.Topology.Quorum != 1 || len(h.Topology.Nodes) != 1 || len(h.Labels) != 0 {
		t.Errorf("of a version that renews: %+v", h)
	}
	h = mustRun(t, pair{plain("quorum", short), broken.Quorum(broken.None)}, 1).History.Header
	if h.Lock.TTL != 30*time.Second || h.Topology.Quorum != 3 || len(h.Topology.Nodes) != 5 || h.Topology.Name != "independent-5" {
		t.Errorf("of a quorum lock: %+v", h)
	}
	h = mustRun(t, pair{plain("nested", workload(func(w *scenarios.Workload) { w.Nest, w.Releases = 3, 3 })), nesting}, 1).History.Header
	if h.Workload.Nest != 3 || h.Workload.Releases != 0 || h.Workload.Readers != nil {
		t.Errorf("of a nested section: %+v", h.Workload)
	}
	all := plain("all", func(s *scenarios.Scenario) { s.Bounds.Overtakes = 3 }, workload(func(w *scenarios.Workload) {
		w.Nest, w.Releases, w.Readers = 3, 2, []string{"client-2"}
	}))
	one := shared
	one.Traits.Token = impls.TokenClient
	h = mustRun(t, pair{all, one}, 1).History.Header
	if h.Workload.Nest != 3 || h.Workload.Releases != 2 || !slices.Equal(h.Workload.Readers, []string{"client-2"}) || h.Bounds.Overtakes != 3 {
		t.Errorf("of readers and nested sections: %+v %+v", h.Workload, h.Bounds)
	}
	if !slices.Equal(h.Labels, []string{"one owner for all grants of a client"}) {
		t.Errorf("of a version with one value for all grants: %q", h.Labels)
	}
	h = mustRun(t, mustPair(t, "crash-no-ttl", "setnx-del"), 1).History.Header
	if h.Lock.TTL != 0 || !slices.Equal(h.Labels, []string{"owners are not unique"}) {
		t.Errorf("of a version without TTL and without a value of its own: %+v", h)
	}
}

func TestJudgePanicsOnAnUnknownCheck(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it did not")
		}
	}()
	harness.Judge(&history.History{}, []string{"no-such-check"})
}
