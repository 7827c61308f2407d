package sim

import (
	"context"
	"fmt"
	"os"
	"time"

	"lockpick/checker/history"
	"lockpick/impls"
	"lockpick/internal/testbed"
)

// StoreTimeout is how long a client waits for the store's answer, as long as
// go-redis waits for that of Redis.
const StoreTimeout = 5 * time.Second

// store keeps the protected resource: one number, with how often it was changed,
// and a table of ids. It belongs to the goroutine of world.loop.
type store struct {
	world  *world
	name   string
	row    impls.Row
	ids    map[string]bool
	newest uint64 // the highest fence that a write had
}

func newStore(w *world, name string, initial int64) *store {
	return &store{world: w, name: name, row: impls.Row{Value: initial}, ids: map[string]bool{}}
}

// set changes the number and records it.
func (s *store) set(client string, v int64, fence uint64) {
	s.world.record(history.Record{
		Who: s.name, Kind: history.Observe, Op: history.Apply, Client: client,
		Value: history.Int(v), Was: fmt.Sprint(s.row.Value), Fence: fence,
	})
	s.row.Value = v
	s.row.Version++
}

// write applies a client's write, unless the store checks fences and has seen a
// newer one. A write without a fence asks for no check.
func (s *store) write(client string, v int64, fence uint64) error {
	if s.world.spec.Fences && fence > 0 && fence < s.newest {
		return fmt.Errorf("%w: fence %d is older than %d", testbed.ErrRefused, fence, s.newest)
	}
	s.newest = max(s.newest, fence)
	s.set(client, v, fence)
	return nil
}

// addIf adds to the number if it is at least least.
func (s *store) addIf(client string, delta, least int64) error {
	if s.row.Value < least {
		return impls.ErrConflict
	}
	s.set(client, s.row.Value+delta, 0)
	return nil
}

// look records the value.
func (s *store) look(text string) {
	s.world.record(history.Record{Who: s.name, Kind: history.Observe, Op: history.Keys, Value: history.Int(s.row.Value), Text: text})
}

// askStore sends a request to the store and waits for its answer.
func askStore[T any](ctx context.Context, c *client, do func(*store) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := c.gate(0); err != nil {
		return none, err
	}
	w := c.world
	l := w.links[linkKey{c.name, w.store.name}]
	reply := make(chan answer, 1)
	w.mu.Lock()
	l.opened++
	number := l.opened // each request is a connection of its own: it may overtake and be lost alone
	l.send(toNode, number, &stream{}, func() {
		v, err := do(w.store)
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
		return none, err
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
	row, err := c.Get(ctx)
	return row.Value, err
}

// Write implements testbed.Client.
func (c *client) Write(ctx context.Context, v int64, fence uint64) error {
	return c.tell(ctx, func(s *store) error { return s.write(c.name, v, fence) })
}

// tell is askStore for what has no answer but an error.
func (c *client) tell(ctx context.Context, do func(*store) error) error {
	_, err := askStore(ctx, c, func(s *store) (struct{}, error) { return struct{}{}, do(s) })
	return err
}

// Get implements impls.Store.
func (c *client) Get(ctx context.Context) (impls.Row, error) {
	return askStore(ctx, c, func(s *store) (impls.Row, error) { return s.row, nil })
}

// SetIf implements impls.Store.
func (c *client) SetIf(ctx context.Context, v int64, version uint64) error {
	return c.tell(ctx, func(s *store) error {
		if s.row.Version != version {
			return impls.ErrConflict
		}
		s.set(c.name, v, 0)
		return nil
	})
}

// AddIf implements impls.Store.
func (c *client) AddIf(ctx context.Context, delta, least int64) error {
	return c.tell(ctx, func(s *store) error { return s.addIf(c.name, delta, least) })
}

// Insert implements impls.Store.
func (c *client) Insert(ctx context.Context, id string, delta, least int64) error {
	return c.tell(ctx, func(s *store) error {
		if s.ids[id] {
			return impls.ErrConflict
		}
		if err := s.addIf(c.name, delta, least); err != nil {
			return err
		}
		s.ids[id] = true
		return nil
	})
}

// Has implements impls.Store.
func (c *client) Has(ctx context.Context, id string) (bool, error) {
	return askStore(ctx, c, func(s *store) (bool, error) { return s.ids[id], nil })
}

var (
	_ testbed.Client = (*client)(nil)
	_ impls.Store    = (*client)(nil)
)
