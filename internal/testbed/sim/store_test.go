package sim_test

import (
	"errors"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

func TestStoreChecksFences(t *testing.T) {
	bubble.Use(t)
	type write struct {
		value int64
		fence uint64
		want  error
	}
	for _, tt := range []struct {
		name   string
		fences bool
		writes []write
		last   int64
	}{
		{"checked", true, []write{
			{1, 5, nil}, {2, 5, nil}, {3, 4, testbed.ErrRefused}, {4, 6, nil}, {5, 5, testbed.ErrRefused}, {6, 0, nil}, {7, 1, testbed.ErrRefused},
		}, 6},
		{"ignored", false, []write{{1, 5, nil}, {2, 4, nil}, {3, 0, nil}, {4, 1, nil}}, 4},
	} {
		h := lab{t: t, fences: tt.fences}.twice(func(w testbed.World) {
			c := w.Client("client-1")
			for _, one := range tt.writes {
				if err := c.Write(outside, one.value, one.fence); !errors.Is(err, one.want) {
					t.Errorf("%s: write %d with fence %d: %v, want %v", tt.name, one.value, one.fence, err, one.want)
				}
			}
			if v, err := w.Client("client-2").Read(outside); v != tt.last || err != nil {
				t.Errorf("%s: in the end %d, %v; want %d", tt.name, v, err, tt.last)
			}
		})
		for _, r := range h.Records {
			if r.Op == history.Apply && r.Fence != tt.writes[*r.Value-1].fence {
				t.Errorf("%s: the record of write %d has fence %d", tt.name, *r.Value, r.Fence)
			}
		}
	}
}

// A write that was held up while another fence passed is refused, or applied
// where nobody checks: what a fence is for (D1 section 4.3).
func TestStoreRefusesTheLateWrite(t *testing.T) {
	bubble.Use(t)
	for _, fences := range []bool{true, false} {
		lab{t: t, fences: fences}.twice(func(w testbed.World) {
			w.After(2*time.Second, inject(t, w, faults.Hold{Link: faults.Link{Client: "client-1", Node: "store"}, Direction: faults.ToNode}))
			late := make(chan error)
			go func() { late <- w.Client("client-1").Write(outside, 1, 1) }()
			w.Client("client-2").Sleep(time.Second)
			if err := w.Client("client-2").Write(outside, 2, 2); err != nil {
				t.Error(err)
			}
			if err := <-late; errors.Is(err, testbed.ErrRefused) != fences {
				t.Errorf("fences %v: %v", fences, err)
			}
			want := map[bool]int64{true: 2, false: 1}[fences]
			if v, _ := w.Client("client-2").Read(outside); v != want {
				t.Errorf("fences %v: %d, want %d", fences, v, want)
			}
		})
	}
}

func TestStoreForStrategies(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		s := w.Client("client-1").(impls.Store)
		check := func(what string, err, want error, value int64, version uint64) {
			t.Helper()
			row, failed := s.Get(outside)
			if !errors.Is(err, want) || failed != nil || row.Value != value || row.Version != version {
				t.Errorf("%s: %v, then %+v, %v; want %v, then value %d of version %d", what, err, row, failed, want, value, version)
			}
		}
		check("untouched", nil, nil, 0, 0)
		check("SetIf of the version", s.SetIf(outside, 10, 0), nil, 10, 1)
		check("SetIf of an old version", s.SetIf(outside, 11, 0), impls.ErrConflict, 10, 1)
		check("SetIf of a version to come", s.SetIf(outside, 11, 2), impls.ErrConflict, 10, 1)
		check("AddIf with enough", s.AddIf(outside, -4, 10), nil, 6, 2)
		check("AddIf with too little", s.AddIf(outside, -4, 7), impls.ErrConflict, 6, 2)
		check("Insert of a new id", s.Insert(outside, "a", -1, 1), nil, 5, 3)
		check("Insert of an old id", s.Insert(outside, "a", -1, 1), impls.ErrConflict, 5, 3)
		check("Insert with too little", s.Insert(outside, "b", -6, 6), impls.ErrConflict, 5, 3)
		for id, want := range map[string]bool{"a": true, "b": false} {
			if got, err := s.Has(outside, id); got != want || err != nil {
				t.Errorf("Has(%s) = %v, %v", id, got, err)
			}
		}
		check("Insert of an id that failed before", s.Insert(outside, "b", -5, 5), nil, 0, 4)
	})
}

