package sim

import (
	"context"
	"time"

	"lockpick/internal/resource"
)

// StoreTimeout is how long a client waits for the store's answer: as long as
// go-redis waits for a connection, and a little longer, so that it never ends at
// the very instant of a timer that the lock set when the client began to wait.
const StoreTimeout = 5*time.Second + 499*time.Nanosecond

// askStore sends a request about the client's resource to the store, which belongs
// to the goroutine of world.loop, and waits for its answer.
func (c *client) askStore(ctx context.Context, do func(*resource.Resource) (any, error)) (any, error) {
	if err := c.gate(0); err != nil {
		return nil, err
	}
	w := c.world
	l := w.links[linkKey{c.name, w.store.Name()}]
	reply := make(chan resource.Answer, 1)
	w.mu.Lock()
	l.opened++
	number := l.opened // each request is a connection of its own: it may overtake and be lost alone
	l.send(toNode, number, &stream{}, func() {
		v, err := do(c.resource)
		w.mu.Lock()
		defer w.mu.Unlock()
		l.send(toClient, number, &stream{}, func() { reply <- resource.Answer{Value: v, Err: err} })
	})
	w.mu.Unlock()
	return resource.Await(ctx, reply, StoreTimeout, func() error { return c.gate(0) })
}
