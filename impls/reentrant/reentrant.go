// Package reentrant is the lock that its owner may take again: a hash with one
// field, the owner, whose value is how deep it is nested.
//
// D1 pit 5 and D2 section 4.1. The acquiring script is D2's; of the releasing one
// D2 says that it takes one off if the field is there and deletes the key at 0.
// What is left when a level ends has the whole lease again, as Redisson does it.
//
// Its mistakes:
//
//   - A script that reaches the server twice counts twice. If the client sends it
//     again because it heard no answer, one release is one too few
//     (redisson/redisson#7367).
//   - The owner is the handle and not one of its grants. A release that comes after
//     the lease has run out and the handle has locked again takes a level off the
//     new one, and two goroutines with one handle do not exclude each other.
//     Redisson adds the thread's id to the owner, for the second of these.
//   - Nothing renews the lease. D2 leaves that to Redisson's watchdog.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package reentrant

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

const retryDelay = 100 * time.Millisecond

// Version is reentrant.
var Version = impls.Version{
	Name:    "reentrant",
	Summary: "a hash of owner and depth, changed by scripts that count every call; no renewal",
	Where:   "D1 pit 5, D2 4.1",
	Traits: impls.Traits{
		TTL:       impls.TTLAtomic,
		Token:     impls.TokenClient,
		Release:   impls.ReleaseAtomic,
		Renew:     impls.RenewNone,
		Wait:      impls.WaitPoll,
		Reentrant: true,
	},
	New: newLock,
}

//go:embed acquire.lua
var acquireSource string

//go:embed release.lua
var releaseSource string

var (
	acquireScript = redis.NewScript(acquireSource)
	releaseScript = redis.NewScript(releaseSource)
)

type lock struct {
	client impls.Redis
	owner  string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), owner: env.Token(), cfg: cfg}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		n, err := acquireScript.Run(ctx, l.client, []string{l.cfg.Key}, l.owner, l.cfg.TTL.Milliseconds()).Int()
		return n == 1, err
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: l.owner}, nil
}

// Release ends one level. The lock is free after as many as there were grants.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	depth, err := releaseScript.Run(ctx, l.client, []string{l.cfg.Key}, lease.Owner, l.cfg.TTL.Milliseconds()).Int()
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if depth < 0 {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
