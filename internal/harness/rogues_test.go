package harness_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/impls/broken"
	"lockpick/internal/harness"
	"lockpick/internal/testbed/sim"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// twoRounds is enough for a second section after the one that goes wrong. Nobody
// expects of a lock that polls that it keeps to the order of arrival.
var twoRounds = plain("two-rounds", workload(func(w *scenarios.Workload) { w.Rounds = 2 }),
	func(s *scenarios.Scenario) { s.Bounds.Overtakes = 100 })

// A lock that blocks is an outcome: the run ends, in little real time, and the
// history says who is stuck.
func TestRogueThatBlocks(t *testing.T) {
	bubble.Use(t)
	clients := []string{"client-1", "client-2", history.Probe}
	tests := []struct {
		rogue broken.Rogue
		sc    *scenarios.Scenario
		stuck []string // of whom the history says that they are
		check string   // what is violated
		cause string
	}{
		{broken.BlocksInAcquire, twoRounds, clients, "no-deadlock", "client-1 has been in acquire"},
		{broken.BlocksInAcquire, twoRounds, clients, "availability", "for a lock that no running client held"},
		{broken.BlocksInRelease, twoRounds, clients, "no-deadlock", "client-1 has been in release"},
		{broken.BlocksInClose, twoRounds, clients, "no-deadlock", "client-1 does not come back from Close"},
		{broken.SleepsForHours, twoRounds, clients, "no-deadlock", "client-1 has been in acquire"},
		{broken.LeaksGoroutine, twoRounds, nil, "footprint", "after Close"},
		{broken.LeaksTicker, twoRounds, nil, "footprint", "after Close"},
		{broken.LeaksListener, twoRounds, nil, "footprint", "while it held nothing"},
	}
	for _, tt := range tests {
		t.Run(string(tt.rogue)+"/"+tt.check, func(t *testing.T) {
			out := mustRun(t, pair{tt.sc, broken.RogueVersion(tt.rogue)}, 1)
			for _, who := range tt.stuck {
				if !note(out.History, history.Stuck, who) {
					t.Errorf("the history does not say that %s is stuck", who)
				}
			}
			if !note(out.History, history.Left, "") {
				t.Error("the history does not say that something outlived its Close")
			}
			got := verdict(out, tt.check)
			if got.Verdict != checker.Violated || !slices.ContainsFunc(got.Findings, func(f checker.Finding) bool {
				return strings.Contains(f.Cause, tt.cause)
			}) {
				t.Errorf("%s is %v, want violated because %q%s", tt.check, got.Verdict, tt.cause, tell(out))
			}
		})
	}
}

// A lock that waits for a message which never comes is stuck as long as the run
// lasts. What wakes it is the end of its connections, and nothing outlives that.
func TestRogueThatBlocksInSubscribe(t *testing.T) {
	bubble.Use(t)
	for _, redis := range []string{scenarios.Single, scenarios.Sentinel} {
		sc := plain("listening-"+redis, func(s *scenarios.Scenario) {
			s.Topology.Redis, s.Topology.Replicas, s.Topology.DownAfter = redis, 2, downAfter
		})
		out := mustRun(t, pair{sc, broken.RogueVersion(broken.BlocksInSubscribe)}, 1)
		for _, who := range []string{"client-1", "client-2", history.Probe} {
			if !note(out.History, history.Stuck, who) {
				t.Errorf("%s: the history does not say that %s is stuck", redis, who)
			}
		}
		if note(out.History, history.Left, "") {
			t.Errorf("%s: something outlived its Close", redis)
		}
		if got := verdict(out, "no-deadlock"); got.Verdict != checker.Violated {
			t.Errorf("%s: no-deadlock is %v%s", redis, got.Verdict, tell(out))
		}
	}
}

