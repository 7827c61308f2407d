package quorum

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"lockpick/impls"
)

// The bounds of the pause between two tries. Clients that failed together must
// not try again together.
const (
	minPause = 50 * time.Millisecond
	maxPause = 250 * time.Millisecond
)

// Timeout is what a node has for its answer: a small part of the lease, TTL/20,
// and at most 50 ms, the largest that the Redlock page names. The time it costs
// to find a node silent is time that the lease loses.
func Timeout(ttl time.Duration) time.Duration { return min(ttl/20, 50*time.Millisecond) }

// Drift is what clocks that run unequally fast may make of a lease: 1 % of it,
// and 2 ms for the precision of Redis' expiry and for short leases.
func Drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// Validity is what is left of a lease that took elapsed to get, counted from
// before the first request was sent. With 0 or less there is no lease.
func Validity(ttl, elapsed time.Duration) time.Duration { return ttl - elapsed - Drift(ttl) }

// Pauses draws the pauses between tries. It is safe for concurrent use.
type Pauses struct {
	mu   sync.Mutex
	dice *rand.Rand
}

// NewPauses returns pauses drawn from the dice, which belong to them from then on.
func NewPauses(dice *rand.Rand) *Pauses { return &Pauses{dice: dice} }

func (p *Pauses) draw() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return minPause + time.Duration(p.dice.Int64N(int64(maxPause-minPause)))
}

// Retry calls try until it returns nil, wait has passed since the call, or ctx is
// done. A try whose error is not ErrNotAcquired may have been granted unheard; it
// does not end the tries, but when none is granted, its error is returned.
// Otherwise the error is ErrNotAcquired, with ctx.Err() when ctx ended it.
func Retry(ctx context.Context, wait time.Duration, pauses *Pauses, try func(context.Context) error) error {
	start := time.Now()
	var unheard error
	for {
		err := impls.Ended(ctx)
		if err != nil {
			err = fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
		} else if err = try(ctx); err == nil {
			return nil
		}
		if !errors.Is(err, impls.ErrNotAcquired) {
			unheard = err
		}
		pause := pauses.draw()
		if impls.Ended(ctx) == nil && time.Since(start)+pause <= wait && impls.Sleep(ctx, pause) == nil {
			continue
		}
		switch ended := impls.Ended(ctx); {
		case unheard != nil:
			return unheard
		case ended != nil && !errors.Is(err, ended):
			return fmt.Errorf("%w: %w", err, ended)
		default:
			return err
		}
	}
}
