// Package locallock is a lock with a mutex of the process in front of Redis.
//
// It is the shape of RedisLockRegistry in spring-integration: a lock per key in the
// process, so that only one of its threads at a time asks Redis, and behind it
// SET NX PX and a compare-and-delete script:
//
//	localLock.lock();
//	… SET key value NX PX …          // an error gives localLock back
//
//	… compare and delete …           // throws when Redis does not answer, or the key has expired
//	localLock.unlock();              // is not reached then
//
// Its mistake: the local lock is given back only after the remote one was
// (spring-projects/spring-integration#1888, #2660, #3821, and #8795, where nobody
// releases, by design). If the release fails, the key expires and the other processes
// go on; the other threads of this one wait for the local lock until their
// Config.Wait is over. They are told ErrNotAcquired, and Redis was never asked.
//
// The local lock is re-entrant, as there: the thread whose release failed passes it
// again and has its turn with the others. It needs as many releases as it has
// passed, so it never gives it back.
//
// What is left of Config.Wait behind the local lock is spent on Redis, once every
// 100 ms. Everything else is lua-release.
package locallock

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is local-lock.
var Version = impls.Version{
	Name:      "local-lock",
	Summary:   "a mutex of the process before SET NX PX and Lua release, which stays locked when the release fails",
	Where:     "spring-projects/spring-integration#1888",
	VariantOf: "lua-release",
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
	client impls.Redis
	local  *mutex
	thread string
	uuid   func() string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	local := impls.Shared(env.Process(), "local-lock/"+cfg.Key, newMutex)
	return &lock{client: env.Redis(), local: local, thread: env.Owner(), uuid: env.Token, cfg: cfg}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	end := time.Now().Add(l.cfg.Wait)
	if err := l.local.lock(ctx, l.thread, l.cfg.Wait); err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q in the process: %w", l.cfg.Key, err)
	}
	token := l.uuid()
	err := impls.Poll(ctx, max(time.Until(end), 0), retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	})
	if err != nil {
		l.local.unlock()
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token}, nil
}

// Release may be called again after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	l.local.unlock() // not reached when Redis says no, or nothing
	return nil
}

func (l *lock) Close() error { return nil }
