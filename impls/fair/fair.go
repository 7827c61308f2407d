// Package fair is a lock that is granted in the order of arrival.
//
// D1 section 3 names it among what Redisson offers, and the design is Redisson's
// in outline: beside the lock a list of the waiters in the order in which they came,
// and a sorted set that says until when each of them counts. One script puts
// the caller in the queue, drops the dead from its head, and grants the lock if it
// is free and the caller is the head.
//
// A waiter asks every 100 ms, and each time says anew that it is alive. One that is not
// heard of for 5 s is dropped when it has become the head. Redisson documents the
// same 5 s. Only a waiter itself moves the time until which it counts, and always to
// 5 s from now: where the others' coming and going moves it too, it drifts
// hours ahead (redisson/redisson#1104). With a TTL below 30 s it is a sixth of
// that, so that the dead cost no more than they would have by holding the lock.
//
// The two keys of the queue are named after the lock's, and expire with the last of
// the waiters. Who gives up leaves the queue, whatever has become of its context.
//
// What it cannot do: a waiter that is paused for those 5 s loses its place. The time is
// the server's: if its clock jumps ahead, all that wait are dropped but the one
// that asks next, and they queue again in the order in which they ask. A
// replica that is promoted may know the queue of a moment ago. The lease is as long
// as it is, and nothing renews it.
package fair

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const (
	retryDelay = 100 * time.Millisecond

	// mostSilence is how long a waiter counts that is not heard of.
	mostSilence = 5 * time.Second
)

// Version is fair.
var Version = impls.Version{
	Name:    "fair",
	Summary: "first come, first served: a queue in Redis, from which a dead waiter is dropped after 5 s; Lua release, no renewal",
	Where:   "D1 3",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Fair:    true,
	},
	New: newLock,
}

//go:embed acquire.lua
var acquireSource string

//go:embed withdraw.lua
var withdrawSource string

var (
	acquireScript  = redis.NewScript(acquireSource)
	withdrawScript = redis.NewScript(withdrawSource)
)

type lock struct {
	client  impls.Redis
	uuid    func() string
	cfg     impls.Config
	keys    []string
	silence time.Duration
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{
		client:  env.Redis(),
		uuid:    env.Token,
		cfg:     cfg,
		keys:    []string{cfg.Key, cfg.Key + ":queue", cfg.Key + ":deadlines"},
		silence: silence(cfg.TTL),
	}, nil
}

// silence is how long a waiter counts that is not heard of, for a lock with that
// TTL.
func silence(ttl time.Duration) time.Duration {
	return min(mostSilence, max(ttl/6, 3*retryDelay))
}

// Acquire may return up to TTL/3 after ctx has ended, since it leaves the queue
// first.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	var asked bool
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		asked = true
		n, err := acquireScript.Run(ctx, l.client, l.keys, token, l.cfg.TTL.Milliseconds(), l.silence.Milliseconds()).Int()
		return n == 1, err
	})
	if err != nil && asked {
		err = errors.Join(err, l.withdraw(ctx, token))
	}
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token}, nil
}

// withdraw leaves the queue, and gives back what Acquire may have been granted
// without knowing.
func (l *lock) withdraw(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
	defer cancel()
	if err := withdrawScript.Run(ctx, l.client, l.keys, token).Err(); err != nil {
		return fmt.Errorf("leaving the queue: %w", err)
	}
	return nil
}

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
