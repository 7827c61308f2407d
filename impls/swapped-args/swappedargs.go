// Package swappedargs calls the releasing script with KEYS and ARGV the wrong way
// round.
//
// D2 section 7, the second pit: the script of D2 section 2.3 asks for the key in
// KEYS[1] and for the token in ARGV[1], and is called with the token first.
//
// Its mistake: no script and no server objects. The script looks for a key that has
// the token's name, finds none, and answers 0, as it does for a lock that is lost. unlock
// reports that, as D2 section 2.3 writes it: the release of a lock that is held is
// ErrNotHeld, and the lock stays until it expires.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package swappedargs

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is swapped-args.
var Version = impls.Version{
	Name:      "swapped-args",
	VariantOf: "mismatched-token",
	Summary:   "SET NX PX, and a release script that is given the token for the key and the key for the token: never released",
	Where:     "D2 7, pit 2",
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

// Release calls the script with KEYS and ARGV the wrong way round.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	key, token := lease.Owner, l.cfg.Key
	deleted, err := owned.Delete(ctx, l.client, key, token)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
