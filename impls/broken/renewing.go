package broken

import (
	"context"
	"sync"
	"time"

	"lockpick/impls"
)

// Renewing returns the single lock with a renewal every TTL/3 and a Lost
// channel, with a flaw.
func Renewing(f Flaw) impls.Version {
	v := version(f, "renewing", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		closed, end := context.WithCancel(context.Background())
		return &renewing{single: single{env: e, cfg: c, flaw: f}, closed: closed, end: end, stops: map[string]func(){}}, nil
	})
	v.Traits.Renew = impls.RenewOwned
	return v
}

type renewing struct {
	single
	closed context.Context
	end    context.CancelFunc
	work   sync.WaitGroup

	mu    sync.Mutex
	stops map[string]func() // by owner; each waits until its renewal has ended
}

func (l *renewing) Acquire(ctx context.Context) (impls.Lease, error) {
	g, err := l.single.Acquire(ctx)
	if err != nil {
		return g, err
	}
	lost := make(chan struct{})
	going, stop := context.WithCancel(l.closed)
	done := make(chan struct{})
	l.mu.Lock()
	l.stops[g.Owner] = func() { stop(); <-done }
	l.mu.Unlock()
	until := g.Until
	l.work.Go(func() {
		defer close(done)
		l.renew(going, g.Owner, until, lost)
	})
	return impls.Lease{Owner: g.Owner, Lost: lost}, nil
}

// renew prolongs the lease until it is stopped or lost.
func (l *renewing) renew(ctx context.Context, owner string, until time.Time, lost chan struct{}) {
	lose := func() {
		switch l.flaw {
		case LostNever:
		case LostLate:
			if impls.Sleep(ctx, l.cfg.TTL) == nil {
				close(lost)
			}
		default:
			close(lost)
		}
	}
	for n := 0; ; n++ {
		next := min(l.cfg.TTL/3, time.Until(until))
		if l.flaw == RenewOnce && n > 0 {
			return
		}
		if impls.Sleep(ctx, next) != nil {
			return
		}
		if !time.Now().Before(until) {
			lose()
			return
		}
		sent := time.Now()
		ok, err := l.prolong(ctx, owner)
		switch {
		case err == nil && ok:
			until = sent.Add(l.cfg.TTL - impls.Precision)
		case err == nil:
			lose()
			return
		}
	}
}

func (l *renewing) prolong(ctx context.Context, owner string) (bool, error) {
	if l.flaw == RenewAnybody {
		return l.env.Redis().PExpire(ctx, l.key(), l.cfg.TTL).Result()
	}
	n, err := renewScript.Run(ctx, l.env.Redis(), []string{l.key()}, owner, l.cfg.TTL.Milliseconds()).Int()
	return n == 1, err
}

func (l *renewing) Release(ctx context.Context, given impls.Lease) error {
	l.mu.Lock()
	stop := l.stops[given.Owner]
	delete(l.stops, given.Owner)
	l.mu.Unlock()
	if stop != nil && l.flaw != RenewForever {
		stop()
	}
	return l.single.Release(ctx, given)
}

func (l *renewing) Close() error {
	l.end()
	l.work.Wait()
	return nil
}
