// Package notify is the lock whose waiters are woken by the release.
//
// D2 section 4.2: who is refused subscribes to a channel, the release
// publishes, and the waiters try again. The grant is SET NX PX, the release one
// script that compares, deletes and publishes.
//
// A message can be lost: it is published before the subscription stands, the
// connection breaks, or there is no release because the holder has died. The
// article's time-out is therefore more than a way to give up:
//
//   - The waiter tries again as soon as the server has confirmed the subscription,
//     also when a broken one was made anew (redisson/redisson#1763).
//   - It tries again when the key must have expired, as PTTL says, and at the latest
//     after TTL/10.
//   - Who was woken and comes too late waits on (spring-integration GH-3700).
//
// What it costs, as the article says: each waiting Acquire has a connection of
// its own, until it ends. And every release wakes them all, for one grant.
//
// What it cannot do: the lease is as long as it is, and nothing renews it. Acquire
// may return up to 100 ms after its context was cancelled.
package notify

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/wakeup"
)

// shortest is the least that a waiter waits for a message, however short the TTL.
const shortest = 100 * time.Millisecond

// Version is notify.
var Version = impls.Version{
	Name:    "notify",
	Summary: "SET NX PX, Lua release that wakes subscribed waiters, who also look for themselves when the key expires; no renewal",
	Where:   "D2 4.2",
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
	return &lock{client: client, channel: channel, uuid: env.Token, cfg: cfg}, nil
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
	var sub *wakeup.Subscription
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
			sub = l.channel.Subscribe(ctx)
			defer sub.Close()
		} else if news != wakeup.Message { // else somebody was granted a whole lease just now
			pause = min(pause, l.channel.UntilExpiry(ctx))
		}
		news = sub.Wait(ctx, pause) // whatever it is: look again
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

// Close has nothing to end: a subscription lives and ends with its Acquire.
func (l *lock) Close() error { return nil }
