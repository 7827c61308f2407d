package batchedwatchdog

import (
	"context"
	_ "embed"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

//go:embed renew.lua
var renewSource string

var renewScript = redis.NewScript(renewSource)

// batch is the leases of one process that one timer renews. The timer runs while
// there are any.
type batch struct {
	ttl time.Duration

	mu      sync.Mutex // guards the rest and the handles; never held while anything waits
	entries []entry    // one for a key, in the order in which they came
	timer   *timer     // nil when there is none
}

type timer struct {
	end   context.CancelFunc
	ended chan struct{} // closed when nothing of it is under way any more
}

// handle is what the batch knows of a lock.
type handle struct {
	client impls.Redis
	closed bool
}

type entry struct {
	handle     *handle
	key, owner string
}

func newBatch(ttl time.Duration) *batch { return &batch{ttl: ttl} }

// add has a lease renewed, in place of an older one of the same key. It reports
// false when the handle is closed.
func (b *batch) add(e entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.handle.closed {
		return false
	}
	b.entries = slices.DeleteFunc(b.entries, func(o entry) bool { return o.key == e.key })
	b.entries = append(b.entries, e)
	if b.timer == nil {
		ctx, end := context.WithCancel(context.Background())
		b.timer = &timer{end, make(chan struct{})}
		go b.run(ctx, b.timer)
	}
	return true
}

// remove ends the renewal of a lease. It does not wait for one that is under way:
// should that arrive after the delete, it finds another value or none, is refused,
// and the rest of the batch is tried again soon.
func (b *batch) remove(key, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = slices.DeleteFunc(b.entries, func(e entry) bool { return e.key == key && e.owner == owner })
}

// close ends the renewal of all leases of a handle, and the timer with the last of
// them.
func (b *batch) close(h *handle) {
	if t := b.drop(h); t != nil {
		t.end()
		<-t.ended
	}
}

// drop returns the timer if nothing is left for it to renew.
func (b *batch) drop(h *handle) *timer {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.closed = true
	b.entries = slices.DeleteFunc(b.entries, func(e entry) bool { return e.handle == h })
	if len(b.entries) > 0 {
		return nil
	}
	t := b.timer
	b.timer = nil
	return t
}

// run is the timer.
func (b *batch) run(ctx context.Context, t *timer) {
	defer close(t.ended)
	defer t.end()
	pause := b.ttl / 3
	for impls.Sleep(ctx, pause) == nil {
		all := b.due(t)
		if len(all) == 0 {
			return
		}
		pause = b.ttl / 3
		if err := b.renew(ctx, all); err != nil {
			pause = b.ttl / 10 // Redisson logs the error
		}
	}
}

// due returns what a timer has to renew. If that is nothing, it must end.
func (b *batch) due(t *timer) []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries) == 0 && b.timer == t {
		b.timer = nil
	}
	return slices.Clone(b.entries)
}

func (b *batch) renew(ctx context.Context, all []entry) error {
	ctx, cancel := context.WithTimeout(ctx, b.ttl/5)
	defer cancel()
	keys, args := []string{}, []any{b.ttl.Milliseconds()}
	for _, e := range all {
		keys, args = append(keys, e.key), append(args, e.owner)
	}
	return renewScript.Run(ctx, all[0].handle.client, keys, args...).Err()
}
