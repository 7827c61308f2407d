package harness_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/internal/harness"
	"lockpick/internal/testbed"
)

// made is a sound lock of one node with something around it.
func made(traits func(*impls.Traits), around func(impls.Lock, impls.Env, impls.Config) impls.Lock) impls.Version {
	v := broken.Single(broken.None)
	sound := v.New
	traits(&v.Traits)
	v.New = func(e impls.Env, c impls.Config) (impls.Lock, error) {
		l, err := sound(e, c)
		return around(l, e, c), err
	}
	return v
}

// reentrant counts in the client how often it has the lock, as one that is
// re-entrant does. The mutex is not held across a call.
type reentrant struct {
	impls.Lock
	mu    sync.Mutex
	lease impls.Lease
	times int
}

var nesting = made(func(t *impls.Traits) { t.Reentrant = true }, func(l impls.Lock, _ impls.Env, _ impls.Config) impls.Lock {
	return &reentrant{Lock: l}
})

func (r *reentrant) held(by int) (impls.Lease, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times > 0 {
		r.times += by
	}
	return r.lease, r.times
}

func (r *reentrant) Acquire(ctx context.Context) (impls.Lease, error) {
	if l, times := r.held(+1); times > 0 {
		return l, nil
	}
	l, err := r.Lock.Acquire(ctx)
	if err == nil {
		r.mu.Lock()
		r.lease, r.times = l, 1
		r.mu.Unlock()
	}
	return l, err
}

func (r *reentrant) Release(ctx context.Context, l impls.Lease) error {
	if _, times := r.held(-1); times > 0 {
		return nil
	}
	return r.Lock.Release(ctx, l)
}

// sharing has a shared mode, in which it asks nobody.
type sharing struct {
	impls.Lock
	env impls.Env
}

var shared = made(func(t *impls.Traits) { t.Shared = true }, func(l impls.Lock, e impls.Env, _ impls.Config) impls.Lock {
	return sharing{l, e}
})

func (s sharing) AcquireShared(context.Context) (impls.Lease, error) {
	return impls.Lease{Owner: s.env.Token()}, nil
}

// direct is a strategy that adds to the store's number, and can be made to lose
// what it heard.
type direct struct {
	store impls.Store
	book  *changes
	who   string
}

// changes is what direct strategies were asked for.
type changes struct {
	mu      sync.Mutex
	asked   []string        // who, id, and delta of every call
	times   []time.Time     // and when
	loses   func(n int) int // how often the n-th change is not heard of, from 1
	unheard map[string]int  // how often each change will still not be heard of
	refuses bool
	broken  error // what Prepare answers
}

var errUnheard = errors.New("the reply was lost")

func (b *changes) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, fmt.Sprintf(format, args...))
	b.times = append(b.times, time.Now())
}

func (b *changes) version() impls.Version {
	b.unheard = map[string]int{}
	return impls.Version{
		Name: "direct",
		Strategy: func(e impls.Env, s impls.Store, _ impls.Config) (impls.Strategy, error) {
			return &direct{s, b, e.Owner()}, nil
		},
	}
}

func (d *direct) Prepare(_ context.Context, initial int64) error {
	d.book.note("%s prepare %d", d.who, initial)
	return d.book.broken
}

func (d *direct) Change(ctx context.Context, id string, delta int64) error {
	d.book.note("%s change %s %+d", d.who, id, delta)
	if d.book.refuses {
		return fmt.Errorf("nothing left: %w", impls.ErrNotChanged)
	}
	d.book.mu.Lock()
	_, again := d.book.unheard[id]
	if !again && d.book.loses != nil {
		d.book.unheard[id] = d.book.loses(len(d.book.unheard) + 1)
	}
	d.book.unheard[id]--
	lost := d.book.unheard[id] >= 0
	d.book.mu.Unlock()
	if lost {
		return errUnheard
	}
	return d.store.AddIf(ctx, delta, -delta)
}

func (d *direct) Value(ctx context.Context) (int64, error) {
	row, err := d.store.Get(ctx)
	return row.Value, err
}

// heard lists the operations of a client: kind, operation, and what counts of it.
func heard(h *history.History, who string) []string {
	var list []string
	for _, r := range h.Records {
		if r.Who != who || r.Kind == history.Observe {
			continue
		}
		text := string(r.Kind) + " " + r.Op
		if r.Depth > 0 {
			text += fmt.Sprintf(" %d", r.Depth)
		}
		if r.Shared {
			text += " shared"
		}
		list = append(list, text)
	}
	return list
}

// spied is a testbed that tells of what the harness does with the world.
type spied struct {
	testbed.Testbed
	mu     sync.Mutex
	phases []string   // that client-1 entered
	sides  [][]string // of partitions
	also   [][]string // of the locks that were made
}

func (s *spied) Run(ctx context.Context, spec testbed.Spec, f func(testbed.World)) error {
	return s.Testbed.Run(ctx, spec, func(w testbed.World) { f(spiedWorld{w, s}) })
}

type spiedWorld struct {
	testbed.World
	spy *spied
}

func (w spiedWorld) Partition(side []string) (func(), error) {
	w.spy.mu.Lock()
	defer w.spy.mu.Unlock()
	w.spy.sides = append(w.spy.sides, side)
	return func() {}, nil
}

func (w spiedWorld) Client(name string) testbed.Client {
	return spiedClient{w.World.Client(name), w.spy, name}
}

type spiedClient struct {
	testbed.Client
	spy  *spied
	name string
}

func (c spiedClient) Lock(v impls.Version, cfg impls.Config) (impls.Lock, error) {
	c.spy.mu.Lock()
	c.spy.also = append(c.spy.also, cfg.Also)
	c.spy.mu.Unlock()
	return c.Client.Lock(v, cfg)
}

func (c spiedClient) Enter(p faults.Phase) {
	c.spy.mu.Lock()
	if c.name == "client-1" {
		c.spy.phases = append(c.spy.phases, string(p))
	}
	c.spy.mu.Unlock()
	c.Client.Enter(p)
}

// mustSpy carries out a run and tells of it.
func mustSpy(t *testing.T, p pair) (*harness.Outcome, *spied) {
	t.Helper()
	spy := &spied{Testbed: bed}
	s := p.setup(1, io.Discard)
	s.Testbed = spy
	out, err := harness.Do(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out, spy
}
