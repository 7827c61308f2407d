// Package watchdog is the single-node lock of the documents done right.
//
// It is what D1 section 2, v5, D1 section 7 and D2 section 3.2 aim at: SET NX
// with an expiry, the compare-and-delete script, and a renewal in one script
// every TTL/3, without the mistakes of fragile-watchdog, distlock and
// blind-renew:
//
//   - Each lease has its own renewal, which ends with the lease.
//   - A failed renewal is tried again soon, until the lease must be assumed to
//     have run out.
//   - Lost closes when the server says that the lock is not ours any more, and at
//     the latest TTL after the last successful grant or renewal was sent. Counted
//     from before the request left, on the monotonic clock, that is never later
//     than the server's own expiry as long as the two clocks run equally fast.
//   - Release waits for a renewal that is under way before it deletes, so that
//     none arrives afterwards, and reports what the server said.
//   - Release, and the cleaning up after a grant that was not heard of, do not
//     stop because the caller's context has ended: with the context of a request
//     that was cancelled, nothing would be sent and the lock would stay taken for
//     the rest of its lease.
//
// What it cannot do: a holder that is paused cannot look at Lost, and a server
// that forgets the lock grants it twice. No lock on one node closes that without
// a fencing number.
//
// The client must not resend commands by itself (go-redis: MaxRetries -1), since a
// SET NX that is sent twice meets its own value and is refused.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/background"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is watchdog.
var Version = impls.Version{
	Name:    "watchdog",
	Summary: "SET NX PX, owned renewal in Lua every TTL/3 that survives errors and tells the holder of a loss",
	Where:   "D1 v5 and 7, D2 3.2",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewOwned,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

type lock struct {
	client   impls.Redis
	uuid     func() string
	cfg      impls.Config
	renewing *background.Group

	mu       sync.Mutex          // guards renewals; never held during a command
	renewals map[string]*renewal // by owner
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{
		client:   env.Redis(),
		uuid:     env.Token,
		cfg:      cfg,
		renewing: background.New(),
		renewals: make(map[string]*renewal),
	}, nil
}

// Acquire may return up to TTL/3 after ctx has ended, when it has to clean up
// behind a SET whose answer did not arrive.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token, validUntil, err := l.take(ctx)
	if err != nil {
		return impls.Lease{}, err
	}
	r, ok := l.keep(token, validUntil)
	if !ok { // closed: a lease that nobody renews is not handed out
		if err := l.delete(ctx, token); err != nil {
			return impls.Lease{}, fmt.Errorf("acquire %q on a closed lock: %w", l.cfg.Key, err)
		}
		return impls.Lease{}, fmt.Errorf("acquire %q on a closed lock: %w", l.cfg.Key, impls.ErrNotAcquired)
	}
	return impls.Lease{Owner: token, Lost: r.lost}, nil
}

// take is granted the lock, until TTL after the request left. The error is
// Acquire's.
func (l *lock) take(ctx context.Context) (token string, validUntil time.Time, err error) {
	token = l.uuid()
	err = impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		sent := time.Now()
		granted, err := l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
		if err != nil || !granted {
			return false, err
		}
		validUntil = sent.Add(l.cfg.TTL)
		if !time.Now().Before(validUntil) {
			// The answer took longer than the lease. It is given back, in case
			// the server sees that differently, and the next try is a new one.
			return false, l.delete(ctx, token)
		}
		return true, nil
	})
	switch {
	case errors.Is(err, impls.ErrNotAcquired):
		err = fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	case err != nil:
		err = l.takeBack(ctx, token, err)
	}
	return token, validUntil, err
}

// takeBack deletes what Acquire may have been granted without knowing. The
// outcome stays unknown even if that succeeds: the SET may still be on its way.
func (l *lock) takeBack(ctx context.Context, token string, cause error) error {
	if err := l.delete(ctx, token); err != nil {
		return fmt.Errorf("acquire %q: %w (taking it back: %w)", l.cfg.Key, cause, err)
	}
	return fmt.Errorf("acquire %q: %w", l.cfg.Key, cause)
}

// delete removes our value, if it is there, whatever has become of ctx.
func (l *lock) delete(ctx context.Context, token string) error {
	ctx, cancel := l.detached(ctx)
	defer cancel()
	_, err := owned.Delete(ctx, l.client, l.cfg.Key, token)
	return err
}

// Release ends the renewal and deletes the lock. It may be called again after an
// unknown outcome. It may return up to TTL/3 + TTL/5 after ctx has ended.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	l.stop(lease.Owner)
	ctx, cancel := l.detached(ctx)
	defer cancel()
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

// detached is ctx without its end, bounded by TTL/3: a delete is worth waiting
// for only while it frees the lock well before the lease would.
func (l *lock) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
}

// Close ends all renewals and closes the Lost of the leases they were for: from
// then on nobody keeps those.
func (l *lock) Close() error {
	l.renewing.Close()
	return nil
}
