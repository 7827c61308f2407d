// Package redislock is the Go library github.com/bsm/redislock v0.9.4, unmodified.
//
// It is in neither article: it is what Go programs use for the lock of D1 v4. A
// script takes the lock and knows its own value again (a request that is sent
// twice is granted twice, not refused), scripts release and prolong it. It does
// not renew by itself; Refresh is Extend here. It states no end of the lease.
//
// It is used as its documentation shows: LinearBackoff of 100 ms, and a deadline
// of Config.Wait on the context of Obtain. Without a deadline the library cuts
// the wait down to the TTL and does not say so.
//
// Obtain answers a deadline that passes while it sleeps and one that cuts off a
// command with the same error, and only the first is a refusal. So the client it
// is given notes how the last command ended; see asker.
package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	bsm "github.com/bsm/redislock"

	"lockpick/impls"
)

const backoff = 100 * time.Millisecond

// Version is redislock.
var Version = impls.Version{
	Name:    "redislock",
	Summary: "the library bsm/redislock: token-aware scripts, linear back-off, extended on request",
	Where:   "github.com/bsm/redislock v0.9.4",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Extend:  true,
	},
	New: newLock,
}

type lock struct {
	client impls.Redis
	token  func() string
	cfg    impls.Config

	mu   sync.Mutex           // guards held; never held during a command
	held map[string]*bsm.Lock // by owner
}

var _ impls.Extender = (*lock)(nil)

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), token: env.Token, cfg: cfg, held: make(map[string]*bsm.Lock)}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	opt := &bsm.Options{Token: l.token(), RetryStrategy: bsm.NoRetry()}
	waiting := ctx
	if l.cfg.Wait > 0 {
		opt.RetryStrategy = bsm.LinearBackoff(backoff)
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, l.cfg.Wait)
		defer cancel()
	}

	client := &asker{Scripter: l.client}
	obtained, err := bsm.New(client).Obtain(waiting, l.cfg.Key, l.cfg.TTL, opt)
	switch {
	case err == nil:
		l.mu.Lock()
		l.held[opt.Token] = obtained
		l.mu.Unlock()
		return impls.Lease{Owner: opt.Token}, nil
	case client.unanswered.Load():
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	case ctx.Err() != nil:
		return impls.Lease{}, fmt.Errorf("acquire %q: %w: %w", l.cfg.Key, impls.ErrNotAcquired, ctx.Err())
	}
	return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, impls.ErrNotAcquired)
}

// Extend is Refresh.
func (l *lock) Extend(ctx context.Context, lease impls.Lease) (impls.Lease, error) {
	held := l.get(lease.Owner)
	if held == nil { // the library's Refresh of no lock panics
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	err := held.Refresh(ctx, l.cfg.TTL, nil)
	if errors.Is(err, bsm.ErrNotObtained) {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	if err != nil {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, err)
	}
	return lease, nil
}

// Release may be called again after an unknown outcome: the library's lock is
// kept until the server has answered.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	err := l.get(lease.Owner).Release(ctx) // of no lock: ErrLockNotHeld
	if err != nil && !errors.Is(err, bsm.ErrLockNotHeld) {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	l.mu.Lock()
	delete(l.held, lease.Owner)
	l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) get(owner string) *bsm.Lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[owner]
}

func (l *lock) Close() error { return nil }
