// Package fenced is the single-node lock with a fencing token, which D1 section 4
// calls the real last line of defence: every grant has a number that grows, the
// holder sends it with each write, and the store refuses a write whose number is
// older than one that it has seen.
//
// Grant and number come from one script:
//
//	if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
//	    return redis.call('incr', KEYS[2])
//	end
//	return 0
//
// With two commands a client that is held up between them would get a number
// that is newer than the grant of whoever came after it. The counter, the lock's
// key and ":fence", has no time to live.
//
// The release is compare-and-delete in Lua, and goes out although the caller's
// context has ended. There is no renewal: Until is TTL after the request was sent, less Redis' precision,
// and a holder that works on is stopped by the store. A grant whose answer took
// longer than the lease is given back.
//
// What it cannot do: a store that does not look at the number gains nothing from
// it, and one that does learns of a new grant only by its first write. Until then it
// takes the old holder's, and the new one then overwrites that with what it made of
// an earlier read. And a node that loses the counter, by a restart or a failover,
// begins to count anew; the store then refuses everybody until the old number is
// reached.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package fenced

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/fencing"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is fenced.
var Version = impls.Version{
	Name:    "fenced",
	Summary: "SET NX PX and INCR of a fencing number in one script, compare-and-delete in Lua; no renewal",
	Where:   "D1 4",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Fencing: true,
	},
	New: newLock,
}

type lock struct {
	client impls.Redis
	uuid   func() string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg}, nil
}

// Acquire may return up to TTL/3 after ctx has ended, when it has to clean up
// behind a grant whose answer did not arrive.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	lease := impls.Lease{Owner: l.uuid()}
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		sent := time.Now()
		fence, err := fencing.Grant(ctx, l.client, l.cfg.Key, lease.Owner, l.cfg.TTL)
		if err != nil || fence == 0 {
			return false, err
		}
		lease.Fence, lease.Until = fence, sent.Add(l.cfg.TTL-impls.Precision)
		if !time.Now().Before(lease.Until) {
			_, err := l.delete(ctx, lease.Owner)
			return false, err
		}
		return true, nil
	})
	switch {
	case err == nil:
		return lease, nil
	case errors.Is(err, impls.ErrNotAcquired):
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	// Whatever the delete finds, the outcome stays unknown: the request may still be on its way.
	if _, failed := l.delete(ctx, lease.Owner); failed != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w (taking it back: %w)", l.cfg.Key, err, failed)
	}
	return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
}

// Release may return up to TTL/3 after ctx has ended, and may be called again
// after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := l.delete(ctx, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

// delete removes our value, if it is there, whatever has become of ctx.
func (l *lock) delete(ctx context.Context, owner string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
	defer cancel()
	return owned.Delete(ctx, l.client, l.cfg.Key, owner)
}

func (l *lock) Close() error { return nil }
