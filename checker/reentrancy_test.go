package checker

import (
	"fmt"
	"testing"
	"time"

	"lockpick/checker/history"
)

// A lock that counts is never accused; one that counts wrong is, whenever it
// gives the lock away before the last release or keeps it after.
func TestReentrancyOfCountingLocks(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(800) {
		for _, mistake := range []string{"", "counts once", "counts twice"} {
			h, wrong := nestedHistory(seed, mistake)
			res := reentrancy().Judge(h)
			if res.Verdict == Violated && !wrong {
				t.Fatalf("seed %d, %q: accused: %v\n%s", seed, mistake, res, show(h))
			}
			if res.Verdict != Violated && wrong {
				t.Fatalf("seed %d, %q: %v\n%s", seed, mistake, res, show(h))
			}
			if seed < 30 {
				mustSurvive(t, fmt.Sprint("nested history ", seed, mistake), h)
			}
			counts[fmt.Sprint(mistake, ": ", res.Verdict)]++
		}
	}
	t.Log(counts)
	for _, want := range []string{": holds", "counts once: violated", "counts twice: violated", "counts twice: holds"} {
		if counts[want] < 100 {
			t.Errorf("the random histories are one-sided: %v", counts)
		}
	}
}

// nestedHistory is a few sections of one client, which takes the lock up to three
// times in each and gives it back as often, or less. The lock counts, but for its
// mistake. The lease may expire at any time. It reports whether the lock was
// given away by a release that was not the last one owed, or kept after that, in a
// section in which it was held from the first acquire on.
func nestedHistory(seed uint64, mistake string) (h *history.History, wrong bool) {
	l := &countingLock{script: newScript(seed, "client-1"), mistake: mistake}
	l.h.Header.Lock.TTL = 1000
	for l.round = 1; l.round <= 3; l.round++ {
		l.owner, l.first = fmt.Sprint("owner", l.round), true
		l.section()
	}
	return l.end(), l.wrong
}

// countingLock is a lock that its only client nests.
type countingLock struct {
	*script
	mistake string
	round   int
	owner   string
	count   int  // as the node has it
	first   bool // held from the section's first acquire on
	wrong   bool
}

func (l *countingLock) section() {
	taken := 1 + l.IntN(3)
	for depth := 1; depth <= taken; depth++ {
		l.call(history.Acquire, depth, func() history.Kind { return l.take(depth) })
	}
	releases, expires := taken, -1
	if l.IntN(4) == 0 {
		releases--
	}
	if l.IntN(4) == 0 {
		expires = l.IntN(taken + 1)
	}
	for k := range releases {
		l.now++
		if k == expires {
			l.expire()
		}
		l.call(history.Release, taken-k, func() history.Kind { return l.give(k, taken) })
	}
	l.now++
	l.expire()
}

func (l *countingLock) take(depth int) history.Kind {
	switch {
	case l.count == 0:
		l.first = depth == 1
		l.count = 1
		l.node(history.Granted, 1000)
	case l.mistake == "counts once":
		l.node(history.Renewed, 1000)
	case l.mistake == "counts twice":
		l.count += 2
		l.node(history.Replaced, 1000)
	default:
		l.count++
		l.node(history.Replaced, 1000)
	}
	return history.OK
}

// give is release k of a section that has taken the lock so often.
func (l *countingLock) give(k, taken int) history.Kind {
	switch {
	case l.count == 0:
		return history.Fail
	case l.count == 1:
		l.node(history.Deleted, 0)
		l.count = 0
		l.wrong = l.wrong || l.first && k < taken-1
	default:
		l.count--
		l.node(history.Replaced, 1000)
		l.wrong = l.wrong || l.first && k == taken-1 && taken > 1
	}
	return history.OK
}

func (l *countingLock) expire() {
	if l.count > 0 {
		l.node(history.Expired, 0)
		l.count, l.first = 0, false
	}
}

func (l *countingLock) node(op string, ttl time.Duration) {
	l.add(history.Record{
		Who: "redis-1", Kind: history.Observe, Op: op, Key: "k", Owner: fmt.Sprint(l.owner, "=", l.count),
		Holder: "client-1", Client: "client-1", TTL: ttl,
	})
}

func (l *countingLock) call(op string, depth int, effect func() history.Kind) {
	r := history.Record{Who: "client-1", Round: l.round, Op: op}
	if op == history.Release {
		r.Owner = l.owner
	}
	if depth > 1 {
		r.Depth = depth
	}
	l.now++
	r = l.begin(r)
	l.now++
	kind := effect()
	l.now++
	r.Owner = l.owner
	l.finish(r, kind)
}
