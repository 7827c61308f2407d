package conditionalupdate

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/storetest"
)

func open(t *testing.T, initial int64) (*storetest.Store, impls.Strategy) {
	t.Helper()
	s := storetest.New(initial)
	st, err := Version.Strategy(nil, s, impls.Config{Key: "k", TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s, st
}

func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 1)
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
		if n := len(s.Calls()); n != 5 {
			t.Errorf("%d calls for 5 changes", n)
		}
	})
}

// 40 buyers at once, 20 units.
func TestNeverOversold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 20)
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
		s, st := open(t, 10)
		s.OnAnswer(func(string) error { return storetest.ErrCut })
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
