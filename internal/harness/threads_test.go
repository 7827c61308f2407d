package harness_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// threaded are clients that are threads, so many to a process.
func threaded(clients, threads int) func(*scenarios.Scenario) {
	return workload(func(w *scenarios.Workload) { w.Clients, w.Threads = clients, threads })
}

// locks are several of them.
func locks(count int) func(*scenarios.Scenario) {
	return func(s *scenarios.Scenario) { s.Lock.Key, s.Lock.Count = "order", count }
}

// guarded is a sound lock with a mutex of the process in front of it, which a
// thread gets before it asks Redis: a channel, as nobody may wait for a mutex here.
var guarded = made(func(*impls.Traits) {}, func(l impls.Lock, e impls.Env, _ impls.Config) impls.Lock {
	return &guard{l, impls.Shared(e.Process(), "mutex", func() chan struct{} { return make(chan struct{}, 1) })}
})

type guard struct {
	impls.Lock
	mutex chan struct{}
}

func (g *guard) Acquire(ctx context.Context) (impls.Lease, error) {
	select {
	case g.mutex <- struct{}{}:
	case <-ctx.Done():
		return impls.Lease{}, fmt.Errorf("%w: %w", impls.ErrNotAcquired, ctx.Err())
	}
	l, err := g.Lock.Acquire(ctx)
	if err != nil {
		<-g.mutex
	}
	return l, err
}

func (g *guard) Release(ctx context.Context, l impls.Lease) error {
	defer func() { <-g.mutex }()
	return g.Lock.Release(ctx, l)
}

// oneOwner has one owner for a process, and behind a mutex takes the key over that this
// has left there, as RedisLockRegistry of spring-integration does.
var oneOwner = made(func(*impls.Traits) {}, func(_ impls.Lock, e impls.Env, cfg impls.Config) impls.Lock {
	owner := impls.Shared(e.Process(), "owner", e.Token)
	l := newVariant(parts{take: takeIdempotent, give: giveEval}, ownedByProcess{e, owner}, cfg)
	return &guard{l, impls.Shared(e.Process(), "mutex", func() chan struct{} { return make(chan struct{}, 1) })}
})

// ownedByProcess is the world of a thread whose tokens are its process's owner.
type ownedByProcess struct {
	impls.Env
	owner string
}

func (o ownedByProcess) Token() string { return o.owner }

// A thread that takes over what a lost release of its process has left there has the
// lock. It has lost it when that release was only late.
func TestThreadTakesOver(t *testing.T) {
	bubble.Use(t)
	sc := *mustPair(t, "local-lock-stays", "lua-release").scenario
	sc.Checks = []string{"mutual-exclusion", "ownership", "honesty", "availability", "no-deadlock", "no-lost-update", "footprint"}
	sc.Bounds.Availability = 6 * time.Second // until the release gives up, and not a TTL
	out := mustRun(t, pair{&sc, oneOwner}, 1)
	if text := tell(out); text != "" {
		t.Errorf("the release is lost:%s", text)
	}
	sc.Steps[0].Fault = faults.Hold{Link: to("client-1", "redis-1"), Direction: faults.ToNode}
	sc.Steps[0].For = 6 * time.Second // until the other thread works
	if out := mustRun(t, pair{&sc, oneOwner}, 1); verdict(out, "ownership").Verdict != checker.Violated {
		t.Errorf("ownership is %v, want violated: the release is late:%s", verdict(out, "ownership").Verdict, tell(out))
	}
}

// Each client locks its own of several locks, in turn, and uses its resource; the
// probe does the first one's.
func TestEachClientHasALockOfItsOwn(t *testing.T) {
	bubble.Use(t)
	sc := plain("several", threaded(5, 1), locks(3), func(s *scenarios.Scenario) { s.Bounds.Throughput = 0.01 })
	out := mustRun(t, pair{sc, control}, 1)
	head := out.History.Header
	if head.Lock.Key != "order" || head.Lock.Count != 3 || head.Workload.Threads != 0 || head.Bounds.Throughput != 0.01 {
		t.Errorf("the header has %+v, %+v, %+v", head.Lock, head.Workload, head.Bounds)
	}
	want := map[string]string{
		"client-1": "order:1", "client-2": "order:2", "client-3": "order:3", "client-4": "order:1", "client-5": "order:2", "probe": "order:1",
	}
	granted := map[string]string{}
	for _, r := range out.History.Records {
		who := r.Who
		switch {
		case r.Op == history.Acquire, r.Op == history.Release:
		case r.Op == history.Granted, r.Op == history.Deleted, r.Op == history.Apply:
			who = r.Client
		default:
			continue
		}
		if r.Key != want[who] {
			t.Errorf("%s of %s is of %q, want %q", r.Op, who, r.Key, want[who])
		}
		granted[who] = r.Key
	}
	if len(granted) != len(want) {
		t.Errorf("only %v took part", granted)
	}
	for i, name := range sc.Clients() {
		if got := head.Lock.KeyOf(i%head.Lock.Count + 1); got != sc.KeyOf(i+1) || got != want[name] {
			t.Errorf("the history calls the lock of %s %q, the scenario %q", name, got, sc.KeyOf(i+1))
		}
	}
	values := tellValues(out.History)
	if want := "order:1=198 order:2=198 order:3=199"; values != want {
		t.Errorf("in the end the stock is %s, want %s", values, want)
	}
}

