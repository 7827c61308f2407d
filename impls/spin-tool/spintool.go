// Package spintool is the reusable class of D2.
//
// D2 section 6.1, RedisDistributedLock:
//
//	long deadline = System.currentTimeMillis() + waitMs;
//	do {
//	    Boolean ok = redisTemplate.opsForValue().setIfAbsent(key, requestId, leaseMs, MILLISECONDS);
//	    if (Boolean.TRUE.equals(ok)) return requestId;
//	    Thread.sleep(50);
//	} while (System.currentTimeMillis() < deadline);
//	return null;
//
// Its mistakes: it asks every 50 ms however many others do the same; the
// deadline is on the wall clock, so a clock that is set while it waits ends the
// wait early or stretches it; and it sleeps once more although it has stopped
// trying. The release is the script, and its answer is the method's boolean: 0
// is ErrNotHeld.
//
// The article's prefix "lock:" is left out: Config.Key is stored as it is. An
// interrupted sleep makes tryLock return null, which here is ErrNotAcquired
// together with the context's error.
package spintool

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const spin = 50 * time.Millisecond

// Version is spin-tool.
var Version = impls.Version{
	Name:    "spin-tool",
	Summary: "the reusable class of D2: polls every 50 ms until a wall-clock deadline, Lua release",
	Where:   "D2 6.1",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

type lock struct {
	client            impls.Redis
	uuid              func() string
	currentTimeMillis func() time.Time
	cfg               impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, currentTimeMillis: env.Wall, cfg: cfg}, nil
}

// Acquire is tryLock.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	requestID := l.uuid()
	deadline := l.currentTimeMillis().Add(l.cfg.Wait)
	for {
		ok, err := l.client.SetNX(ctx, l.cfg.Key, requestID, l.cfg.TTL).Result()
		if err != nil {
			return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
		}
		if ok {
			return impls.Lease{Owner: requestID}, nil
		}
		if err := impls.Sleep(ctx, spin); err != nil {
			return impls.Lease{}, fmt.Errorf("acquire %q: %w: %w", l.cfg.Key, impls.ErrNotAcquired, err)
		}
		if !l.currentTimeMillis().Before(deadline) {
			return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, impls.ErrNotAcquired)
		}
	}
}

// Release is unlock.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
