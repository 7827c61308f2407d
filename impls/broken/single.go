package broken

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockpick/impls"
)

// single is a lock on one node.
type single struct {
	env   impls.Env
	cfg   impls.Config
	flaw  Flaw
	calls atomic.Int64 // of what lies now and then
}

// now reports true every second time.
func (l *single) now() bool { return l.calls.Add(1)%2 == 0 }

func (l *single) key() string {
	if l.flaw == OwnKey {
		return l.cfg.Key + ":" + l.env.Owner()
	}
	return l.cfg.Key
}

func (l *single) token() string {
	if l.flaw == TokenReused {
		return "the token of " + l.env.Owner()
	}
	return l.env.Token()
}

func (l *single) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.token()
	wait := l.cfg.Wait
	switch l.flaw {
	case NoWait:
		wait = 0
	case IgnoresContext:
		return l.forever(token), nil
	default: // this one behaves here
	}
	var until time.Time
	err := impls.Poll(ctx, wait, retryDelay, func(ctx context.Context) (bool, error) {
		until = time.Now().Add(l.cfg.TTL - impls.Precision)
		ok, err := l.set(ctx, token)
		return ok || err == nil && l.flaw == GrantLie && l.now(), err
	})
	switch {
	case err != nil && l.flaw == ErrorIsRefusal:
		return impls.Lease{}, impls.ErrNotAcquired
	case errors.Is(err, impls.ErrNotAcquired) && l.flaw == EntersAnyway:
		return lease(token, until), nil
	case err != nil:
		return impls.Lease{}, l.said(err)
	case l.flaw == RefusalLie && l.now():
		return impls.Lease{}, impls.ErrNotAcquired
	case l.flaw == UntilOfReply:
		until = time.Now().Add(l.cfg.TTL)
	case l.flaw == UntilDouble:
		until = until.Add(l.cfg.TTL)
	case l.flaw == SwallowsTheLease:
		return impls.Lease{}, nil
	case l.flaw == ShortTTL, l.flaw == SecondsAsMillis:
		until = time.Time{} // it would be caught by its own claim alone
	}
	return lease(token, until), nil
}

// forever is an Acquire that knows no end.
func (l *single) forever(token string) impls.Lease {
	for {
		until := time.Now().Add(l.cfg.TTL - impls.Precision)
		if ok, _ := l.set(context.Background(), token); ok {
			return lease(token, until)
		}
		time.Sleep(retryDelay)
	}
}

func (l *single) set(ctx context.Context, token string) (bool, error) {
	ttl := l.cfg.TTL
	switch l.flaw {
	case ShortTTL:
		ttl /= 10
	case SecondsAsMillis:
		ttl /= 1000
	case MillisAsSeconds:
		ttl *= 1000
	default: // this one behaves here
	}
	return l.env.Redis().SetNX(ctx, l.key(), token, ttl).Result()
}

func (l *single) Release(ctx context.Context, given impls.Lease) error {
	c := l.env.Redis()
	switch l.flaw {
	case NoTokenCheck:
		n, err := c.Del(ctx, l.key()).Result()
		return released(int(n), err)
	case ReleasePrefix:
		return released(prefixScript.Run(ctx, c, nil, l.key()+"*").Int())
	case ReleaseOtherKey:
		_, err := remove(ctx, c, l.key()+":lock", given.Owner)
		return err
	default: // this one behaves here
	}
	n, err := remove(ctx, c, l.key(), given.Owner)
	switch l.flaw {
	case ReleaseAlwaysOK:
		return err
	case ReleaseNeverOK:
		return errors.Join(impls.ErrNotHeld, err)
	case ReleaseForgets:
		if err != nil {
			return nil
		}
	default: // this one behaves here
	}
	return l.said(released(n, err))
}

// said is an error as the caller hears it.
func (l *single) said(err error) error {
	if err != nil && l.flaw == GarbageErrors {
		return errors.New("something went wrong")
	}
	return err
}

func (l *single) Close() error { return nil }
