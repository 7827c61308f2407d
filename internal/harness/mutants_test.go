package harness_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// mutant is a lock with one planted bug and the check that must find it. The
// same lock without the bug must pass that check in the same scenario.
type mutant struct {
	flaw     broken.Flaw
	of       func(broken.Flaw) impls.Version
	scenario *scenarios.Scenario
	check    string
	culprit  string // the first of the finding's names; empty when nobody is to blame
	cause    string // words of the finding's cause
}

func workload(change func(*scenarios.Workload)) func(*scenarios.Scenario) {
	return func(s *scenarios.Scenario) { change(&s.Workload) }
}

var (
	overrun = plain("overrun", workload(func(w *scenarios.Workload) {
		w.Clients, w.Work = 3, 35*time.Second
	}), func(s *scenarios.Scenario) { s.Lock.Wait = 2 * time.Minute })

	longWork = plain("long-work", workload(func(w *scenarios.Workload) { w.Work = 50 * time.Second }),
		func(s *scenarios.Scenario) { s.Lock.Wait = 2 * time.Minute })

	quietly = plain("nothing-goes-wrong", workload(func(w *scenarios.Workload) { w.Rounds = 4 }))

	impatient = plain("impatient", soon)

	crash = plain("crash", workload(func(w *scenarios.Workload) { w.Stagger = 5 * time.Second }),
		with(faults.Step{Fault: faults.Crash{Client: "client-1"}, When: when("client-1", faults.Acquired, time.Second)}))

	lateRelease = plain("late-release", workload(func(w *scenarios.Workload) {
		w.Rounds, w.Think, w.Work = 2, 30*time.Second, 8*time.Second
	}), with(faults.Step{
		Fault: faults.Slow{Link: to("client-1", "redis-1"), Direction: faults.ToNode, By: 38 * time.Second},
		For:   time.Second, When: when("client-1", faults.Releasing, 0),
	}))

	lostReply = plain("lost-reply", with(faults.Step{
		Fault: faults.Drop{What: faults.Reply}, When: wire("client-1", faults.Wire{Command: 1, Point: faults.Applied}),
	}))

	lostRelease = plain("lost-release", with(faults.Step{
		Fault: faults.Drop{What: faults.Request},
		When:  wire("client-1", faults.Wire{Command: 1, During: faults.InRelease, Point: faults.BeforeSend}),
	}))

	alonePaused = plain("pause-alone", workload(func(w *scenarios.Workload) { w.Clients = 1 }),
		with(pause("client-1", 40*time.Second, when("client-1", faults.Acquired, time.Second))))

	// client-1 stands still past its lease just before its first renewal leaves;
	// client-2 has the lock when it wakes.
	pausedRenewal = plain("paused-renewal", workload(func(w *scenarios.Workload) { w.Work = 25 * time.Second }),
		with(pause("client-1", 40*time.Second, wire("client-1", faults.Wire{Command: 1, During: faults.InHold, Point: faults.BeforeSend}))))

	// client-1 stands still past its lease; when it wakes and extends it, client-2
	// has the lock.
	pausedExtension = plain("paused-extension", workload(func(w *scenarios.Workload) { w.Work, w.Extend = 25*time.Second, 10*time.Second }),
		with(pause("client-1", 40*time.Second, when("client-1", faults.Acquired, 5*time.Second))))

	// The same, but client-2 has come and gone meanwhile: the key is free.
	extensionAfterGap = plain("extension-after-a-gap", workload(func(w *scenarios.Workload) { w.Work, w.Extend = 6*time.Second, 4*time.Second }),
		with(pause("client-1", 50*time.Second, when("client-1", faults.Acquired, time.Second))))

	// client-1 is cut off while it works, hears so from its own lock, and asks
	// before it writes.
	cutOff = plain("cut-off", workload(func(w *scenarios.Workload) { w.Work, w.Heed = 40*time.Second, true }),
		func(s *scenarios.Scenario) { s.Lock.Wait = 2 * time.Minute },
		with(faults.Step{
			Fault: faults.Cut{Link: to("client-1", "redis-1"), Direction: faults.Both},
			For:   38 * time.Second, When: when("client-1", faults.Acquired, time.Second),
		}))

	// client-1 reaches two nodes of five and client-2 the other three.
	split = plain("split", with(
		cut("client-1", "redis-1"), cut("client-1", "redis-2"), cut("client-1", "redis-3"),
		cut("client-2", "redis-4"), cut("client-2", "redis-5"),
	), func(s *scenarios.Scenario) { s.Lock.Wait = 0 })

	// Every answer to client-1 takes 700 ms, and a first command needs three of
	// them: when the fifth node has granted, the leases of the first two are over.
	slowNodes = plain("slow-nodes", func(s *scenarios.Scenario) { s.Lock.TTL, s.Lock.Wait = 5*time.Second, 10*time.Second },
		workload(func(w *scenarios.Workload) { w.Work, w.Stagger = 3*time.Second, 9900*time.Millisecond }),
		with(slow("redis-1"), slow("redis-2"), slow("redis-3"), slow("redis-4"), slow("redis-5")))

	// Two and three of five nodes are down in turn, so that client-1 finds no majority
	// while it counts on redis-1 and redis-2, client-2 finds redis-1 to redis-3, and
	// client-3 the three that client-1 never had.
	unevenCounts = plain("uneven-counts", func(s *scenarios.Scenario) { s.Lock.Wait = 3 * time.Second },
		workload(func(w *scenarios.Workload) { w.Clients, w.Stagger, w.Work = 3, time.Minute, time.Second }),
		with(down("redis-3", 0, 55*time.Second), down("redis-4", 0, 115*time.Second), down("redis-5", 0, 115*time.Second),
			down("redis-1", 118*time.Second, 40*time.Second), down("redis-2", 118*time.Second, 40*time.Second)))

	// client-3 is granted the lock later than one TTL after it began to wait.
	longWait = plain("long-wait", workload(func(w *scenarios.Workload) { w.Clients, w.Work = 3, 20*time.Second }), soon)

	// client-2 waits for less than client-1 works.
	shortWait = plain("short-wait", func(s *scenarios.Scenario) { s.Lock.Wait = 2 * time.Second })

	nested = plain("nested", workload(func(w *scenarios.Workload) { w.Nest, w.Releases = 2, 2 }))

	// client-2, client-3 and client-4 wait for client-1, in this order.
	waitInLine = plain("wait-in-line", workload(func(w *scenarios.Workload) { w.Clients, w.Work = 4, 8*time.Second }))

	// The same, with a store that takes every write.
	uncheckedLine = plain("unchecked-line", workload(func(w *scenarios.Workload) {
		w.Clients, w.Work, w.Fences = 4, 8*time.Second, scenarios.Ignored
	}))

	// client-1 and client-2 read together, and client-3 wants to write.
	readTogether = plain("read-together", workload(func(w *scenarios.Workload) {
		w.Clients, w.Rounds, w.Readers = 3, 2, []string{"client-1", "client-2"}
	}))

	// client-1 writes, and client-2 and client-3 want to read.
	writeFirst = plain("write-first", workload(func(w *scenarios.Workload) {
		w.Clients, w.Readers = 3, []string{"client-2", "client-3"}
	}))

	severalKeys = plain("several-keys", several, soon)

	// client-1 loses the first of its keys, and client-2 gets that one and not the
	// other.
	halfFree = plain("half-free", several, soon,
		with(faults.Step{Fault: faults.Evict{Node: "redis-1", Key: "order:123"}, When: when("client-1", faults.Acquired, 500*time.Millisecond)}))

	// three nodes of five grant client-1 the lock and their replies are lost.
	deafToThree = plain("deaf-to-three", func(s *scenarios.Scenario) { s.Lock.Wait = 0 },
		workload(func(w *scenarios.Workload) { w.Clients = 1 }),
		with(deaf(1), deaf(2), deaf(3)))
)

