// Package getdel releases by GET, a comparison in the client, and DEL.
//
// D1 section 2, v4, the example marked wrong, and D2 section 2.3:
//
//	if r.get(lock_key) == token:      # it is mine
//	    # the lease runs out at this very moment and b is granted
//	    r.delete(lock_key)            # b's lock is gone
//
// Its mistakes: the window between the two round trips; and a release that finds
// somebody else's value, or none, says nothing to its caller.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package getdel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

const retryDelay = 100 * time.Millisecond

// Version is get-del.
var Version = impls.Version{
	Name:    "get-del",
	Summary: "SET NX EX, released by GET, compare in the client, DEL; the lease may end in between",
	Where:   "D1 v4 (wrong), D2 2.3",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseCheckThenDelete,
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

func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	value, err := l.client.Get(ctx, l.cfg.Key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if value != lease.Owner {
		return nil // another's, or gone: the article has no else branch
	}
	if err := l.client.Del(ctx, l.cfg.Key).Err(); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	return nil
}

func (l *lock) Close() error { return nil }
