package broken

import (
	"context"
	"errors"
	"time"

	"lockpick/impls"
)

// Flaws of a lock of several keys.
const (
	KeepsFirst    Flaw = "keeps-first"    // what was taken before a refusal stays taken
	ForgetsSecond Flaw = "forgets-second" // the release gives back the first key alone
)

// Several returns the single lock on several keys as one, with a flaw. It takes
// them in the order in which they are named.
func Several(f Flaw) impls.Version {
	v := version(f, "several", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &several{single: single{env: e, cfg: c, flaw: f}, keys: append([]string{c.Key}, c.Also...)}, nil
	})
	v.Traits.Multi = true
	return v
}

type several struct {
	single
	keys []string
}

func (l *several) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.token()
	var until time.Time
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		until = time.Now().Add(l.cfg.TTL - impls.Precision)
		for i, key := range l.keys {
			ok, err := l.env.Redis().SetNX(ctx, key, token, l.cfg.TTL).Result()
			switch {
			case err != nil:
				_, failed := l.giveBack(ctx, l.keys[:i+1], token)
				return false, errors.Join(err, failed)
			case ok:
			case l.flaw == KeepsFirst:
				return false, nil
			default:
				_, err := l.giveBack(ctx, l.keys[:i], token)
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return impls.Lease{}, err
	}
	return lease(token, until), nil
}

// giveBack deletes the token under the keys and reports how many there were.
func (l *several) giveBack(ctx context.Context, keys []string, token string) (int, error) {
	var errs []error
	gone := 0
	for _, key := range keys {
		n, err := remove(context.WithoutCancel(ctx), l.env.Redis(), key, token)
		gone += n
		errs = append(errs, err)
	}
	return gone, errors.Join(errs...)
}

func (l *several) Release(ctx context.Context, given impls.Lease) error {
	keys := l.keys
	if l.flaw == ForgetsSecond {
		keys = keys[:1]
	}
	n, err := l.giveBack(ctx, keys, given.Owner)
	if err == nil && n < len(keys) {
		n = 0
	}
	return released(n, err)
}
