// Package multi locks several keys as one.
//
// D1 section 3 names it among what Redisson offers, as 联锁, and section 5 asks for it
// in "an atomic operation over several resources". Each key is SET NX PX with the
// same value, released by the compare-and-delete script:
//
//   - The keys are taken in sorted order, whatever order they are named in: two
//     clients that want the same ones cannot each have one and wait for the other.
//   - All or nothing. On a refusal, an error, or the end of the context, what was taken
//     is given back, under a context of its own that lives for TTL/3. With the
//     caller's, which has ended, nothing would be sent and the keys would stay taken
//     (redisson/redisson#4456).
//   - The lease is counted from before the first key was asked for, since that is the
//     one that expires first. If it has run out by the time that the last is
//     granted, there was no moment for which all were promised, and they are given
//     back.
//
// What it cannot do: the keys expire one after the other and are released one after
// the other, so others see some of them free before the rest. Waiting for one
// taken key, it takes and gives back the ones before it every time, and two
// who wait may refuse each other. Nothing renews a lease.
//
// A refused client tries again every 100 ms (the retry_delay of D1 section 7)
// until Config.Wait has passed.
package multi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is multi.
var Version = impls.Version{
	Name:    "multi",
	Summary: "several keys as one lock: SET NX PX each in sorted order, all or nothing, Lua release of each; no renewal",
	Where:   "D1 3, 5",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Multi:   true,
	},
	New: newLock,
}

type lock struct {
	client impls.Redis
	uuid   func() string
	cfg    impls.Config
	keys   []string // in the order in which they are taken
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	keys := append([]string{cfg.Key}, cfg.Also...)
	slices.Sort(keys)
	for i, key := range keys {
		if key == "" {
			return nil, errors.New("multi: one of the keys is empty")
		}
		if i > 0 && key == keys[i-1] {
			return nil, fmt.Errorf("multi: the key %q stands twice", key)
		}
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg, keys: keys}, nil
}

// Acquire may return up to TTL/3 after ctx has ended, when it has keys to give
// back.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	var until time.Time
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		until = time.Now().Add(l.cfg.TTL - impls.Precision)
		return l.takeAll(ctx, token, until)
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.keys, err)
	}
	return impls.Lease{Owner: token, Until: until}, nil
}

// takeAll reports whether the token has every key, and has them all until then. If
// not, it has none, unless there is an error other than ErrNotAcquired.
func (l *lock) takeAll(ctx context.Context, token string, until time.Time) (bool, error) {
	for i, key := range l.keys {
		if ended := impls.Ended(ctx); ended != nil {
			if err := l.giveBack(ctx, l.keys[:i], token); err != nil {
				return false, errors.Join(ended, err)
			}
			return false, fmt.Errorf("%w: %w", impls.ErrNotAcquired, ended)
		}
		granted, err := l.client.SetNX(ctx, key, token, l.cfg.TTL).Result()
		if err != nil { // this one may be ours, too
			return false, errors.Join(err, l.giveBack(ctx, l.keys[:i+1], token))
		}
		if !granted {
			return false, l.giveBack(ctx, l.keys[:i], token)
		}
	}
	if !time.Now().Before(until) {
		return false, l.giveBack(ctx, l.keys, token)
	}
	return true, nil
}

// giveBack releases the keys, the last one first, whatever has become of ctx. It
// asks for every one, and returns the errors.
func (l *lock) giveBack(ctx context.Context, keys []string, token string) error {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
	defer cancel()
	var errs []error
	for _, key := range slices.Backward(keys) {
		if _, err := owned.Delete(ctx, l.client, key, token); err != nil {
			errs = append(errs, fmt.Errorf("giving %q back: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// Release gives all keys back, the last one first. It returns ErrNotHeld when one
// of them was no longer ours, and has released the others. It may return up to
// TTL/3 after ctx has ended.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
	defer cancel()
	var errs []error
	held := true
	for _, key := range slices.Backward(l.keys) {
		deleted, err := owned.Delete(ctx, l.client, key, lease.Owner)
		if err != nil {
			errs = append(errs, fmt.Errorf("release %q: %w", key, err))
			continue
		}
		held = held && deleted
	}
	switch {
	case len(errs) > 0:
		return errors.Join(errs...)
	case !held:
		return fmt.Errorf("release %q: %w", l.keys, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