// tellValues lists what the store had in the end.
func tellValues(h *history.History) string {
	var list []string
	for _, r := range h.Records {
		if r.Who == scenarios.Store && r.Op == history.Keys && r.Text == history.AtEnd {
			list = append(list, fmt.Sprintf("%s=%d", r.Key, *r.Value))
		}
	}
	return strings.Join(list, " ")
}

// With one lock and processes of one thread a history says what it always said.
func TestOneOfEachChangesNothing(t *testing.T) {
	bubble.Use(t)
	before := mustRun(t, pair{plain("as-ever"), control}, 1)
	after := mustRun(t, pair{plain("as-ever", threaded(2, 1), func(s *scenarios.Scenario) { s.Lock.Count = 1 }), control}, 1)
	if before.SHA256 != after.SHA256 {
		t.Error("to say that there is one lock, and one thread to a process, changes the history")
	}
}

// Two locks of which one is broken: the finding is of that one, and names records
// of its clients.
func TestOneOfTwoLocksIsBroken(t *testing.T) {
	bubble.Use(t)
	sc := plain("one-of-two", threaded(4, 1), locks(2), with(pause("client-2", 40*time.Second, when("client-2", faults.Acquired, time.Second))))
	out := mustRun(t, pair{sc, control}, 1)
	for _, name := range []string{"stale-use", "no-lost-update"} {
		res := verdict(out, name)
		if res.Verdict != checker.Violated || len(res.Findings) == 0 {
			t.Errorf("%s is %v, want violated", name, res.Verdict)
		}
		for _, f := range res.Findings {
			if !strings.HasPrefix(f.Cause, "order:2: ") {
				t.Errorf("%s: %s", name, f.Cause)
			}
			for _, line := range f.Lines {
				r := out.History.Records[line-history.Line(0)]
				if ones := []string{"client-1", "client-3"}; slices.Contains(ones, r.Who) || slices.Contains(ones, r.Client) || r.Key == "order:1" {
					t.Errorf("%s names a record of the other lock: %+v", name, r)
				}
			}
		}
	}
	for _, name := range []string{"ownership", "no-deadlock", "no-orphan", "availability"} {
		if res := verdict(out, name); res.Verdict != checker.Holds {
			t.Errorf("%s is %v: %s %v", name, res.Verdict, res.Reason, res.Findings)
		}
	}
}

// The threads of a process share what it keeps, the first of them makes it, and
// the probe is a process of its own.
func TestThreadsShareTheirProcess(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name    string
		clients int
		threads int
		want    string
	}{
		{"a process for each", 4, 1, "client-1:client-1 client-2:client-2 client-3:client-3 client-4:client-4 probe:probe"},
		{"two to a process", 4, 2, "client-1:client-1 client-2:client-1 client-3:client-3 client-4:client-3 probe:probe"},
		{"one process", 4, 4, "client-1:client-1 client-2:client-1 client-3:client-1 client-4:client-1 probe:probe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(upTo(5, 20, 100)) {
				var mu sync.Mutex
				var shares []string // who made what each shares
				v := made(func(*impls.Traits) {}, func(l impls.Lock, e impls.Env, _ impls.Config) impls.Lock {
					maker := impls.Shared(e.Process(), "maker", e.Owner)
					mu.Lock()
					shares = append(shares, e.Owner()+":"+maker)
					mu.Unlock()
					return l
				})
				sc := plain("shared", threaded(tt.clients, tt.threads), workload(func(w *scenarios.Workload) { w.Stagger = 0 }))
				mustRun(t, pair{sc, v}, seed)
				slices.Sort(shares)
				if got := strings.Join(shares, " "); got != tt.want {
					t.Fatalf("seed %d: who shares what whom has made: %s, want %s", seed, got, tt.want)
				}
			}
		})
	}
}

