package broken

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
)

// Flaws of a lock on several nodes.
const (
	QuorumHalf      Flaw = "quorum-half"      // n/2 nodes will do
	QuorumReachable Flaw = "quorum-reachable" // the majority is one of the nodes that answered (SPSCommerce/redlock-py, PR 6)
	NoElapsedCheck  Flaw = "no-elapsed"       // how long the grant took does not count
	DriftAdded      Flaw = "drift-added"      // the claim is longer by what it should be shorter by (SPSCommerce/redlock-py, PR 3)
	FirstAttempt    Flaw = "first-attempt"    // the lease counts from the first of several tries (mike-marcacci/node-redlock#296)
	PartialRelease  Flaw = "partial-release"  // only the nodes that said yes are asked to delete
	FenceNotRaised  Flaw = "fence-not-raised" // the highest count is not written back to a majority
)

// drift is what a claim is shortened by for clocks that do not agree.
const drift = 100

// Quorum returns the lock on a majority of the independent nodes, with a flaw.
// It asks one node after the other.
func Quorum(f Flaw) impls.Version {
	v := version(f, "quorum", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &quorum{env: e, cfg: c, flaw: f}, nil
	})
	v.Traits.Quorum = true
	return v
}

// QuorumFenced returns the lock on a majority with a fence, with a flaw. The
// fence is the highest of the nodes' counts, and grants only when a majority that
// still has the lock knows of it.
func QuorumFenced(f Flaw) impls.Version {
	v := version(f, "quorum-fenced", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &quorum{env: e, cfg: c, flaw: f, counts: true}, nil
	})
	v.Traits.Quorum, v.Traits.Fencing = true, true
	return v
}

type quorum struct {
	env    impls.Env
	cfg    impls.Config
	flaw   Flaw
	counts bool
}

// errNoMajority means that too few nodes answered to know.
var errNoMajority = errors.New("broken: too few nodes answered")

func (l *quorum) needed() int {
	n := len(l.env.Nodes())
	if l.flaw == QuorumHalf {
		return n / 2
	}
	return n/2 + 1
}

func (l *quorum) Acquire(ctx context.Context) (impls.Lease, error) {
	var got impls.Lease
	dice := l.env.Rand("retry")
	start := time.Now()
	for {
		var ok bool
		var err error
		since := time.Now()
		if l.flaw == FirstAttempt {
			since = start
		}
		if got, ok, err = l.try(ctx, since); ok || err != nil {
			return got, err
		}
		pause := retryDelay + time.Duration(dice.Int64N(int64(retryDelay)))
		if time.Since(start)+pause > l.cfg.Wait {
			return got, impls.ErrNotAcquired
		}
		if err := impls.Sleep(ctx, pause); err != nil {
			return got, fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
		}
	}
}

// try asks every node once. The lease counts from start.
func (l *quorum) try(ctx context.Context, start time.Time) (impls.Lease, bool, error) {
	token := l.env.Token()
	granted := make([]bool, len(l.env.Nodes()))
	yes, answers, fence := 0, 0, uint64(0)
	for i, n := range l.env.Nodes() {
		count, err := l.ask(ctx, n, token)
		if err == nil {
			answers++
		}
		if granted[i] = count > 0; granted[i] {
			yes++
			fence = max(fence, count)
		}
	}
	needed := l.needed()
	if l.flaw == QuorumReachable {
		needed = answers/2 + 1
	}
	if l.counts && l.flaw != FenceNotRaised && yes >= needed {
		yes = l.raise(ctx, token, fence)
	}
	until := start.Add(l.cfg.TTL - l.cfg.TTL/drift)
	if l.flaw == DriftAdded {
		until = start.Add(l.cfg.TTL + l.cfg.TTL/drift)
	}
	if yes >= needed && (time.Now().Before(until) || l.flaw == NoElapsedCheck) {
		if l.flaw == NoElapsedCheck {
			until = time.Time{}
		}
		g := lease(token, until)
		if l.counts {
			g.Fence = fence
		}
		return g, true, nil
	}
	if l.flaw == PartialRelease {
		l.removeFrom(ctx, token, func(i int) bool { return granted[i] })
		return impls.Lease{}, false, nil
	}
	// whoever did not answer may hold the value, which then waits for its end
	if _, silent := l.removeFrom(ctx, token, func(int) bool { return true }); silent > len(granted)-l.needed() {
		return impls.Lease{}, false, errNoMajority
	}
	return impls.Lease{}, false, nil
}

// ask asks one node for the lock. It returns more than 0 when it is granted, and
// how many grants there were if they are counted.
func (l *quorum) ask(ctx context.Context, n impls.Redis, token string) (uint64, error) {
	if l.counts {
		return countScript.Run(ctx, n, []string{l.cfg.Key, counter(l.cfg.Key)}, token, l.cfg.TTL.Milliseconds()).Uint64()
	}
	ok, err := n.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	if err != nil || !ok {
		return 0, err
	}
	return 1, nil
}

// raise lifts every node's count to at least the fence, and returns how many did
// and still have the lock.
func (l *quorum) raise(ctx context.Context, token string, fence uint64) int {
	have := 0
	for _, n := range l.env.Nodes() {
		if ok, err := raiseScript.Run(ctx, n, []string{l.cfg.Key, counter(l.cfg.Key)}, token, fence).Int(); err == nil {
			have += ok
		}
	}
	return have
}

// removeFrom deletes the value from the chosen nodes, all at once, and returns
// how many did and how many did not answer.
func (l *quorum) removeFrom(ctx context.Context, token string, choose func(int) bool) (gone, silent int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, n := range l.env.Nodes() {
		if !choose(i) {
			continue
		}
		all.Go(func() {
			deleted, err := remove(ctx, n, l.cfg.Key, token)
			mu.Lock()
			defer mu.Unlock()
			gone += deleted
			if err != nil {
				silent++
			}
		})
	}
	all.Wait()
	return gone, silent
}

func (l *quorum) Release(ctx context.Context, given impls.Lease) error {
	gone, silent := l.removeFrom(ctx, given.Owner, func(int) bool { return true })
	switch {
	case gone >= l.needed():
		return nil
	case gone+silent < l.needed():
		return impls.ErrNotHeld
	default:
		return errNoMajority
	}
}

func (l *quorum) Close() error { return nil }
