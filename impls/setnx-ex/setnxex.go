// Package setnxex is SET NX EX with a unique value, released by a plain DEL.
//
// D1 section 2, v3, and D2 section 2.2:
//
//	r.set("lock", token, nx=true, ex=30)
//	…
//	r.delete("lock")
//
// Taking the lock is right from here on: value and expiry arrive together. Its
// mistake is the release: it does not compare the value, so a holder whose lease
// has run out deletes the lock of the next one, and it looks at no answer, so
// nobody notices.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed. go-redis sends EX for whole seconds and PX
// otherwise.
package setnxex

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
)

const retryDelay = 100 * time.Millisecond

// Version is setnx-ex.
var Version = impls.Version{
	Name:    "setnx-ex",
	Summary: "SET NX EX with a unique value, plain DEL; an overdue holder deletes the next one's lock",
	Where:   "D1 v3, D2 2.2",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseBlind,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
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

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token}, nil
}

func (l *lock) Release(ctx context.Context, _ impls.Lease) error {
	if err := l.client.Del(ctx, l.cfg.Key).Err(); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	return nil // whatever was deleted, and if nothing was
}

func (l *lock) Close() error { return nil }
