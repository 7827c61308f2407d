package luadecrement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

func open(t *testing.T, v impls.Version) (*testenv.World, *testenv.Env, impls.Strategy) {
	t.Helper()
	w := testenv.MustOpen(t, 1)
	env := w.Env("a")
	s, err := v.Strategy(env, nil, impls.Config{Key: testenv.Key, TTL: testenv.TTL})
	if err != nil {
		t.Fatal(err)
	}
	return w, env, s
}

// prepare sets the number, and checks that it does not expire.
func prepare(t *testing.T, w *testenv.World, s impls.Strategy, initial int64) {
	t.Helper()
	if err := s.Prepare(t.Context(), initial); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	if left := w.Nodes[0].TTL(testenv.Key + ":stock"); left != 0 {
		t.Fatalf("the number ends in %v", left)
	}
}

func has(t *testing.T, s impls.Strategy, want int64) {
	t.Helper()
	if v, err := s.Value(t.Context()); v != want || err != nil {
		t.Errorf("Value = %d, %v, want %d", v, err, want)
	}
}

func each(t *testing.T, test func(t *testing.T, v impls.Version)) {
	t.Helper()
	for _, v := range []impls.Version{Version, Guarded} {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, v) })
		})
	}
}

func TestChange(t *testing.T) {
	each(t, func(t *testing.T, v impls.Version) {
		w, _, s := open(t, v)
		prepare(t, w, s, 1)
		for i, step := range []struct {
			delta   int64
			changed bool
			left    int64
		}{{-1, true, 0}, {-1, false, 0}, {1, true, 1}, {1, true, 2}, {-1, true, 1}, {-2, false, 1}, {0, false, 1}} {
			err := s.Change(t.Context(), fmt.Sprint(i), step.delta)
			if (err == nil) != step.changed || err != nil && !errors.Is(err, impls.ErrNotChanged) {
				t.Errorf("step %d: Change(%d) = %v, want changed: %v", i, step.delta, err, step.changed)
			}
			has(t, s, step.left)
		}
	})
}

// 40 buyers, 20 units.
func TestNeverOversold(t *testing.T) {
	each(t, func(t *testing.T, v impls.Version) {
		w, _, s := open(t, v)
		prepare(t, w, s, 20)
		var sold atomic.Int64
		var buyers sync.WaitGroup
		for i := range 40 {
			buyers.Go(func() {
				if s.Change(t.Context(), fmt.Sprint(i), -1) == nil {
					sold.Add(1)
				}
			})
		}
		buyers.Wait()
		if n := sold.Load(); n != 20 {
			t.Errorf("%d were sold", n)
		}
		has(t, s, 0)
	})
}

func TestMissingNumber(t *testing.T) {
	each(t, func(t *testing.T, v impls.Version) {
		_, _, s := open(t, v)
		guarded := v.Name == Guarded.Name
		for _, delta := range []int64{-1, 1} {
			err := s.Change(t.Context(), "1", delta)
			if err == nil || errors.Is(err, impls.ErrNotChanged) != guarded {
				t.Errorf("Change(%d) = %v, want ErrNotChanged: %v", delta, err, guarded)
			}
			want := "compare"
			if guarded {
				want = errNoNumber.Error()
			}
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("Change(%d) = %v, want %q in it", delta, err, want)
			}
		}
		if v, err := s.Value(t.Context()); err == nil {
			t.Errorf("Value = %d of a number that is not there", v)
		}
	})
}

// The answer is lost, and the caller tries again: two are sold to one buyer.
func TestRepeatedCallSellsTwice(t *testing.T) {
	each(t, func(t *testing.T, v impls.Version) {
		w, env, s := open(t, v)
		prepare(t, w, s, 10)
		if err := s.Change(t.Context(), "warm", -1); err != nil { // the server knows the script
			t.Fatal(err)
		}
		env.OnReply(func(context.Context, testenv.Command) error { return testenv.ErrCut })
		if err := s.Change(t.Context(), "1", -1); !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotChanged) {
			t.Errorf("Change = %v, want ErrCut alone", err)
		}
		env.Heal()
		if err := s.Change(t.Context(), "1", -1); err != nil {
			t.Errorf("Change again: %v", err)
		}
		has(t, s, 7)
	})
}

func TestConfigurations(t *testing.T) {
	for _, v := range []impls.Version{Version, Guarded} {
		if _, err := v.Strategy(nil, nil, impls.Config{}); err == nil {
			t.Errorf("%s accepts a configuration without a key", v.Name)
		}
	}
}
