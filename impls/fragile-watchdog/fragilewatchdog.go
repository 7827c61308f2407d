// Package fragilewatchdog is the watchdog exactly as D1 writes it.
//
// D1 section 2, v5, the class redislock. After a grant a timer calls renew()
// every TTL/3, and each call arms the next timer.
//
// Its mistakes, all of them in how the timers are chained:
//
//   - renew() arms the next timer after the script. An exception of the script
//     ends the timer's thread before that: after one failed renewal there is
//     never another, the work goes on, and the lease runs out.
//   - _stop_watchdog() cancels the timer it knows. A renew() that is under way has
//     no timer to cancel, and arms one when it is done: timers for a lock nobody
//     holds. The next lock taken through the same object starts a second chain.
//     When the release fails as well, the token is kept, and the timers renew for
//     ever what was meant to be given back.
//   - _release() ignores the script's answer: a lost lease is given back with
//     success.
//   - Token and timer belong to the object and not to the grant. A second Acquire
//     forgets the first one's token whether it is granted or not, so one handle
//     can hold one lease at a time; Release gives back what the object remembers,
//     whatever lease it is called with.
//
// What is added: __enter__ raises when the lock is taken. To be usable here it
// first tries again every 100 ms (the retry_delay of D1 section 7) until
// Config.Wait has passed. And Close ends all timers, which the article's class
// cannot do.
package fragilewatchdog

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

// Version is fragile-watchdog.
var Version = impls.Version{
	Name:    "fragile-watchdog",
	Summary: "the watchdog as in D1: one failed renewal ends it, one in flight at release re-arms it",
	Where:   "D1 v5",
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
	client  impls.Redis
	uuid    func() string
	cfg     impls.Config
	threads *background.Group

	mu    sync.Mutex        // guards the two fields below; never held during a command
	token string            // self.token; "" is None
	timer *background.Timer // self._timer
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg, threads: background.New()}, nil
}

// Acquire is __enter__.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	l.setToken(token)
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	})
	if err != nil {
		if errors.Is(err, impls.ErrNotAcquired) {
			l.setToken("") // an exception of SET leaves it
		}
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	l.startWatchdog()
	return impls.Lease{Owner: token}, nil
}

// Release is __exit__.
func (l *lock) Release(ctx context.Context, _ impls.Lease) error {
	l.stopWatchdog()
	return l.release(ctx)
}

func (l *lock) startWatchdog() { l.arm(l.renew) }

func (l *lock) renew(ctx context.Context) {
	if token := l.getToken(); token != "" {
		if _, err := owned.Renew(ctx, l.client, l.cfg.Key, token, l.cfg.TTL); err != nil {
			return // the exception ends the thread; nothing arms the next timer
		}
	}
	l.arm(l.renew)
}

// arm starts a timer and remembers it, and it alone.
func (l *lock) arm(call func(context.Context)) {
	timer := l.threads.After(l.cfg.TTL/3, call)
	l.mu.Lock()
	l.timer = timer
	l.mu.Unlock()
}

func (l *lock) stopWatchdog() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Cancel()
		l.timer = nil
	}
}

func (l *lock) release(ctx context.Context) error {
	token := l.getToken()
	if token == "" {
		return nil
	}
	if _, err := owned.Delete(ctx, l.client, l.cfg.Key, token); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	l.setToken("")
	return nil
}

func (l *lock) getToken() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token
}

func (l *lock) setToken(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = token
}

func (l *lock) Close() error {
	l.threads.Close()
	return nil
}
