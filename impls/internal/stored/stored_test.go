package stored_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"lockpick/impls"
	"lockpick/impls/internal/stored"
	"lockpick/impls/internal/storetest"
)

func TestPrepare(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(s *storetest.Store)
		initial int64
		calls   []string
		want    error
	}{
		{"another number", func(*storetest.Store) {}, 7, []string{"get", "set-if"}, nil},
		{"what it is already", func(*storetest.Store) {}, 5, []string{"get"}, nil},
		{"somebody changes it meanwhile", func(s *storetest.Store) {
			s.OnAnswer(func(string) error {
				s.OnAnswer(nil)
				return s.AddIf(context.Background(), 1, 0)
			})
		}, 7, []string{"get", "add-if", "set-if"}, impls.ErrConflict},
		{"the store is out of reach", func(s *storetest.Store) {
			s.OnRequest(func(string) error { return storetest.ErrCut })
		}, 7, []string{"get"}, storetest.ErrCut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := storetest.New(5)
				tt.prepare(s)
				n := stored.Number{Store: s}
				if err := n.Prepare(t.Context(), tt.initial); !errors.Is(err, tt.want) {
					t.Errorf("Prepare = %v, want %v", err, tt.want)
				}
				if got := s.Calls(); !slices.Equal(got, tt.calls) {
					t.Errorf("calls %v, want %v", got, tt.calls)
				}
				if tt.want != nil {
					return
				}
				if v, err := n.Value(t.Context()); v != tt.initial || err != nil {
					t.Errorf("Value = %d, %v, want %d", v, err, tt.initial)
				}
			})
		})
	}
}
