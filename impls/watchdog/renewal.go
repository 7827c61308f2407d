package watchdog

import (
	"context"
	"sync"
	"time"

	"lockpick/impls/internal/owned"
)

// renewal keeps one lease alive.
//
//	sent             TTL/3            2 TTL/3             TTL
//	 |----------------|- - try again every TTL/10 - - - -  |
//	grant           renew: ok moves everything            Lost closes
//
// An attempt has TTL/5 for its answer: longer than any answer worth waiting for,
// and short enough to leave time for two more. A client that does not heed
// contexts (go-redis does so only with ContextTimeoutEnabled) may sit on an
// attempt for longer, so the attempts run beside the loop that watches the time,
// and a new one does not wait for the old.
type renewal struct {
	owner string
	lost  chan struct{}      // closed when the lease is gone
	stop  context.CancelFunc // the lease is given back
	done  chan struct{}      // closed when no attempt is under way any more
}

// answer is what came of one attempt, and when that attempt was sent.
type answer struct {
	sent    time.Time
	renewed bool
	err     error
}

// keep starts the renewal of a lease. It reports false when the lock is closed.
func (l *lock) keep(owner string, validUntil time.Time) (*renewal, bool) {
	stopped, stop := context.WithCancel(context.Background())
	r := &renewal{owner: owner, lost: make(chan struct{}), stop: stop, done: make(chan struct{})}
	l.mu.Lock()
	l.renewals[owner] = r
	l.mu.Unlock()
	started := l.renewing.Go(func(closed context.Context) {
		l.renew(closed, stopped, r, validUntil)
	})
	if !started {
		stop()
		l.forget(owner)
	}
	return r, started
}

// renew runs until the lease is given back (stopped), lost, or the lock is closed.
func (l *lock) renew(closed, stopped context.Context, r *renewal, validUntil time.Time) {
	ctx, cancel := context.WithCancel(closed)
	var attempts sync.WaitGroup
	defer func() {
		cancel()
		attempts.Wait()
		r.stop()
		l.forget(r.owner)
		close(r.done)
	}()
	ttl := l.cfg.TTL
	answers := make(chan answer)
	end := time.NewTimer(time.Until(validUntil))
	defer end.Stop()
	next := time.NewTimer(time.Until(validUntil.Add(ttl/3 - ttl))) // TTL/3 after the grant was sent
	defer next.Stop()

	for {
		select {
		case <-stopped.Done():
			return
		case <-closed.Done(): // nobody renews any more
			close(r.lost)
			return
		case <-end.C: // no answer in time
			close(r.lost)
			return
		case <-next.C:
			attempts.Go(func() {
				a := l.attempt(ctx, r.owner)
				select {
				case answers <- a:
				case <-ctx.Done():
				}
			})
			next.Reset(ttl/5 + ttl/10) // in case there is no answer in time
		case a := <-answers:
			switch until := a.sent.Add(ttl); {
			case a.err != nil:
				next.Reset(ttl / 10)
			case !a.renewed:
				close(r.lost)
				return
			case until.After(validUntil): // else it is the late answer of an older attempt
				validUntil = until
				end.Reset(time.Until(validUntil))
				next.Reset(time.Until(a.sent.Add(ttl / 3)))
			}
		}
	}
}

func (l *lock) attempt(ctx context.Context, owner string) answer {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.TTL/5)
	defer cancel()
	sent := time.Now()
	renewed, err := owned.Renew(ctx, l.client, l.cfg.Key, owner, l.cfg.TTL)
	return answer{sent: sent, renewed: renewed, err: err}
}

// stop ends the renewal of a lease and waits until nothing of it is on the wire,
// for at most the time that an attempt has. Should a client that does not heed
// contexts take longer, its renewal arrives after the delete, finds another
// value or none, and does nothing.
func (l *lock) stop(owner string) {
	l.mu.Lock()
	r := l.renewals[owner]
	l.mu.Unlock()
	if r == nil {
		return
	}
	r.stop()
	wait := time.NewTimer(l.cfg.TTL / 5)
	defer wait.Stop()
	select {
	case <-r.done:
	case <-wait.C:
	}
}

func (l *lock) forget(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.renewals, owner)
}
