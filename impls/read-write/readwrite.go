// Package readwrite is a lock with two modes: many readers, or one writer.
//
// D1 section 3 names it among what Redisson offers, as RReadWriteLock. The lock is a
// hash: each field is an owner, its value the mode and the time of the server's
// clock until which this owner holds it, such as "read:1767225630000". The key
// expires with the last of them.
//
// Each holder has an expiry of its own. Where all share the key's, the one
// with the shortest lease ends it for everybody, and a writer enters beside a live
// reader (redisson/redisson#2144). A release takes back its own hold and nothing
// else. Every grant has a new owner, so that a handle that is a reader twice
// has two holds.
//
// What it cannot do: readers that keep coming keep a writer out, since nothing lets
// it go first. A holder cannot change its mode, and does not get the lock in a
// second one. The times are the server's: a clock that jumps ahead ends the leases,
// as it ends every key's. Nothing renews a lease.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package readwrite

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

const retryDelay = 100 * time.Millisecond

// Version is read-write.
var Version = impls.Version{
	Name:    "read-write",
	Summary: "many readers or one writer, each with its own expiry in one hash; no renewal, and readers may starve a writer",
	Where:   "D1 3",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Shared:  true,
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

// The modes, as the scripts know them.
const (
	read  = "read"
	write = "write"
)

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

// Acquire is for the writer.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) { return l.acquire(ctx, write) }

// AcquireShared is for readers.
func (l *lock) AcquireShared(ctx context.Context) (impls.Lease, error) { return l.acquire(ctx, read) }

func (l *lock) acquire(ctx context.Context, mode string) (impls.Lease, error) {
	token := l.uuid()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		n, err := acquireScript.Run(ctx, l.client, []string{l.cfg.Key}, token, mode, l.cfg.TTL.Milliseconds()).Int()
		return n == 1, err
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q to %s: %w", l.cfg.Key, mode, err)
	}
	return impls.Lease{Owner: token}, nil
}

// Release takes a hold of either mode back.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	n, err := releaseScript.Run(ctx, l.client, []string{l.cfg.Key}, lease.Owner).Int()
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if n != 1 {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }

var _ impls.SharedLocker = (*lock)(nil)