// Of two that read the same version one fails.
func TestStoreVersionsTellOfARace(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		one, two := w.Client("client-1").(impls.Store), w.Client("client-2").(impls.Store)
		a, err := one.Get(outside)
		b, err2 := two.Get(outside)
		if a != b || err != nil || err2 != nil {
			t.Errorf("%v, %v; %v, %v", a, b, err, err2)
		}
		if err := two.SetIf(outside, b.Value+1, b.Version); err != nil {
			t.Error(err)
		}
		if err := one.SetIf(outside, a.Value+1, a.Version); !errors.Is(err, impls.ErrConflict) {
			t.Errorf("the second one: %v, want ErrConflict", err)
		}
	})
}

// Every resource has a value, a version, fences and ids of its own.
func TestResourcesAreSeparate(t *testing.T) {
	bubble.Use(t)
	resources := map[string]string{"client-1": "order:1", "client-2": "order:2", "client-3": "order:1"}
	h := lab{t: t, fences: true, resources: resources, initial: 5}.twice(func(w testbed.World) {
		one, two := w.Client("client-1").(impls.Store), w.Client("client-2").(impls.Store)
		three := w.Client("client-3")
		check := func(s impls.Store, value int64, version uint64) {
			t.Helper()
			if row, err := s.Get(outside); err != nil || row.Value != value || row.Version != version {
				t.Errorf("the row is %+v, %v; want value %d of version %d", row, err, value, version)
			}
		}
		check(one, 5, 0)
		check(two, 5, 0)
		if err := w.Client("client-1").Write(outside, 10, 7); err != nil {
			t.Error(err)
		}
		check(one, 10, 1)
		check(two, 5, 0)
		if err := w.Client("client-2").Write(outside, 20, 1); err != nil {
			t.Errorf("fence 1 of one resource after fence 7 of the other: %v", err)
		}
		if err := three.Write(outside, 30, 6); !errors.Is(err, testbed.ErrRefused) {
			t.Errorf("fence 6 of the same resource after fence 7: %v, want that it is refused", err)
		}
		if v, err := three.Read(outside); v != 10 || err != nil {
			t.Errorf("client-3 reads %d, %v; want what client-1 wrote", v, err)
		}
		if err := one.Insert(outside, "a", 1, 0); err != nil {
			t.Error(err)
		}
		if has, err := two.Has(outside, "a"); has || err != nil {
			t.Errorf("the other resource has the id: %v, %v", has, err)
		}
		if err := two.Insert(outside, "a", 1, 0); err != nil {
			t.Errorf("the same id in the other resource: %v", err)
		}
		check(one, 11, 2)
		check(two, 21, 2)
		if err := two.SetIf(outside, 22, 1); !errors.Is(err, impls.ErrConflict) {
			t.Errorf("SetIf of an old version: %v", err)
		}
		w.Look("here")
	})
	got := tell(h, func(r history.Record) bool { return r.Who == "store" })
	want := `apply order:1 by client-1
apply order:2 by client-2
apply order:1 by client-1
apply order:2 by client-2
keys order:1 here
keys order:2 here
`
	if got != want {
		t.Errorf("the store tells\n%swant\n%s", got, want)
	}
}

// The one resource has no name in the records, as before there could be several.
func TestOneResourceHasNoName(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		if err := w.Client("client-1").Write(outside, 1, 0); err != nil {
			t.Error(err)
		}
		w.Look("here")
	})
	if got, want := tell(h, func(r history.Record) bool { return r.Who == "store" }), "apply by client-1\nkeys here\n"; got != want {
		t.Errorf("the store tells\n%swant\n%s", got, want)
	}
}
