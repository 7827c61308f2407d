package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
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

// An error that is none of the contract's leaves the outcome unknown: nothing is
// taken for a refusal, and who was never answered with a yes is not accused. A
// release that was answered is: see the mutants.
func TestRogueThatReturnsGarbage(t *testing.T) {
	bubble.Use(t)
	out := mustRun(t, pair{plain("no-wait", func(s *scenarios.Scenario) { s.Lock.Wait = 0 }), broken.Single(broken.GarbageErrors)}, 1)
	unknown := count(out.History, func(r history.Record) bool {
		return r.Kind == history.Unknown && strings.Contains(r.Error, "something went wrong")
	})
	refused := count(out.History, func(r history.Record) bool { return r.Kind == history.Fail })
	if unknown != 1 || refused != 0 {
		t.Errorf("%d outcomes are unknown and %d are refusals, want 1 and 0", unknown, refused)
	}
	if got := verdict(out, "honesty"); got.Verdict != checker.Holds {
		t.Errorf("honesty is %v%s", got.Verdict, tell(out))
	}
}

// A release that says neither yes nor no is accused only if its client had every
// answer; in these runs the lock that always says so had not, or may not have had.
func TestWhoHasNoAnswerMaySayNothing(t *testing.T) {
	bubble.Use(t)
	release := func(p faults.Point) faults.Trigger {
		return wire("client-1", faults.Wire{Command: 1, During: faults.InRelease, Point: p})
	}
	link := to("client-1", "redis-1")
	for _, tt := range []struct {
		name  string
		steps []faults.Step
	}{
		{"the request is lost", []faults.Step{{Fault: faults.Drop{What: faults.Request}, When: release(faults.BeforeSend)}}},
		{"the reply is lost", []faults.Step{{Fault: faults.Drop{What: faults.Reply}, When: release(faults.Applied)}}},
		{"the connection is reset", []faults.Step{{Fault: faults.Reset{Link: link}, When: release(faults.Applied)}}},
		{"the node is not there", []faults.Step{{Fault: faults.Stop{Node: "redis-1"}, For: 20 * time.Second, When: when("client-1", faults.Written, 0)}}},
		{"the reply is held", []faults.Step{{Fault: faults.Hold{Link: link, Direction: faults.ToClient}, For: 2 * time.Second, When: release(faults.BeforeSend)}}},
		{"the reply is slow", []faults.Step{{Fault: faults.Slow{Link: link, Direction: faults.Both, By: time.Second}, For: 5 * time.Second, When: when("client-1", faults.Written, 0)}}},
		{"the node refuses", []faults.Step{{Fault: faults.Refuse{Node: "redis-1", With: faults.Busy}, For: 5 * time.Second, When: when("client-1", faults.Written, 0)}}},
		{"the client stands still", []faults.Step{pause("client-1", 40*time.Second, release(faults.BeforeSend))}},
		{"the client is called off", []faults.Step{{Fault: faults.Cancel{Client: "client-1"}, When: when("client-1", faults.Acquired, time.Second)}}},
		{"the client is called off and has sent", []faults.Step{{Fault: faults.Cancel{Client: "client-1"}, When: release(faults.Applied)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := plain("no-answer", workload(func(w *scenarios.Workload) { w.Clients = 1 }), with(tt.steps...))
			out := mustRun(t, pair{sc, broken.Single(broken.GarbageErrors)}, 1)
			if got := verdict(out, "honesty"); got.Verdict != checker.Holds || out.Undecided != "" {
				t.Errorf("honesty is %v%s", got.Verdict, tell(out))
			}
		})
	}
}

// Of an outcome that is known it is not said that everything was answered.
func TestKnownOutcomesSayNothingOfAnswers(t *testing.T) {
	bubble.Use(t)
	for _, sc := range []*scenarios.Scenario{quietly, overrun} {
		out := mustRun(t, pair{sc, control}, 1)
		if n := count(out.History, func(r history.Record) bool { return r.Answered }); n != 0 {
			t.Errorf("%s: %d records say so", sc.Name, n)
		}
	}
}

// bursting is a lock that panics in some of its methods.
type bursting struct {
	impls.Lock
	in string
}

func (b bursting) burst(op string) {
	if b.in == op {
		panic(fmt.Errorf("boiler burst in %s", op))
	}
}

func (b bursting) Acquire(ctx context.Context) (impls.Lease, error) {
	b.burst(history.Acquire)
	return b.Lock.Acquire(ctx)
}

func (b bursting) AcquireShared(ctx context.Context) (impls.Lease, error) { return b.Acquire(ctx) }

func (b bursting) Release(ctx context.Context, l impls.Lease) error {
	b.burst(history.Release)
	return b.Lock.Release(ctx, l)
}

func (b bursting) Extend(_ context.Context, l impls.Lease) (impls.Lease, error) {
	b.burst(history.Extend)
	return l, nil
}

func burstsIn(op string) impls.Version {
	return made(func(t *impls.Traits) { t.Shared, t.Extend = true, true }, func(l impls.Lock, _ impls.Env, _ impls.Config) impls.Lock {
		return bursting{l, op}
	})
}

// A panic of a method that a handler calls is the outcome of that call, and the
// handler goes on as one does that recovers: it gives back what it has, and comes
// again.
func TestPanicIsAnOutcome(t *testing.T) {
	bubble.Use(t)
	extending := plain("extending", workload(func(w *scenarios.Workload) { w.Rounds, w.Extend = 2, 2*time.Second }))
	reader := plain("reading", workload(func(w *scenarios.Workload) { w.Rounds, w.Readers = 2, []string{"client-1"} }))
	get, use := []string{"invoke acquire", "ok acquire"}, []string{"invoke read", "ok read", "invoke write", "ok write"}
	for _, tt := range []struct {
		op    string
		sc    *scenarios.Scenario
		error string
		round []string // what client-1 hears in each round
	}{
		{history.Acquire, twoRounds, "panic: boiler burst in acquire at harness_test.bursting.burst rogues_test.go:", []string{"invoke acquire", "unknown acquire"}},
		{history.Acquire, reader, "panic: boiler burst in acquire at harness_test.bursting.burst rogues_test.go:", []string{"invoke acquire shared", "unknown acquire shared"}},
		{history.Release, twoRounds, "panic: boiler burst in release at harness_test.bursting.burst rogues_test.go:", slices.Concat(get, use, []string{"invoke release", "unknown release"})},
		{history.Extend, extending, "panic: boiler burst in extend at harness_test.bursting.burst rogues_test.go:", slices.Concat(get, use[:2], []string{"invoke extend", "unknown extend", "invoke release", "ok release"})},
	} {
		t.Run(tt.op+"/"+tt.sc.Name, func(t *testing.T) {
			out := mustRun(t, pair{tt.sc, burstsIn(tt.op)}, 1)
			heard := heard(out.History, "client-1")
			if tt.op != history.Release {
				if want := slices.Concat(tt.round, tt.round); !slices.Equal(heard, want) {
					t.Errorf("client-1 did\n%q\nwant\n%q", heard, want)
				}
			} else if !slices.Equal(heard[:len(tt.round)], tt.round) { // the second round waits for the lease
				t.Errorf("client-1 did\n%q\nwant first\n%q", heard, tt.round)
			}
			panics := count(out.History, func(r history.Record) bool {
				return r.Panicked && r.Kind == history.Unknown && r.Op == tt.op && strings.HasPrefix(r.Error, tt.error)
			})
			if all := count(out.History, func(r history.Record) bool { return r.Kind == history.Unknown }); panics == 0 || panics != all {
				t.Errorf("%d of %d unknown outcomes are a panic with %q", panics, all, tt.error)
			}
			got := verdict(out, "honesty")
			if got.Verdict != checker.Violated || !slices.ContainsFunc(got.Findings, func(f checker.Finding) bool {
				return f.Who[0] == "client-1" && strings.Contains(f.Cause, "did not return but panicked") && strings.Contains(f.Cause, "boiler burst")
			}) {
				t.Errorf("honesty is %v%s", got.Verdict, tell(out))
			}
		})
	}
}

// miscounting is a lock that makes a library panic.
type miscounting struct {
	impls.Lock
	times int
}

func (m miscounting) Release(context.Context, impls.Lease) error {
	return errors.New(strings.Repeat("no", m.times))
}

// The place is in the package whose method was called, however deep below it the
// panic began.
func TestPanicBelowTheLock(t *testing.T) {
	bubble.Use(t)
	v := made(func(*impls.Traits) {}, func(l impls.Lock, _ impls.Env, _ impls.Config) impls.Lock { return miscounting{l, -1} })
	out := mustRun(t, pair{twoRounds, v}, 1)
	if count(out.History, func(r history.Record) bool {
		return r.Panicked && strings.Contains(r.Error, " at harness_test.miscounting.Release rogues_test.go:")
	}) == 0 {
		t.Errorf("no panic is said to be in the lock's Release%s", tell(out))
	}
}

// The rogues of the kind that panic do so in every run alike.
func TestRoguePanicsAlike(t *testing.T) {
	bubble.Use(t)
	for r, where := range map[broken.Rogue]string{
		broken.PanicsInAcquire: "panic: rogue: in Acquire at broken.(*rogue).Acquire rogue.go:",
		broken.PanicsInRelease: "panic: rogue: in Release at broken.(*rogue).Release rogue.go:",
	} {
		p := pair{twoRounds, broken.RogueVersion(r)}
		one, two := mustRun(t, p, 1), mustRun(t, p, 1)
		if n := count(one.History, func(r history.Record) bool { return r.Panicked && strings.HasPrefix(r.Error, where) }); n == 0 {
			t.Errorf("%s: no outcome is %q", r, where)
		}
		if one.SHA256 != two.SHA256 {
			t.Errorf("%s: two runs with one seed differ", r)
		}
	}
}

// A panic of New or Close, which no handler calls, and an error that cannot be read
// are errors of the run, which say which lock it was and where, and keep what was
// recorded before.
func TestRogueThatFailsTheRun(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		rogue broken.Rogue
		says  string
	}{
		{broken.PanicsInNew, "panicked: rogue: in New"},
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
