package broken

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
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

type quorum struct {
	env  impls.Env
	cfg  impls.Config
	flaw Flaw
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
		if got, ok, err = l.try(ctx); ok || err != nil {
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

// try asks every node once.
func (l *quorum) try(ctx context.Context) (impls.Lease, bool, error) {
	token := l.env.Token()
	start := time.Now()
	granted := make([]bool, len(l.env.Nodes()))
	yes := 0
	for i, n := range l.env.Nodes() {
		if ok, err := n.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result(); ok && err == nil {
			granted[i] = true
			yes++
		}
	}
	until := start.Add(l.cfg.TTL - l.cfg.TTL/drift)
	if yes >= l.needed() && (time.Now().Before(until) || l.flaw == NoElapsedCheck) {
		if l.flaw == NoElapsedCheck {
			until = time.Time{}
		}
		return lease(token, until), true, nil
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
