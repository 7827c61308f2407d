// Package background runs what a lock does behind its caller's back, so that
// Close can end all of it.
//
// It knows nothing of locks. When and whether a piece of work ends before Close
// is left to the version, since that is where versions go wrong.
package background

import (
	"context"
	"sync"
	"time"
)

// Group is the background work of one handle. It is safe for concurrent use.
type Group struct {
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // never held while anything waits
	closed bool
}

// New returns a group with nothing in it.
func New() *Group {
	ctx, end := context.WithCancel(context.Background())
	return &Group{ctx: ctx, end: end}
}

// Go runs f in a goroutine, with a context that ends at Close. It reports
// whether it did: a closed group starts nothing.
func (g *Group) Go(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(func() { f(g.ctx) })
	return true
}

// Close ends all contexts and waits until everything has returned. A command
// that is on the wire when its client does not heed contexts is waited for
// until the client's own time-out.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.end()
	g.running.Wait()
}

// Timer is one call in the future, as Python's threading.Timer is.
type Timer struct {
	once      sync.Once
	cancelled chan struct{}
}

// After runs f once d has passed, unless the timer is cancelled or the group is
// closed before.
func (g *Group) After(d time.Duration, f func(ctx context.Context)) *Timer {
	t := &Timer{cancelled: make(chan struct{})}
	g.Go(func(ctx context.Context) {
		wait := time.NewTimer(d)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-t.cancelled:
			return
		case <-ctx.Done():
			return
		}
		select {
		case <-t.cancelled: // both at the same instant: the cancellation counts
		default:
			f(ctx)
		}
	})
	return t
}

// Cancel prevents the call. Like its namesake in Python it does nothing to a
// call that has begun, and does not wait for it.
func (t *Timer) Cancel() {
	t.once.Do(func() { close(t.cancelled) })
}
