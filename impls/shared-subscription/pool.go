package sharedsubscription

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockpick/impls/internal/background"
	"lockpick/impls/internal/wakeup"
)

// size is how many channels the pool has: connections times channels of each.
const size = 1

// unheard is how much news is kept for a waiter that does not listen just now, as
// in go-redis. If only the newest were, how often the waiter looks would depend on
// whether it takes one piece before the next comes, when both come at once.
const unheard = 100

// pools is the pool of a process, while it has any lock open.
type pools struct {
	mu   sync.Mutex
	pool *pool
}

// open returns the pool for one more lock.
func (p *pools) open() *pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pool == nil {
		p.pool = &pool{
			all: p, work: background.New(), semaphore: make(chan struct{}, 1), slots: make(chan struct{}, size),
			channels: map[string]*channel{},
		}
	}
	p.pool.locks++
	return p.pool
}

// pool is the subscriptions of a process. What waits does so in the background,
// until Close at the latest.
type pool struct {
	all   *pools
	locks int // guarded by all.mu
	work  *background.Group

	semaphore chan struct{}       // full while somebody changes channels
	slots     chan struct{}       // one element for each channel that is in use
	channels  map[string]*channel // by key; of whoever has the semaphore
}

// leave ends the pool with its last lock.
func (p *pool) leave() {
	p.all.mu.Lock()
	p.locks--
	last := p.locks == 0
	if last {
		p.all.pool = nil
	}
	p.all.mu.Unlock()
	if last {
		p.work.Close()
	}
}

// channel is what the waiters of one lock listen to.
type channel struct {
	end   context.CancelFunc
	ended chan struct{} // closed when its subscription is

	mu        sync.Mutex // guards the rest
	waiters   []*subscription
	confirmed bool // what is published now arrives
}

// subscription is one waiter's.
type subscription struct {
	key   string
	ready chan struct{}    // closed when it is made
	news  chan wakeup.News // what it has not heard yet, in order
}

// take puts an element into a semaphore. It reports false when ctx ends first.
func take(ctx context.Context, semaphore chan struct{}) bool {
	select {
	case semaphore <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// subscribe has a subscription made, which is to be ended with unsubscribe whether
// anybody has waited for it or not.
func (p *pool) subscribe(key string, source *wakeup.Channel) *subscription {
	s := &subscription{key: key, ready: make(chan struct{}), news: make(chan wakeup.News, unheard)}
	p.work.Go(func(closed context.Context) {
		if !take(closed, p.semaphore) {
			return
		}
		defer func() { <-p.semaphore }()
		c := p.channels[key]
		if c == nil {
			if !take(closed, p.slots) { // and nobody can free one
				return
			}
			c = p.listen(closed, source)
			p.channels[key] = c
		}
		c.join(s)
		close(s.ready)
	})
	return s
}

// unsubscribe ends a subscription, if need be as soon as it is made.
func (p *pool) unsubscribe(s *subscription) {
	p.work.Go(func(closed context.Context) {
		select {
		case <-s.ready:
		case <-closed.Done():
			return
		}
		if !take(closed, p.semaphore) {
			return
		}
		defer func() { <-p.semaphore }()
		c := p.channels[s.key]
		if c.part(s) {
			delete(p.channels, s.key)
			c.end()
			<-c.ended
			<-p.slots
		}
	})
}

// listen subscribes to the channel of a lock.
func (p *pool) listen(closed context.Context, source *wakeup.Channel) *channel {
	ctx, end := context.WithCancel(closed)
	c := &channel{end: end, ended: make(chan struct{})}
	if !p.work.Go(func(context.Context) {
		defer close(c.ended)
		sub := source.Subscribe(ctx)
		defer sub.Close()
		for ctx.Err() == nil {
			c.tell(sub.Wait(ctx, time.Hour))
		}
	}) {
		close(c.ended)
	}
	return c
}

func (c *channel) join(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiters = append(c.waiters, s)
	if c.confirmed {
		s.news <- wakeup.Subscribed
	}
}

// part reports whether there is nobody left.
func (c *channel) part(s *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiters = slices.DeleteFunc(c.waiters, func(o *subscription) bool { return o == s })
	return len(c.waiters) == 0
}

// tell passes news on to all waiters. One that has not heard a hundred others yet
// looks again anyway.
func (c *channel) tell(n wakeup.News) {
	if n == wakeup.Nothing {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed = true
	for _, s := range c.waiters {
		select {
		case s.news <- n:
		default:
		}
	}
}

// made waits until the subscription is made, which is not to say confirmed, for
// at most as long as limit.
func (s *subscription) made(ctx context.Context, limit time.Duration) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over.C:
		return fmt.Errorf("subscribe timeout: %v", limit)
	}
}

// wait waits for news, for d or until ctx has ended.
func (s *subscription) wait(ctx context.Context, d time.Duration) wakeup.News {
	if d <= 0 { // a select would toss a coin between news and the time
		return wakeup.Nothing
	}
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case n := <-s.news:
		return n
	case <-over.C:
	case <-ctx.Done():
	}
	return wakeup.Nothing
}
