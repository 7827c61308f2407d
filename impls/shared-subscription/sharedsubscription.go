// Package sharedsubscription is notify with a pool of subscriptions that all waiters
// of a process share.
//
// Redisson has such a pool, of subscriptionConnectionPoolSize connections with
// subscriptionsPerConnection channels each (50 and 5). Waiters of one lock share a
// channel, the first of them subscribes, the last unsubscribes, and whoever changes
// the table of channels holds a semaphore. Here the pool is one connection with one
// channel, as in the test that goes with redisson/redisson#3577.
//
// Its mistake: who needs a channel of its own waits for a free one while it holds the
// semaphore. Who would free one needs the semaphore. So as soon as the waiters of a
// process wait for more locks than there are channels, nothing is subscribed or
// unsubscribed in it any more (redisson/redisson#3577, #4216, #5046; a wait that is
// given up and leaves its channel behind has the same end, #4064). Every Acquire that
// has to wait then ends after 7.5 s with "Subscribe timeout", which is ErrNotAcquired:
// each of its SETs was refused. A lock that is free at the first look is still
// granted, so the process seems well as long as nobody competes with it.
//
// Unsubscribing is left to the background, as there: Acquire and Release do not wait
// for it. Everything else is notify. A waiter whose subscription was made over the
// connection of another thread depends on that.
package sharedsubscription

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/wakeup"
)

// shortest is the least that a waiter waits for a message, however short the TTL.
const shortest = 100 * time.Millisecond

// patience is how long a waiter waits for its subscription: Redisson's timeout of
// 3 s and three retries after 1.5 s each.
const patience = 7500 * time.Millisecond

// Version is shared-subscription.
var Version = impls.Version{
	Name:      "shared-subscription",
	Summary:   "notify with one subscription for all waiters of the process: who waits for it holds the semaphore that giving it back needs",
	Where:     "redisson/redisson#3577",
	VariantOf: "notify",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitNotify,
	},
	New: newLock,
}

type lock struct {
	client  impls.Redis
	channel *wakeup.Channel
	pool    *pool
	close   func()
	uuid    func() string
	cfg     impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	client := env.Redis()
	channel, err := wakeup.NewChannel(client, cfg.Key)
	if err != nil {
		return nil, err
	}
	p := impls.Shared(env.Process(), "shared-subscription", func() *pools { return &pools{} }).open()
	return &lock{client: client, channel: channel, pool: p, close: sync.OnceFunc(p.leave), uuid: env.Token, cfg: cfg}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	if err := l.wait(ctx, token); err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token}, nil
}

// wait returns nil when the token has the lock.
func (l *lock) wait(ctx context.Context, token string) error {
	end := time.Now().Add(l.cfg.Wait)
	var sub *subscription
	var news wakeup.News
	for {
		if err := impls.Ended(ctx); err != nil {
			return fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
		}
		granted, err := l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
		if err != nil || granted {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return impls.ErrNotAcquired
		}
		pause := min(left, max(l.cfg.TTL/10, shortest))
		if sub == nil {
			sub = l.pool.subscribe(l.cfg.Key, l.channel)
			defer l.pool.unsubscribe(sub)
			if err := sub.made(ctx, min(left, l.cfg.Scaled(patience))); err != nil {
				return fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
			}
		} else if news != wakeup.Message { // else somebody was granted a whole lease just now
			pause = min(pause, l.channel.UntilExpiry(ctx))
		}
		news = sub.wait(ctx, pause) // whatever it is: look again
	}
}

func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := l.channel.Delete(ctx, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

// Close ends the pool with the last lock of the process.
func (l *lock) Close() error {
	l.close()
	return nil
}
