// Package throwingrelease is lua-release with a Release that does not say, in the
// words of the contract, that the lock was no longer the caller's.
//
// D2 section 4.3 and pit 4: Redisson's unlock() throws an
// IllegalMonitorStateException when the lock expired under the work, and so does
// the monitor that it is modelled on; the article has every caller ask
// isHeldByCurrentThread() first. In Go the model is sync.Mutex, whose Unlock dies on
// a mutex that nobody holds.
//
// Its mistake: that a lease runs out is in the nature of a lease, and no bug of the
// caller's. Thrown in a finally block, or out of a deferred call, it takes the place
// of what the work has to say; and a handler that recovers does not learn whether
// the release was refused or something else went wrong.
//
// RawError returns what Version throws, as an error like any other: its caller
// cannot tell "it was no longer yours", which is final, from "no answer", after
// which a release is worth trying again (mike-marcacci/node-redlock#313 tried for
// ever).
//
// An error of Redis is returned by both, as lua-release does. A refused client
// tries again every 100 ms (the retry_delay of D1 section 7) until Config.Wait has
// passed.
package throwingrelease

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is throwing-release.
var Version = version("throwing-release", "SET NX PX with Lua release, which panics when the lock has expired", true)

// RawError is raw-error.
var RawError = version("raw-error", "SET NX PX with Lua release, whose refusal is an error like any other", false)

func version(name, summary string, throws bool) impls.Version {
	return impls.Version{
		Name:      name,
		Summary:   summary,
		Where:     "D2 4.3, pit 4, Redisson",
		VariantOf: "lua-release",
		Traits: impls.Traits{
			TTL:     impls.TTLAtomic,
			Token:   impls.TokenUnique,
			Release: impls.ReleaseAtomic,
			Renew:   impls.RenewNone,
			Wait:    impls.WaitPoll,
		},
		New: func(env impls.Env, cfg impls.Config) (impls.Lock, error) {
			if err := cfg.Validate(); err != nil {
				return nil, err
			}
			return &lock{client: env.Redis(), uuid: env.Token, name: env.Owner(), cfg: cfg, throws: throws}, nil
		},
	}
}

type lock struct {
	client impls.Redis
	uuid   func() string
	name   string // of this client
	cfg    impls.Config
	throws bool // Release panics when it was refused
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

func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if deleted {
		return nil
	}
	notLocked := fmt.Errorf("attempt to unlock %q, not locked by %s", l.cfg.Key, l.name)
	if l.throws {
		panic(notLocked)
	}
	return notLocked
}

func (l *lock) Close() error { return nil }
