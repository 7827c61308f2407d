// Package fixedvalue does everything right, except that every client stores the
// same value.
//
// D1 section 6, pit 6, applied to the code of D1 v4: SET NX EX, and the script
// that compares and deletes.
//
// Its mistake: the comparison always succeeds, whoever holds the lock, so the
// script protects nothing and an overdue holder deletes the next one's lock. The
// release reports 0 as ErrNotHeld, which can only mean that nobody held it.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package fixedvalue

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const (
	value      = "locked"
	retryDelay = 100 * time.Millisecond
)

// Version is fixed-value.
var Version = impls.Version{
	Name:    "fixed-value",
	Summary: "SET NX EX and a compare-and-delete script, but every client stores the same value",
	Where:   "D1 pit 6",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenFixed,
		Release: impls.ReleaseAtomic,
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
		return l.client.SetNX(ctx, l.cfg.Key, value, l.cfg.TTL).Result()
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: value}, nil
}

func (l *lock) Release(ctx context.Context, _ impls.Lease) error {
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, value)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
