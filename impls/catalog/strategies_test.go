package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/impls/internal/storetest"
	"lockpick/impls/internal/testenv"
)

// shop is a number that several clients change.
type shop struct {
	*testenv.World
	store *storetest.Store
	v     impls.Version
	env   *testenv.Env
	one   impls.Strategy // one client's; prepared
}

const stock = 20

// eachStrategy runs a test for every strategy, on one Redis node and one store.
func eachStrategy(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	found := false
	for _, v := range catalog.All() {
		if v.Strategy == nil {
			continue
		}
		found = true
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shop{World: testenv.MustOpen(t, 1), store: storetest.New(3), v: v}
				s.env = s.Env("one")
				s.one = s.mustOpen(t, s.env)
				if err := s.one.Prepare(t.Context(), stock); err != nil {
					t.Fatalf("Prepare: %v", err)
				}
				test(t, s)
			})
		})
	}
	if !found {
		t.Error("there is no strategy")
	}
}

// mustOpen is one client's view of the number.
func (s *shop) mustOpen(t *testing.T, env *testenv.Env) impls.Strategy {
	t.Helper()
	one, err := s.v.Strategy(env, s.store, impls.Config{Key: testenv.Key, TTL: ttl, Wait: time.Minute})
	if err != nil {
		t.Fatalf("Strategy: %v", err)
	}
	return one
}

func (s *shop) mustValue(t *testing.T) int64 {
	t.Helper()
	got, err := s.one.Value(t.Context())
	if err != nil {
		t.Fatalf("Value: %v", err)
	}
	return got
}

// cut is what a test does to the connections of client one.
type cut struct {
	name           string
	sent, answered error
	reads          bool  // of the store, also what only reads
	least          int64 // what the number may have become by one change
}

// apply fails what is sent from now on, or what is answered.
func (c cut) apply(s *shop) {
	s.env.OnRequest(func(context.Context, testenv.Command) error { return c.sent })
	s.env.OnReply(func(context.Context, testenv.Command) error { return c.answered })
	spare := func(err error) func(string) error {
		return func(call string) error {
			if !c.reads && (call == "get" || call == "has") {
				return nil
			}
			return err
		}
	}
	s.store.OnRequest(spare(c.sent))
	s.store.OnAnswer(spare(c.answered))
}

func TestStrategyPrepare(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s *shop) {
		if got := s.mustValue(t); got != stock {
			t.Errorf("after Prepare(%d) the number is %d", stock, got)
		}
		if err := s.one.Prepare(t.Context(), stock); err != nil {
			t.Errorf("a second Prepare: %v", err)
		}
		if got, err := s.mustOpen(t, s.Env("other")).Value(t.Context()); got != stock || err != nil {
			t.Errorf("another client reads %d, %v", got, err)
		}
	})
}

// A unit that is put back can be had again. That unique-index does not know the
// number of one that it has sold is its mistake.
func TestStrategyChanges(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s *shop) {
		want := int64(stock)
		for i, delta := range []int64{-1, -1, 1, -1} {
			err := s.one.Change(t.Context(), fmt.Sprint("change-", i), delta)
			if delta > 0 && s.v.Name == "unique-index" {
				if !errors.Is(err, impls.ErrNotChanged) {
					t.Errorf("Change by %d = %v, want ErrNotChanged", delta, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("Change by %d: %v", delta, err)
			}
			want += delta
		}
		if got := s.mustValue(t); got != want {
			t.Errorf("the number is %d, want %d", got, want)
		}
	})
}

// More want one than there are. Every acknowledged change is there once, the others
// are refused for certain, and the number is never below 0.
func TestStrategyConcurrentChanges(t *testing.T) {
	const clients, rounds = 8, 4
	eachStrategy(t, func(t *testing.T, s *shop) {
		var sold, refused atomic.Int64
		var all sync.WaitGroup
		for c := range clients {
			one := s.mustOpen(t, s.Env(fmt.Sprint("client-", c)))
			all.Go(func() {
				for r := range rounds {
					switch err := one.Change(t.Context(), fmt.Sprintf("client-%d/%d", c, r), -1); {
					case err == nil:
						sold.Add(1)
					case errors.Is(err, impls.ErrNotChanged):
						refused.Add(1)
					default:
						t.Errorf("Change: %v", err)
					}
				}
			})
		}
		over := make(chan struct{})
		watched := make(chan int64)
		go func() {
			least := int64(stock)
			for {
				select {
				case <-over:
					watched <- least
					return
				case <-time.After(time.Millisecond):
					if got, err := s.one.Value(t.Context()); err == nil {
						least = min(least, got)
					}
				}
			}
		}()
		all.Wait()
		close(over)
		if least := <-watched; least < 0 {
			t.Errorf("the number was %d at one time", least)
		}
		if got := s.mustValue(t); got != stock-sold.Load() || got != 0 {
			t.Errorf("%d changes are acknowledged and the number is %d, want %d and 0", sold.Load(), got, stock)
		}
		if want := int64(clients*rounds - stock); refused.Load() != want {
			t.Errorf("%d were refused, want %d", refused.Load(), want)
		}
	})
}

func TestStrategyNothingLeft(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s *shop) {
		if err := s.one.Prepare(t.Context(), 0); err != nil {
			t.Fatalf("Prepare: %v", err)
		}
		start := time.Now()
		if err := s.one.Change(t.Context(), "too-late", -1); !errors.Is(err, impls.ErrNotChanged) {
			t.Errorf("Change = %v, want ErrNotChanged", err)
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("the refusal took %v", took)
		}
		if got := s.mustValue(t); got != 0 {
			t.Errorf("the number is %d", got)
		}
	})
}

// Whatever a strategy makes of a context that has ended, what it says is true.
func TestStrategyContextHasEnded(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s *shop) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := s.one.Change(ctx, "cancelled", -1)
		switch got := s.mustValue(t); {
		case err == nil && got != stock-1:
			t.Errorf("Change is acknowledged and the number is %d", got)
		case errors.Is(err, impls.ErrNotChanged) && got != stock:
			t.Errorf("Change = %v and the number is %d", err, got)
		case got != stock && got != stock-1:
			t.Errorf("the number is %d", got)
		}
	})
}

// An answer that was not heard, and a server that cannot be reached, are no
// refusals.
func TestStrategyCutOff(t *testing.T) {
	for _, tt := range []cut{
		{"before anything was sent", storetest.ErrCut, nil, true, stock},
		{"before the change was sent", storetest.ErrCut, nil, false, stock},
		{"before any answer came", nil, storetest.ErrCut, true, stock - 1},
		{"before the answer to the change came", nil, storetest.ErrCut, false, stock - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachStrategy(t, func(t *testing.T, s *shop) {
				tt.apply(s)
				if err := s.one.Change(t.Context(), "lost", -1); err == nil || errors.Is(err, impls.ErrNotChanged) {
					t.Errorf("Change = %v, want an error that leaves the outcome open", err)
				}
				if _, err := s.one.Value(t.Context()); err == nil && tt.reads {
					t.Error("Value knows the number all the same")
				}
				cut{}.apply(s)
				if got := s.mustValue(t); got < tt.least || got > stock {
					t.Errorf("the number is %d, want at least %d", got, tt.least)
				}
				if err := s.one.Change(t.Context(), "next", -1); err != nil {
					t.Errorf("Change after it: %v", err)
				}
			})
		})
	}
}
