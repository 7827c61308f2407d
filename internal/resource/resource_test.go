package resource_test

import (
	"context"
	"errors"
	"testing"

	"lockpick/checker/history"
	"lockpick/impls"
	"lockpick/internal/resource"
	"lockpick/internal/testbed"
)

// near is a client beside the store.
func near(client string, r *resource.Resource) resource.Remote {
	return resource.Remote{Client: client, Ask: func(_ context.Context, do func(*resource.Resource) (any, error)) (any, error) {
		return do(r)
	}}
}

// What the store does and refuses, and what it records of it.
func TestStore(t *testing.T) {
	ctx := t.Context()
	tests := []struct {
		name   string
		fences bool
		do     func(resource.Remote) error
		want   error
		value  int64
	}{
		{"a write", true, func(r resource.Remote) error { return r.Write(ctx, 7, 0) }, nil, 7},
		{"an older fence", true, func(r resource.Remote) error {
			return errors.Join(r.Write(ctx, 7, 5), r.Write(ctx, 8, 4))
		}, testbed.ErrRefused, 7},
		{"an older fence, where nobody looks", false, func(r resource.Remote) error {
			return errors.Join(r.Write(ctx, 7, 5), r.Write(ctx, 8, 4))
		}, nil, 8},
		{"the version that is there", true, func(r resource.Remote) error { return r.SetIf(ctx, 9, 0) }, nil, 9},
		{"another version", true, func(r resource.Remote) error { return r.SetIf(ctx, 9, 1) }, impls.ErrConflict, 5},
		{"as much as there is", true, func(r resource.Remote) error { return r.AddIf(ctx, -5, 5) }, nil, 0},
		{"more than there is", true, func(r resource.Remote) error { return r.AddIf(ctx, -6, 6) }, impls.ErrConflict, 5},
		{"an id once", true, func(r resource.Remote) error { return r.Insert(ctx, "a", -1, 1) }, nil, 4},
		{"an id twice", true, func(r resource.Remote) error {
			return errors.Join(r.Insert(ctx, "a", -1, 1), r.Insert(ctx, "a", -1, 1))
		}, impls.ErrConflict, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var records []history.Record
			s := resource.NewStore("store", tt.fences, func(r history.Record) { records = append(records, r) })
			r := near("client-1", s.Resource("", 5))
			if err := tt.do(r); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if v, err := r.Read(ctx); v != tt.value || err != nil {
				t.Errorf("it is %d (%v), want %d", v, err, tt.value)
			}
			if (len(records) > 0) != (tt.value != 5) {
				t.Errorf("recorded %v", records)
			}
			for _, one := range records {
				if one.Op != history.Apply || one.Who != "store" || one.Client != "client-1" {
					t.Errorf("recorded %v", one)
				}
			}
		})
	}
}

// An id that was refused for want of stock may come again.
func TestInsertOfARefusedID(t *testing.T) {
	r := near("client-1", resource.NewStore("store", true, func(history.Record) {}).Resource("", 0))
	if err := r.Insert(t.Context(), "a", -1, 1); !errors.Is(err, impls.ErrConflict) {
		t.Errorf("out of nothing: %v", err)
	}
	if has, err := r.Has(t.Context(), "a"); has || err != nil {
		t.Errorf("it has the id: %t, %v", has, err)
	}
}

func TestResourcesAreApart(t *testing.T) {
	var values []int64
	s := resource.NewStore("store", true, func(r history.Record) { values = append(values, *r.Value) })
	a, b := s.Resource("a", 1), s.Resource("b", 2)
	if s.Resource("a", 9) != a {
		t.Error("a name is two resources")
	}
	if err := near("client-1", a).Write(t.Context(), 3, 0); err != nil {
		t.Fatal(err)
	}
	if v, err := near("client-2", b).Read(t.Context()); v != 2 || err != nil {
		t.Errorf("the other one is %d, %v", v, err)
	}
	s.Look("end")
	if len(values) != 3 || values[1] != 3 || values[2] != 2 {
		t.Errorf("recorded %d", values)
	}
}
