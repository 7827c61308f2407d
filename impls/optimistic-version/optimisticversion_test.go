package optimisticversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/storetest"
)

func open(t *testing.T, initial int64, wait time.Duration) (*storetest.Store, impls.Strategy) {
	t.Helper()
	s := storetest.New(initial)
	st, err := Version.Strategy(nil, s, impls.Config{Key: "k", TTL: time.Second, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	return s, st
}

func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 1, 0)
		for i, step := range []struct {
			delta   int64
			changed bool
			left    int64
		}{{-1, true, 0}, {-1, false, 0}, {3, true, 3}, {-4, false, 3}, {-3, true, 0}} {
			err := st.Change(t.Context(), fmt.Sprint(i), step.delta)
			if (err == nil) != step.changed || err != nil && !errors.Is(err, impls.ErrNotChanged) {
				t.Errorf("step %d: Change(%d) = %v, want changed: %v", i, step.delta, err, step.changed)
			}
			if got := s.Row().Value; got != step.left {
				t.Errorf("step %d: %d left, want %d", i, got, step.left)
			}
		}
	})
}

// rival changes the row, behind the store's network, after each of n reads.
func rival(s *storetest.Store, n int) {
	s.OnAnswer(func(call string) error {
		if call != "get" || n == 0 {
			return nil
		}
		n--
		s.OnAnswer(nil)
		err := s.AddIf(context.Background(), 1, 0)
		rival(s, n)
		return err
	})
}

func TestConflicts(t *testing.T) {
	t.Run("somebody is faster twice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, st := open(t, 10, time.Second)
			rival(s, 2)
			if err := st.Change(t.Context(), "1", -1); err != nil {
				t.Errorf("Change = %v", err)
			}
			want := []string{"get", "add-if", "set-if", "get", "add-if", "set-if", "get", "set-if"}
			if got := s.Calls(); !slices.Equal(got, want) {
				t.Errorf("calls %v, want %v", got, want)
			}
			if got := s.Row().Value; got != 11 {
				t.Errorf("the number is %d, want 11", got)
			}
		})
	})
	t.Run("somebody is faster every time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, st := open(t, 10, time.Second)
			rival(s, -1)
			start := time.Now()
			if err := st.Change(t.Context(), "1", -1); !errors.Is(err, impls.ErrNotChanged) {
				t.Errorf("Change = %v, want ErrNotChanged", err)
			}
			if took := time.Since(start); took > time.Second+10*time.Millisecond || took < 900*time.Millisecond {
				t.Errorf("gave up after %v, want 1s", took)
			}
		})
	})
}

// 40 buyers at once, 20 units.
func TestNeverOversold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 20, time.Minute)
		var sold atomic.Int64
		var buyers sync.WaitGroup
		for i := range 40 {
			buyers.Go(func() {
				if st.Change(t.Context(), fmt.Sprint(i), -1) == nil {
					sold.Add(1)
				}
			})
		}
		buyers.Wait()
		if n, left := sold.Load(), s.Row().Value; n != 20 || left != 0 {
			t.Errorf("%d sold, %d left", n, left)
		}
	})
}

// The answer is lost, and the caller tries again: it is changed twice.
func TestRepeatedCallChangesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 10, time.Second)
		s.OnAnswer(func(call string) error {
			if call == "set-if" {
				return storetest.ErrCut
			}
			return nil
		})
		if err := st.Change(t.Context(), "1", -1); !errors.Is(err, storetest.ErrCut) || errors.Is(err, impls.ErrNotChanged) {
			t.Errorf("Change = %v, want ErrCut alone", err)
		}
		s.OnAnswer(nil)
		if err := st.Change(t.Context(), "1", -1); err != nil {
			t.Errorf("Change again: %v", err)
		}
		if got := s.Row().Value; got != 8 {
			t.Errorf("the number is %d, want 8", got)
		}
	})
}

// Nobody knows what became of a write whose context ended, and a wait that ends
// while others are faster changed nothing.
func TestTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 10, time.Minute)
		rival(s, -1)
		ctx, cancel := context.WithTimeout(context.Background(), 55*time.Millisecond)
		defer cancel()
		if err := st.Change(ctx, "1", -1); !errors.Is(err, impls.ErrNotChanged) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Change = %v, want ErrNotChanged and the context's error", err)
		}
	})
}
