// Package blindrenew is a watchdog that checks and prolongs in two round trips.
//
// D2 section 3.2:
//
//	scheduler.scheduleAtFixedRate(() -> {
//	    if (isLockHeld(key, requestId)) { // only renew what we still hold
//	        stringRedisTemplate.expire(key, leaseTime, TimeUnit.MILLISECONDS);
//	    }
//	}, renewInterval, renewInterval, TimeUnit.MILLISECONDS);
//
// Its mistake is the window between the two commands: the lock may pass to
// another client after the GET and before the PEXPIRE, which then prolongs that
// client's lease. Nor does it tell the holder when it finds that the lock is not
// its own: it only skips the tick.
//
// Taking and giving back are those of D2 section 2: SET NX with an expiry and the
// compare-and-delete script, whose 0 is ErrNotHeld. Three points the article
// leaves open:
//
//   - The renewal is cancelled at release, which as Java's Future.cancel(false)
//     does prevents the next tick and does not wait for one that has begun.
//   - An error skips its tick. To the letter, scheduleAtFixedRate stops for ever
//     when a task throws; fragile-watchdog shows what comes of that, and this
//     version is about the two steps alone.
//   - A tick that is still running delays the next one; the ones missed
//     meanwhile are not made up for.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package blindrenew

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
	"lockpick/impls/internal/background"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is blind-renew.
var Version = impls.Version{
	Name:    "blind-renew",
	Summary: "a watchdog that checks by GET and prolongs by PEXPIRE; in between the lock may be another's",
	Where:   "D2 3.2",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewBlind,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

type lock struct {
	client    impls.Redis
	uuid      func() string
	cfg       impls.Config
	scheduler *background.Group

	mu      sync.Mutex               // guards futures; never held during a command
	futures map[string]chan struct{} // by owner; closed to cancel
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{
		client:    env.Redis(),
		uuid:      env.Token,
		cfg:       cfg,
		scheduler: background.New(),
		futures:   make(map[string]chan struct{}),
	}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	requestID := l.uuid()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.SetNX(ctx, l.cfg.Key, requestID, l.cfg.TTL).Result()
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	l.scheduleRenewal(requestID)
	return impls.Lease{Owner: requestID}, nil
}

func (l *lock) scheduleRenewal(requestID string) {
	cancelled := make(chan struct{})
	l.mu.Lock()
	l.futures[requestID] = cancelled
	l.mu.Unlock()

	l.scheduler.Go(func(ctx context.Context) {
		tick := time.NewTicker(l.cfg.TTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-cancelled:
				return
			case <-ctx.Done():
				return
			}
			select {
			case <-cancelled: // both at the same instant
				return
			default:
				l.renew(ctx, requestID)
			}
		}
	})
}

func (l *lock) renew(ctx context.Context, requestID string) {
	held, err := l.isLockHeld(ctx, requestID)
	if err != nil || !held {
		return
	}
	// This is the window: whoever holds the lock by now gets the new expiry.
	_ = l.client.PExpire(ctx, l.cfg.Key, l.cfg.TTL).Err()
}

func (l *lock) isLockHeld(ctx context.Context, requestID string) (bool, error) {
	value, err := l.client.Get(ctx, l.cfg.Key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	return value == requestID, nil
}

func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	l.cancel(lease.Owner)
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) cancel(requestID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancelled, ok := l.futures[requestID]; ok {
		close(cancelled)
		delete(l.futures, requestID)
	}
}

func (l *lock) Close() error {
	l.scheduler.Close()
	return nil
}