// A fault of one thread is recorded once, strikes its process, and every check
// knows of it.
func TestFaultOfAThread(t *testing.T) {
	bubble.Use(t)
	struck := func(h *history.History, op string) int {
		return count(h, func(r history.Record) bool { return r.Kind == history.Fault && r.Op == op && r.Text == history.Struck })
	}
	// client-2 holds the lock when its process dies with client-1; client-3 and
	// client-4 go on, and get it when the lease is over
	crash := plain("thread-crash", threaded(4, 2), workload(func(w *scenarios.Workload) {
		w.WorkOf = map[string]time.Duration{"client-1": 0}
	}), with(faults.Step{Fault: faults.Crash{Client: "client-1"}, When: when("client-2", faults.Acquired, time.Second)}))
	out := mustRun(t, pair{crash, control}, 1)
	if n := struck(out.History, "crash"); n != 1 {
		t.Errorf("%d crashes are recorded", n)
	}
	if n := out.History.Header.Workload.Threads; n != 2 {
		t.Errorf("the history tells the checks of %d threads to a process, want 2", n)
	}
	finished := func(name string) bool {
		return count(out.History, func(r history.Record) bool { return r.Who == name && r.Op == history.Done }) > 0
	}
	for name, want := range map[string]bool{"client-2": false, "client-3": true, "client-4": true} {
		if finished(name) != want {
			t.Errorf("%s has finished: %v, want %v", name, !want, want)
		}
	}
	for _, name := range []string{"mutual-exclusion", "no-deadlock", "availability", "no-lost-update"} {
		if res := verdict(out, name); res.Verdict != checker.Holds {
			t.Errorf("after the crash, %s is %v: %v", name, res.Verdict, res.Findings)
		}
	}
	if note(out.History, history.Stuck, "client-2") {
		t.Error("client-2 is said to be stuck, and is dead")
	}

	late := plain("thread-pause", threaded(4, 2), with(pause("client-2", 40*time.Second, when("client-1", faults.Acquired, time.Second))))
	out = mustRun(t, pair{late, control}, 1)
	if res := verdict(out, "stale-use"); res.Verdict != checker.Violated || !slices.Contains(res.Findings[0].Who, "client-1") {
		t.Errorf("client-1 slept with client-2, and stale-use is %v: %v", res.Verdict, res.Findings)
	}
}

// Threads that contend for a mutex of their process do so in an order that follows
// from the seed; what dies with one of them holding it is its own process alone.
func TestThreadsAreDeterministic(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name string
		step []faults.Step
	}{
		{"undisturbed", nil},
		{"paused", []faults.Step{pause("client-1", 40*time.Second, when("client-1", faults.Acquired, 0))}},
		{"crashed", []faults.Step{{Fault: faults.Crash{Client: "client-2"}, When: when("client-1", faults.Acquired, 0)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := plain("contended", threaded(6, 3), locks(2), with(tt.step...), workload(func(w *scenarios.Workload) {
				w.Stagger, w.Work, w.Rounds, w.Think = 0, 20*time.Millisecond, 3, 0
			}))
			side(upTo(5, 40, 300), func(seed int) {
				out := mustRun(t, pair{sc, guarded}, uint64(seed+1))
				if again := mustSum(t, pair{sc, guarded}, uint64(seed+1)); again != out.SHA256 {
					t.Errorf("seed %d gave two histories", seed+1)
				}
				for _, name := range []string{"client-4", "client-5", "client-6"} {
					if count(out.History, func(r history.Record) bool { return r.Who == name && r.Op == history.Done }) == 0 {
						t.Errorf("seed %d: %s, of the other process, did not finish", seed+1, name)
					}
				}
			})
		})
	}
}

// What is true of a sound lock is true of several of them, in processes of several
// threads.
func TestSoundLocksOfSeveralAreNotAccused(t *testing.T) {
	bubble.Use(t)
	all := append(sound(), broken.Single(broken.None), guarded)
	side(upTo(20, 120, 900), func(i int) {
		seed, v := uint64(i+1), all[i%len(all)]
		sc := inPairs(spared(onOneNode(benign(seed), v), v))
		out := mustRun(t, pair{sc, v}, seed)
		for _, name := range kept {
			if got := verdict(out, name); got.Verdict == checker.Violated {
				t.Errorf("%s with %s, seed %d: accused of %s%s", sc.Name, v.Name, seed, name, tell(out))
				tellSteps(t, pair{sc, v}, seed)
				return
			}
		}
	})
}

// inPairs gives the clients of a scenario two locks, and makes pairs of them
// processes. A process is paused once, as a client was.
func inPairs(s *scenarios.Scenario) *scenarios.Scenario {
	s.Workload.Clients += s.Workload.Clients % 2
	s.Workload.Threads = 2
	locks(2)(s)
	paused := map[int]bool{}
	s.Steps = slices.DeleteFunc(slices.Clone(s.Steps), func(step faults.Step) bool {
		p, ok := step.Fault.(faults.Pause)
		if !ok {
			return false
		}
		process := s.ProcessOf(slices.Index(s.Clients(), p.Client) + 1)
		again := paused[process]
		paused[process] = true
		return again
	})
	return s
}