// A lock that leaves connections behind is found by how many a node has open at
// once. They end with the client, and hold up nothing.
func TestRogueThatLeaksConnections(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		rogue broken.Rogue
		bound func(*scenarios.Bounds)
		cause string
	}{
		{broken.LeaksSubscription, func(b *scenarios.Bounds) { b.Subscriptions = 4 }, "subscriptions"},
		{broken.LeaksClient, func(b *scenarios.Bounds) { b.Connections = 6 }, "connections"},
	} {
		for _, redis := range []string{scenarios.Single, scenarios.Sentinel} {
			t.Run(string(tt.rogue)+"/"+redis, func(t *testing.T) {
				sc := plain("five-rounds", workload(func(w *scenarios.Workload) { w.Rounds = 5 }), func(s *scenarios.Scenario) {
					s.Topology.Redis, s.Topology.Replicas, s.Topology.DownAfter = redis, 2, downAfter
					tt.bound(&s.Bounds)
				})
				out := mustRun(t, pair{sc, broken.RogueVersion(tt.rogue)}, 1)
				got := verdict(out, "footprint")
				if got.Verdict != checker.Violated || !slices.ContainsFunc(got.Findings, func(f checker.Finding) bool {
					return strings.Contains(f.Cause, tt.cause)
				}) {
					t.Errorf("footprint is %v, want violated because of its %s%s", got.Verdict, tt.cause, tell(out))
				}
				control := mustRun(t, pair{sc, broken.Single(broken.None)}, 1)
				if got := verdict(control, "footprint"); got.Verdict != checker.Holds {
					t.Errorf("footprint of the lock that leaves nothing behind is %v%s", got.Verdict, tell(control))
				}
			})
		}
	}
}

// A lock that takes no notice of its context is cut off from the world with its
// client and does not hold up the run.
func TestRogueThatIgnoresItsContext(t *testing.T) {
	bubble.Use(t)
	out := mustRun(t, pair{crash, broken.Single(broken.IgnoresContext)}, 1)
	if got := verdict(out, "no-deadlock"); got.Verdict != checker.Holds {
		t.Errorf("no-deadlock is %v%s", got.Verdict, tell(out))
	}
}

// An error that is none of the contract's leaves the outcome unknown: nobody is
// accused for it, and nothing is taken for a refusal.
func TestRogueThatReturnsGarbage(t *testing.T) {
	bubble.Use(t)
	v := broken.Single(broken.GarbageErrors)
	for _, sc := range []*scenarios.Scenario{alonePaused, plain("no-wait", func(s *scenarios.Scenario) { s.Lock.Wait = 0 })} {
		out := mustRun(t, pair{sc, v}, 1)
		unknown := count(out.History, func(r history.Record) bool {
			return r.Kind == history.Unknown && strings.Contains(r.Error, "something went wrong")
		})
		refused := count(out.History, func(r history.Record) bool { return r.Kind == history.Fail })
		if unknown != 1 || refused != 0 {
			t.Errorf("%s: %d outcomes are unknown and %d are refusals, want 1 and 0", sc.Name, unknown, refused)
		}
		if got := verdict(out, "honesty"); got.Verdict != checker.Holds {
			t.Errorf("%s: honesty is %v%s", sc.Name, got.Verdict, tell(out))
		}
	}
}

// A panic is an error that says which lock it was and where, and keeps what was
// recorded before it.
func TestRogueThatPanics(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		rogue broken.Rogue
		says  string
	}{
		{broken.PanicsInNew, "panicked: rogue: in New"},
		{broken.PanicsInAcquire, "panicked: rogue: in Acquire"},
		{broken.PanicsInRelease, "panicked: rogue: in Release"},
		{broken.PanicsInClose, "panicked in Close: rogue: in Close"},
		{broken.PanickingError, "panicked"},
		{broken.NilLock, "New returned neither a lock nor an error"},
	} {
		r := tt.rogue
		t.Run(string(r), func(t *testing.T) {
			var file bytes.Buffer
			p := pair{twoRounds, broken.RogueVersion(r)}
			out, err := harness.Do(t.Context(), p.setup(7, &file))
			if err == nil {
				t.Fatalf("the run came out as %v", out.Results)
			}
			line, _, _ := strings.Cut(err.Error(), "\n")
			for _, word := range []string{"two-rounds", "rogue/" + string(r), "seed 7", tt.says} {
				if !strings.Contains(line, word) {
					t.Errorf("the error does not say %q: %s", word, line)
				}
			}
			h, err := history.Decode(&file)
			if err != nil || h.Complete {
				t.Errorf("the history decodes with %v, complete %v; want one that is cut short", err, h.Complete)
			}
			for _, c := range checker.All() {
				if got := c.Judge(h); got.Verdict == checker.Violated {
					t.Errorf("%s of what was recorded is violated: %v", c.Name, got.Findings)
				}
			}
		})
	}
}

