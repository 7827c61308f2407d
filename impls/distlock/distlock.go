// Package distlock is D1's implementation "that can be used directly".
//
// D1 section 7, the class distlock, with auto_renew on, retry_delay = 0.1 s and
// retry = Config.Wait / retry_delay. Unlike the watchdog of D1 v5 (fragile-watchdog)
// it swallows the errors of a renewal and arms the next timer all the same, as long
// as it has a token.
//
// Its mistakes:
//
//   - Errors and refusals of a renewal are swallowed alike: nobody learns that the
//     lease is gone, and the timers go on after that.
//   - release() ignores the script's answer: a lost lease is given back with
//     success. An error of the release does reach the caller.
//   - A renewal that is under way at release still arms its timer. That timer finds
//     no token and ends, unless the object has been locked again meanwhile: then
//     there are two chains.
//   - Token and timer belong to the object and not to the grant. A second Acquire
//     forgets the first one's token, and with it renewal and release, whether it is
//     granted or not; Release gives back what the object remembers, whatever lease
//     it is called with.
//
// What is added: a context that ends during time.sleep is ErrNotAcquired together
// with the context's error, and Close ends all timers.
package distlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/background"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is distlock.
var Version = impls.Version{
	Name:    "distlock",
	Summary: "the ready-to-use class of D1: retries, renews, swallows the errors of renewal and the answer of release",
	Where:   "D1 7",
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

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	l.setToken(token)
	retry := int(l.cfg.Wait / retryDelay)
	for i := range retry + 1 {
		ok, err := l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
		if err != nil {
			return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
		}
		if ok {
			l.scheduleRenew()
			return impls.Lease{Owner: token}, nil
		}
		if i < retry {
			if err := impls.Sleep(ctx, retryDelay); err != nil {
				l.setToken("")
				return impls.Lease{}, fmt.Errorf("acquire %q: %w: %w", l.cfg.Key, impls.ErrNotAcquired, err)
			}
		}
	}
	l.setToken("")
	return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, impls.ErrNotAcquired)
}

func (l *lock) Release(ctx context.Context, _ impls.Lease) error {
	token := l.getToken()
	if token == "" {
		return nil
	}
	l.cancelTimer()
	if _, err := owned.Delete(ctx, l.client, l.cfg.Key, token); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	l.setToken("")
	return nil
}

func (l *lock) scheduleRenew() { l.arm(l.renew) }

func (l *lock) renew(ctx context.Context) {
	token := l.getToken()
	if token == "" {
		return
	}
	_, _ = owned.Renew(ctx, l.client, l.cfg.Key, token, l.cfg.TTL) // except exception: pass
	l.arm(l.renew)
}

// arm starts a timer and remembers it, and it alone.
func (l *lock) arm(call func(context.Context)) {
	timer := l.threads.After(l.cfg.TTL/3, call)
	l.mu.Lock()
	l.timer = timer
	l.mu.Unlock()
}

func (l *lock) cancelTimer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Cancel()
		l.timer = nil
	}
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
