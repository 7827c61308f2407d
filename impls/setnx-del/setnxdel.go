// Package setnxdel is the first lock everybody writes: SETNX, work, DEL.
//
// D1 section 2, v1:
//
//	r.setnx("lock", 1)
//	try:
//	    do_something()
//	finally:
//	    r.delete("lock")
//
// Its mistakes: the key never expires, so a holder that dies keeps the lock for
// ever; the value says nothing about the owner; and the release deletes whatever
// is there and looks at no answer.
//
// Two things are added, or there would be no lock to judge: the answer of SETNX
// is looked at, and a refused client tries again every 100 ms (the retry_delay
// of D1 section 7) until Config.Wait has passed.
package setnxdel

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

// Version is setnx-del.
var Version = impls.Version{
	Name:    "setnx-del",
	Summary: "SETNX of a fixed value, plain DEL; never expires, so a dead holder keeps it for ever",
	Where:   "D1 v1",
	Traits: impls.Traits{
		TTL:     impls.TTLNone,
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
	return impls.Lease{Owner: value}, nil
}

func (l *lock) Release(ctx context.Context, _ impls.Lease) error {
	if err := l.client.Del(ctx, l.cfg.Key).Err(); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	return nil // whatever was deleted, and if nothing was
}

func (l *lock) Close() error { return nil }