// child names the rogue that this process, started by a test, is to run.
const child = "LOCKPICK_TEST_ROGUE"

// TestRogueInChild is the other side of the tests that need a process of their
// own; it does nothing in an ordinary run.
func TestRogueInChild(t *testing.T) {
	name, path := os.Getenv(child), os.Getenv(child+"_HISTORY")
	if name == "" {
		t.Skip("started by other tests only")
	}
	bubble.Use(t)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	guarded := sim.New(sim.WithGuard(time.Second, func(err error) {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(4)
	}))
	p := pair{twoRounds, broken.RogueVersion(broken.Rogue(name))}
	s := p.setup(3, f)
	s.Testbed = guarded
	if _, err := harness.Do(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// mustFailInChild runs a rogue in a process of its own and returns its exit
// status, what it said, and the history it left.
func mustFailInChild(t *testing.T, r broken.Rogue) (status int, said string, h *history.History) {
	t.Helper()
	path := t.TempDir() + "/history.jsonl"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRogueInChild$")
	cmd.Env = append(os.Environ(), child+"="+string(r), child+"_HISTORY="+path)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the child ended with %v, want a failure:\n%s", err, text)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if h, err = history.Decode(f); err != nil {
		t.Errorf("the history that is left does not decode: %v", err)
	}
	return exit.ExitCode(), string(text), h
}

// A lock that spins stops virtual time. The guard sees it, and what happened up
// to then is in the file, to the last line.
func TestRogueThatSpins(t *testing.T) {
	status, said, h := mustFailInChild(t, broken.Spins)
	if status != 4 || !strings.Contains(said, "loops without ever waiting") || !strings.Contains(said, "seed 3") {
		t.Errorf("exit status %d, said %q; want 4 and that time stands still", status, said)
	}
	if h == nil || h.Complete {
		t.Fatalf("the history is %+v, want one that is cut short", h)
	}
	set := count(h, func(r history.Record) bool { return r.Op == history.Granted })
	if set == 0 {
		t.Errorf("the history ends before the lock span: %d records", len(h.Records))
	}
}

// A goroutine that waits for a sync.Mutex does not count as waiting in virtual
// time. A lock that holds one during a command, with somebody waiting for it,
// stops time as one that spins does.
func TestRogueThatLocksAcrossIO(t *testing.T) {
	status, said, h := mustFailInChild(t, broken.LocksAcrossIO)
	if status != 4 || !strings.Contains(said, "waits for a mutex") {
		t.Errorf("exit status %d, said %q; want 4 and that a mutex is held", status, said)
	}
	if h == nil || h.Complete {
		t.Errorf("the history is %+v, want one that is cut short", h)
	}
}

// A panic in a goroutine of the lock's own ends the process, as it does
// everywhere in Go: nobody can catch it. What the history's buffer held is lost;
// the header is not.
func TestRogueThatPanicsBehind(t *testing.T) {
	status, said, h := mustFailInChild(t, broken.PanicsBehind)
	if status != 2 || !strings.Contains(said, "rogue: behind your back") {
		t.Errorf("exit status %d, said %q; want the Go run-time's 2 and the panic", status, said)
	}
	if h == nil || h.Complete || h.Header.Scenario != "two-rounds" {
		t.Errorf("the history is %+v, want at least its header", h)
	}
}