// soon wants a free lock to be granted within 10 s.
func soon(s *scenarios.Scenario) { s.Bounds.Availability = 10 * time.Second }

// several has a lock of two keys.
func several(s *scenarios.Scenario) { s.Lock.Also = []string{"account:7"} }

func down(node string, from, d time.Duration) faults.Step {
	return faults.Step{Fault: faults.Stop{Node: node}, For: d, When: at(from)}
}

func cut(client, node string) faults.Step {
	return faults.Step{Fault: faults.Cut{Link: to(client, node), Direction: faults.Both}}
}

func slow(node string) faults.Step {
	return faults.Step{Fault: faults.Slow{Link: to("client-1", node), Direction: faults.ToClient, By: 700 * time.Millisecond}, For: 30 * time.Second}
}

// deaf loses the reply of client-1's n-th command, which a sequential quorum
// lock sends to node n.
func deaf(n int) faults.Step {
	return faults.Step{Fault: faults.Drop{What: faults.Reply}, When: wire("client-1", faults.Wire{Command: n, Point: faults.Applied})}
}

var mutants = []mutant{
	{broken.NoTokenCheck, broken.Single, overrun, "ownership", "client-1", "client-1 deleted the key of client-"},
	{broken.NoTokenCheck, broken.Single, overrun, "honesty", "client-1", "it deleted the key of client-"},
	{broken.TokenReused, broken.Single, lateRelease, "stale-use", "client-1", "client-1 deleted the key"},
	{broken.ShortTTL, broken.Single, quietly, "mutual-exclusion", "client-1", "the key expired"},
	{broken.ShortTTL, broken.Single, quietly, "stale-use", "client-1", "the key expired"},
	{broken.SecondsAsMillis, broken.Single, quietly, "mutual-exclusion", "client-1", "the key expired"},
	{broken.MillisAsSeconds, broken.Single, crash, "no-orphan", "client-1", "of client-1"},
	{broken.MillisAsSeconds, broken.Single, crash, "no-deadlock", "client-1", "client-1 crashed"},
	{broken.MillisAsSeconds, broken.Single, crash, "availability", "client-1", "the key of client-1"},
	{broken.GrantLie, broken.Single, quietly, "honesty", "client-2", "the key was that of client-1"},
	{broken.GrantLie, broken.Single, quietly, "mutual-exclusion", "client-2", "granted it to client-2"},
	{broken.RefusalLie, broken.Single, quietly, "honesty", "client-1", "still held it"},
	{broken.ErrorIsRefusal, broken.Single, lostReply, "honesty", "client-1", "still held it"},
	{broken.ReleaseAlwaysOK, broken.Single, alonePaused, "honesty", "client-1", "removed nothing"},
	{broken.ReleaseNeverOK, broken.Single, quietly, "honesty", "client-1", "this call removed it"},
	{broken.ReleaseForgets, broken.Single, lostRelease, "honesty", "client-1", "still held it"},
	{broken.ReleasePrefix, broken.Single, overrun, "ownership", "client-1", "client-1 deleted the key of client-"},
	{broken.ReleaseOtherKey, broken.Single, quietly, "honesty", "client-1", "still held it"},
	{broken.UntilOfReply, broken.Single, quietly, "honesty", "client-1", "longer than"},
	{broken.UntilDouble, broken.Single, quietly, "honesty", "client-1", "longer than"},
	{broken.UntilDouble, broken.Single, overrun, "mutual-exclusion", "client-1", "the key expired"},
	{broken.ExtendLie, broken.Extending, pausedExtension, "honesty", "client-1", "it had ended: the key expired"},
	{broken.ExtendAnew, broken.Extending, extensionAfterGap, "honesty", "client-1", "it had ended: the key expired"},
	{broken.OwnKey, broken.Single, quietly, "mutual-exclusion", "client-1", ""},
	{broken.NoWait, broken.Single, crash, "availability", "client-1", "no running client held the lock"},
	{broken.SwallowsTheLease, broken.Single, impatient, "availability", "client-1", "the key of client-1"},

	{broken.GarbageErrors, broken.Single, alonePaused, "honesty", "client-1", "neither yes nor no (something went wrong)"},
	{broken.GarbageErrors, broken.Single, overrun, "honesty", "client-1", "redis-1 said 0"},

	{broken.EntersAnyway, broken.Single, shortWait, "mutual-exclusion", "client-2", ""},
	{broken.EntersAnyway, broken.Single, shortWait, "honesty", "client-2", "the key was that of client-1"},

	{broken.FenceRepeats, broken.Fenced, quietly, "fencing", "client-1", "got the same fence"},
	{broken.FenceFalls, broken.Fenced, quietly, "fencing", "client-1", "got fence"},
	{broken.FenceFirst, broken.Fenced, uncheckedLine, "fencing", "client-2", "the store applied"},

	{broken.FreeAtFirstRelease, broken.Reentrant, nested, "reentrancy", "client-1", "release 1 gave it away"},
	{broken.OneReleaseMore, broken.Reentrant, nested, "reentrancy", "client-1", "still held it"},
	{broken.NoNesting, broken.Reentrant, nested, "reentrancy", "client-1", "tried at"},

	{broken.NewestFirst, broken.Fair, waitInLine, "fairness", "client-2", "stood in line"},

	{broken.WriterAmongReaders, broken.Shared, readTogether, "mutual-exclusion", "client-1", "client-3 got the lock"},
	{broken.ReaderBesideWriter, broken.Shared, writeFirst, "mutual-exclusion", "client-1", "client-2 got the lock"},
	{broken.LastReaderOut, broken.Shared, readTogether, "ownership", "client-1", ""},

	{broken.KeepsFirst, broken.Several, halfFree, "availability", "client-2", "of client-2 since"},
	{broken.ForgetsSecond, broken.Several, severalKeys, "honesty", "client-1", "still held the key"},
	{broken.ForgetsSecond, broken.Several, severalKeys, "availability", "client-1", "client-2 waited"},

	{broken.RenewAnybody, broken.Renewing, pausedRenewal, "ownership", "client-1", "client-1 renewed the key of client-2"},
	{broken.RenewOnce, broken.Renewing, longWork, "mutual-exclusion", "client-1", "the key expired"},
	{broken.RenewOnce, broken.Renewing, longWork, "stale-use", "client-1", "the key expired"},
	{broken.RenewForever, broken.Renewing, quietly, "footprint", "client-1", "while it held nothing"},
	{broken.LostNever, broken.Renewing, cutOff, "no-lost-update", "", ""},
	{broken.LostNever, broken.Renewing, cutOff, "stale-use", "client-1", "the key expired"},
	{broken.LostLate, broken.Renewing, cutOff, "stale-use", "client-1", "the key expired"},

	{broken.QuorumHalf, broken.Quorum, split, "honesty", "client-1", "only 2 of 5 nodes"},
	{broken.QuorumHalf, broken.Quorum, split, "mutual-exclusion", "client-1", "granted it to client-1"},
	{broken.NoElapsedCheck, broken.Quorum, slowNodes, "mutual-exclusion", "client-1", ""},
	{broken.NoElapsedCheck, broken.Quorum, slowNodes, "stale-use", "client-1", "the key expired"},
	{broken.QuorumReachable, broken.Quorum, split, "honesty", "client-1", "only 2 of 5 nodes"},
	{broken.QuorumReachable, broken.Quorum, split, "mutual-exclusion", "client-1", "granted it to client-1"},
	{broken.DriftAdded, broken.Quorum, quietly, "honesty", "client-1", "longer than"},
	{broken.FirstAttempt, broken.Quorum, longWait, "availability", "", "for a lock that no running client held"},
	{broken.FirstAttempt, broken.Quorum, longWait, "stale-use", "", "it had claimed the lock until"},
	{broken.FenceNotRaised, broken.QuorumFenced, unevenCounts, "fencing", "client-3", "got the same fence"},
	{broken.PartialRelease, broken.Quorum, deafToThree, "honesty", "client-1", "still held it"},
}

