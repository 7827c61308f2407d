// Package notifynaive waits for the message of a release and for nothing else.
//
// D2 section 4.2 with the message alone: who is refused subscribes to a channel,
// and tries again when the release has published. The time-out that the article
// asks for is when it gives up.
//
// Its mistakes:
//
//   - It does not try again once it is subscribed. A release between the refusal
//     and the subscription is missed (redisson/redisson#1763).
//   - It never looks by itself. A message that was lost with its connection, or was
//     never sent because the holder died, leaves it waiting beside a free lock
//     until Config.Wait has passed.
//
// Who was woken and comes too late waits on. As in notify, each waiting Acquire has a
// connection of its own, and may return up to 100 ms after its context was
// cancelled.
package notifynaive

import (
	"context"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/wakeup"
)

// Version is notify-naive.
var Version = impls.Version{
	Name:    "notify-naive",
	Summary: "SET NX PX, Lua release that wakes subscribed waiters, who never look by themselves: a lost message hangs them",
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
	for {
		if err := impls.Ended(ctx); err != nil {
			return fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
		}
		granted, err := l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
		if err != nil || granted {
			return err
		}
		if sub == nil && time.Until(end) > 0 {
			sub = l.channel.Subscribe(ctx)
			defer sub.Close()
		}
		if !released(ctx, sub, end) {
			return giveUp(ctx)
		}
	}
}

// released reports whether a message came before the end.
func released(ctx context.Context, sub *wakeup.Subscription, end time.Time) bool {
	for {
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		switch sub.Wait(ctx, left) {
		case wakeup.Message:
			return true
		case wakeup.Subscribed: // and here it ought to look
		case wakeup.Nothing:
			return false
		}
	}
}

// giveUp is the refusal, with the reason if the context ended the wait.
func giveUp(ctx context.Context) error {
	if err := impls.Ended(ctx); err != nil {
		return fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
	}
	return impls.ErrNotAcquired
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
