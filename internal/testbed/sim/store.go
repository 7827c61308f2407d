package sim

import (
	"context"
	"fmt"
	"os"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/testbed"
)

// StoreTimeout is how long a client waits for the store's answer, as long as
// go-redis waits for that of Redis.
const StoreTimeout = 5 * time.Second

// store keeps the protected resource: one number. It belongs to the goroutine of
// world.loop.
type store struct {
	world *world
	name  string
	value int64
}

func newStore(w *world, name string, initial int64) *store {
	return &store{world: w, name: name, value: initial}
}

func (s *store) read() (int64, error) { return s.value, nil }

// write applies a client's write and records it.
func (s *store) write(client string, v int64, fence uint64) (int64, error) {
	s.world.record(history.Record{
		Who: s.name, Kind: history.Observe, Op: history.Apply, Client: client,
		Value: history.Int(v), Was: fmt.Sprint(s.value), Fence: fence,
	})
	s.value = v
	return v, nil
}

// look records the value.
func (s *store) look(text string) {
	s.world.record(history.Record{Who: s.name, Kind: history.Observe, Op: history.Keys, Value: history.Int(s.value), Text: text})
}

// answer is the store's reply.
type answer struct {
	value int64
	err   error
}

// call sends a request to the store and waits for its answer.
func (c *client) call(ctx context.Context, do func() (int64, error)) (int64, error) {
	if err := c.gate(0); err != nil {
		return 0, err
	}
	w := c.world
	l := w.links[linkKey{c.name, w.store.name}]
	reply := make(chan answer, 1)
	w.mu.Lock()
	l.opened++
	number := l.opened // each request is a connection of its own: it may overtake and be lost alone
	l.send(toNode, number, &stream{}, func() {
		v, err := do()
		w.mu.Lock()
		defer w.mu.Unlock()
		l.send(toClient, number, &stream{}, func() { reply <- answer{v, err} })
	})
	w.mu.Unlock()

	limit := time.NewTimer(StoreTimeout)
	defer limit.Stop()
	var got answer
	select {
	case got = <-reply:
	case <-ctx.Done():
		got.err = ctx.Err()
	case <-limit.C:
		got.err = fmt.Errorf("the store does not answer: %w", os.ErrDeadlineExceeded)
	}
	if err := c.gate(0); err != nil {
		return 0, err
	}
	if got.err == nil {
		return got.value, nil
	}
	select { // an answer that came while the client stood still counts
	case got = <-reply:
	default:
	}
	return got.value, got.err
}

// Read implements testbed.Client.
func (c *client) Read(ctx context.Context) (int64, error) {
	return c.call(ctx, c.world.store.read)
}

// Write implements testbed.Client.
func (c *client) Write(ctx context.Context, v int64, fence uint64) error {
	_, err := c.call(ctx, func() (int64, error) { return c.world.store.write(c.name, v, fence) })
	return err
}

var _ testbed.Client = (*client)(nil)