func TestMutantsAreCaught(t *testing.T) {
	bubble.Use(t)
	seeds := upTo(1, 3, 50)
	for _, m := range mutants {
		t.Run(string(m.flaw)+"/"+m.scenario.Name+"/"+m.check, func(t *testing.T) {
			for seed := uint64(1); seed <= uint64(seeds); seed++ {
				out := mustRun(t, pair{m.scenario, m.of(m.flaw)}, seed)
				got := verdict(out, m.check)
				if out.Undecided != "" || got.Verdict != checker.Violated {
					t.Fatalf("seed %d: not caught%s", seed, tell(out))
				}
				if !slices.ContainsFunc(got.Findings, func(f checker.Finding) bool {
					blamed := len(f.Who) == 0 && m.culprit == "" || len(f.Who) > 0 && (m.culprit == "" || f.Who[0] == m.culprit)
					return blamed && strings.Contains(f.Cause, m.cause) && len(f.Lines) > 0
				}) {
					t.Errorf("seed %d: no finding blames %q because %q%s", seed, m.culprit, m.cause, tell(out))
				}
			}
		})
	}
}

// What catches a mutant must not be the scenario.
func TestControlsAreNotAccused(t *testing.T) {
	bubble.Use(t)
	seeds := upTo(1, 3, 50)
	for _, m := range mutants {
		t.Run(string(m.flaw)+"/"+m.scenario.Name+"/"+m.check, func(t *testing.T) {
			for seed := uint64(1); seed <= uint64(seeds); seed++ {
				out := mustRun(t, pair{m.scenario, m.of(broken.None)}, seed)
				if got := verdict(out, m.check); out.Undecided != "" || got.Verdict == checker.Violated {
					t.Errorf("seed %d: the lock without the flaw is accused%s", seed, tell(out))
				}
			}
		})
	}
}

// Every flaw that there is has a check that finds it.
func TestEveryFlawIsTried(t *testing.T) {
	tried := map[broken.Flaw]bool{
		broken.IgnoresContext: true, // TestRogueThatIgnoresItsContext
	}
	for _, m := range mutants {
		tried[m.flaw] = true
	}
	for _, f := range broken.Flaws() {
		if !tried[f] {
			t.Errorf("no check is named for %s", f)
		}
	}
}
