// Package entersanyway is a lock in a scoped block that does not ask whether it
// was granted.
//
// redis/redis-py#621, the context manager of redis-py before 3.0:
//
//	def __enter__(self):
//	    # force blocking, as otherwise the user would have to check whether
//	    # the lock was actually acquired or not.
//	    self.acquire(blocking=True)
//	    return self
//
// Its mistake: with a blocking_timeout, acquire gives up after that time and says
// False, and nobody looks. The block runs beside the holder, without any fault. At
// its end the release finds another's value, which is ErrNotHeld, when everything
// is done.
//
// An error of acquire leaves the block before it begins, and so does a cancelled
// context, which Python does not have. Everything else is lua-release.
package entersanyway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is enters-anyway.
var Version = impls.Version{
	Name:      "enters-anyway",
	Summary:   "SET NX PX and Lua release in a scoped block, which runs although the wait was in vain",
	Where:     "redis/redis-py#621",
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
	uuid   func() string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg}, nil
}

// Acquire is __enter__.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	if _, err := l.acquire(ctx, token); err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token}, nil // whatever acquire said
}

// acquire reports whether the lock was granted within the wait.
func (l *lock) acquire(ctx context.Context, token string) (bool, error) {
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	})
	if errors.Is(err, impls.ErrNotAcquired) && impls.Ended(ctx) == nil {
		return false, nil
	}
	return err == nil, err
}

// Release is __exit__.
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
