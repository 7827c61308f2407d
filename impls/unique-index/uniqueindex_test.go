package uniqueindex

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

func TestUnitsAreClaimedFromTheTop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 3, 0)
		for i := range 3 {
			if err := st.Change(t.Context(), fmt.Sprint(i), -1); err != nil {
				t.Errorf("Change = %v", err)
			}
			unit := fmt.Sprintf("unit-%d", 3-i)
			if has, _ := s.Has(t.Context(), unit); !has {
				t.Errorf("%s is not in the table", unit)
			}
		}
		if err := st.Change(t.Context(), "4", -1); !errors.Is(err, impls.ErrNotChanged) {
			t.Errorf("Change of the last unit and one = %v, want ErrNotChanged", err)
		}
	})
}

// A counter that only grows has numbers too.
func TestCountingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 0, 0)
		for i := range 5 {
			if err := st.Change(t.Context(), fmt.Sprint(i), 1); err != nil {
				t.Errorf("Change = %v", err)
			}
		}
		if got := s.Row().Value; got != 5 {
			t.Errorf("the number is %d, want 5", got)
		}
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

// Somebody claims the unit that was read as the next.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 10, time.Second)
		s.OnAnswer(func(string) error {
			s.OnAnswer(nil)
			return s.Insert(context.Background(), "unit-10", -1, 1)
		})
		if err := st.Change(t.Context(), "1", -1); err != nil {
			t.Errorf("Change = %v", err)
		}
		if got, want := s.Calls(), []string{"get", "insert", "insert", "get", "insert"}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if got := s.Row().Value; got != 8 {
			t.Errorf("the number is %d, want 8", got)
		}
	})
}

// The answer is lost, and the caller tries again: two units for one buyer.
func TestRepeatedCallClaimsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 10, time.Second)
		s.OnAnswer(func(call string) error {
			if call == "insert" {
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

// The package's second mistake: a unit that is put back cannot be had again.
func TestUnitThatWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 3, time.Second)
		if err := st.Change(t.Context(), "sale", -1); err != nil {
			t.Fatal(err)
		}
		if err := st.Change(t.Context(), "return", 1); !errors.Is(err, impls.ErrNotChanged) {
			t.Errorf("Change = %v, want ErrNotChanged: unit-3 is in the table", err)
		}
		if got := s.Row().Value; got != 2 {
			t.Errorf("the number is %d, want 2", got)
		}
	})
}
