package idempotencykey

import (
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
			id      string
			delta   int64
			changed bool
			left    int64
		}{{"a", -1, true, 0}, {"b", -1, false, 0}, {"a", -1, true, 0}, {"c", 3, true, 3}, {"c", 3, true, 3}, {"b", -1, true, 2}} {
			err := st.Change(t.Context(), step.id, step.delta)
			if (err == nil) != step.changed || err != nil && !errors.Is(err, impls.ErrNotChanged) {
				t.Errorf("step %d: Change(%q, %d) = %v, want changed: %v", i, step.id, step.delta, err, step.changed)
			}
			if got := s.Row().Value; got != step.left {
				t.Errorf("step %d: %d left, want %d", i, got, step.left)
			}
		}
	})
}

// 40 buyers at once, each of whom asks twice; 20 units.
func TestNeverOversold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 20)
		var sold atomic.Int64
		var buyers sync.WaitGroup
		for i := range 40 {
			buyers.Go(func() {
				for range 2 {
					if st.Change(t.Context(), fmt.Sprint(i), -1) == nil {
						sold.Add(1)
					}
				}
			})
		}
		buyers.Wait()
		if n, left := sold.Load(), s.Row().Value; n != 40 || left != 0 {
			t.Errorf("%d were told twice that they had one, %d left", n, left)
		}
	})
}

// However often it is asked, and whatever is lost, it is done once.
func TestRepeatedCallChangesOnce(t *testing.T) {
	tests := []struct {
		name string
		lost func(s *storetest.Store)
	}{
		{"the request is lost", func(s *storetest.Store) { s.OnRequest(func(string) error { return storetest.ErrCut }) }},
		{"the answer is lost", func(s *storetest.Store) { s.OnAnswer(func(string) error { return storetest.ErrCut }) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, st := open(t, 10)
				tt.lost(s)
				if err := st.Change(t.Context(), "1", -1); !errors.Is(err, storetest.ErrCut) || errors.Is(err, impls.ErrNotChanged) {
					t.Errorf("Change = %v, want ErrCut alone", err)
				}
				s.OnRequest(nil)
				s.OnAnswer(nil)
				for range 3 {
					if err := st.Change(t.Context(), "1", -1); err != nil {
						t.Errorf("Change again: %v", err)
					}
				}
				if got := s.Row().Value; got != 9 {
					t.Errorf("the number is %d, want 9", got)
				}
			})
		})
	}
}

// Whether it is done cannot be asked: the outcome is unknown.
func TestTheQuestionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := open(t, 0)
		s.OnAnswer(func(call string) error {
			if call == "has" {
				return storetest.ErrCut
			}
			return nil
		})
		if err := st.Change(t.Context(), "1", -1); !errors.Is(err, storetest.ErrCut) || errors.Is(err, impls.ErrNotChanged) {
			t.Errorf("Change = %v, want ErrCut alone", err)
		}
		if got := s.Calls(); !slices.Equal(got, []string{"insert", "has"}) {
			t.Errorf("calls %v", got)
		}
	})
}
