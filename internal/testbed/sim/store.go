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

// StoreTimeout is how long a client waits for the store's answer: as long as
// go-redis waits for a connection, and a little longer, so that it never ends at
// the very instant of a timer that the lock set when the client began to wait.
const StoreTimeout = 5*time.Second + 499*time.Nanosecond

// store keeps what the locks protect. It belongs to the goroutine of world.loop.
type store struct {
	world     *world
	name      string
	resources []*resource // in the order of the clients that use them
}

// resource is one number, with how often it was changed, and a table of ids.
type resource struct {
	store  *store
	name   string
	row    impls.Row
	ids    map[string]bool
	newest uint64 // the highest fence that a write had
}

func newStore(w *world, name string) *store { return &store{world: w, name: name} }

// resource returns the one of that name, which is made if there is none.
func (s *store) resource(name string, initial int64) *resource {
	for _, r := range s.resources {
		if r.name == name {
			return r
		}
	}
	r := &resource{store: s, name: name, row: impls.Row{Value: initial}, ids: map[string]bool{}}
	s.resources = append(s.resources, r)
	return r
}

// set changes the number and records it.
func (r *resource) set(client string, v int64, fence uint64) {
	r.store.world.record(history.Record{
		Who: r.store.name, Kind: history.Observe, Op: history.Apply, Client: client, Key: r.name,
		Value: history.Int(v), Was: fmt.Sprint(r.row.Value), Fence: fence,
	})
	r.row.Value = v
	r.row.Version++
}

// write applies a client's write, unless the store checks fences and has seen a
// newer one. A write without a fence asks for no check.
func (r *resource) write(client string, v int64, fence uint64) error {
	if r.store.world.spec.Fences && fence > 0 && fence < r.newest {
		return fmt.Errorf("%w: fence %d is older than %d", testbed.ErrRefused, fence, r.newest)
	}
	r.newest = max(r.newest, fence)
	r.set(client, v, fence)
	return nil
}

// addIf adds to the number if it is at least least.
func (r *resource) addIf(client string, delta, least int64) error {
	if r.row.Value < least {
		return impls.ErrConflict
	}
	r.set(client, r.row.Value+delta, 0)
	return nil
}

// look records the values.
func (s *store) look(text string) {
	for _, r := range s.resources {
		s.world.record(history.Record{
			Who: s.name, Kind: history.Observe, Op: history.Keys, Key: r.name, Value: history.Int(r.row.Value), Text: text,
		})
	}
}

// askStore sends a request about the client's resource to the store and waits for
// its answer.
func askStore[T any](ctx context.Context, c *client, do func(*resource) (T, error)) (T, error) {
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
		v, err := do(c.resource)
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
	return c.tell(ctx, func(r *resource) error { return r.write(c.name, v, fence) })
}

// tell is askStore for what has no answer but an error.
func (c *client) tell(ctx context.Context, do func(*resource) error) error {
	_, err := askStore(ctx, c, func(r *resource) (struct{}, error) { return struct{}{}, do(r) })
	return err
}

// Get implements impls.Store.
func (c *client) Get(ctx context.Context) (impls.Row, error) {
	return askStore(ctx, c, func(r *resource) (impls.Row, error) { return r.row, nil })
}

// SetIf implements impls.Store.
func (c *client) SetIf(ctx context.Context, v int64, version uint64) error {
	return c.tell(ctx, func(r *resource) error {
		if r.row.Version != version {
			return impls.ErrConflict
		}
		r.set(c.name, v, 0)
		return nil
	})
}

// AddIf implements impls.Store.
func (c *client) AddIf(ctx context.Context, delta, least int64) error {
	return c.tell(ctx, func(r *resource) error { return r.addIf(c.name, delta, least) })
}

// Insert implements impls.Store.
func (c *client) Insert(ctx context.Context, id string, delta, least int64) error {
	return c.tell(ctx, func(r *resource) error {
		if r.ids[id] {
			return impls.ErrConflict
		}
		if err := r.addIf(c.name, delta, least); err != nil {
			return err
		}
		r.ids[id] = true
		return nil
	})
}

// Has implements impls.Store.
func (c *client) Has(ctx context.Context, id string) (bool, error) {
	return askStore(ctx, c, func(r *resource) (bool, error) { return r.ids[id], nil })
}

var (
	_ testbed.Client = (*client)(nil)
	_ impls.Store    = (*client)(nil)
)
