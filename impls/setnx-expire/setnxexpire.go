// Package setnxexpire is SETNX, and then EXPIRE in a second round trip.
//
// D1 section 2, v2, and D2 section 2.1:
//
//	r.setnx("lock", 1)
//	r.expire("lock", 30)
//
// Its mistakes: a client that dies, is paused or is cut off between the two
// commands leaves a lock without an expiry; and, as in setnx-del, the value says
// nothing about the owner and the release deletes whatever is there.
//
// As D2 does, EXPIRE is sent only after a granted SETNX, and its answer is not
// looked at. An error of EXPIRE reaches the caller before the finally block that
// would delete the key, so the key stays. A refused client tries again every
// 100 ms (the retry_delay of D1 section 7) until Config.Wait has passed.
package setnxexpire

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
)

const (
	value      = "1"
	retryDelay = 100 * time.Millisecond
)

// Version is setnx-expire.
var Version = impls.Version{
	Name:    "setnx-expire",
	Summary: "SETNX, then EXPIRE as a second command, plain DEL; whoever stops in between locks for ever",
	Where:   "D1 v2, D2 2.1",
	Traits: impls.Traits{
		TTL:     impls.TTLSeparate,
		Token:   impls.TokenNone,
		Release: impls.ReleaseBlind,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

type lock struct {
	client impls.Redis
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), cfg: cfg}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		// Not client.SetNX: that sends SET … NX, and the article sends SETNX.
		return l.client.Do(ctx, "setnx", l.cfg.Key, value).Bool()
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	if err := l.expire(ctx); err != nil {
		return impls.Lease{}, fmt.Errorf("expire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: value}, nil
}

// expire sends EXPIRE, or PEXPIRE when the TTL is not a number of seconds:
// EXPIRE would cut a lease of 1.5 s down to 1 s.
func (l *lock) expire(ctx context.Context) error {
	if l.cfg.TTL%time.Second == 0 {
		return l.client.Expire(ctx, l.cfg.Key, l.cfg.TTL).Err()
	}
	return l.client.PExpire(ctx, l.cfg.Key, l.cfg.TTL).Err()
}

func (l *lock) Release(ctx context.Context, _ impls.Lease) error {
	if err := l.client.Del(ctx, l.cfg.Key).Err(); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	return nil // whatever was deleted, and if nothing was
}

func (l *lock) Close() error { return nil }
