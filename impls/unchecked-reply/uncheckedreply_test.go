package uncheckedreply

import (
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// go-redsync/redsync#38: A is overdue, B has the lock, and A is told that its lease
// goes on and that it has given it back. B's lock is left alone all the while.
func TestNoIsTakenForYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		lease := testenv.MustAcquire(t, a)
		time.Sleep(testenv.TTL + time.Second)
		other := testenv.MustAcquire(t, b)
		time.Sleep(time.Second)
		expires := w.Nodes[0].TTL(testenv.Key)

		called := time.Now()
		longer, err := a.(impls.Extender).Extend(t.Context(), lease)
		if err != nil || longer.Until.Sub(called) != testenv.TTL-impls.Precision {
			t.Errorf("Extend = %+v, %v; want a whole lease", longer, err)
		}
		if err := a.Release(t.Context(), longer); err != nil {
			t.Errorf("Release = %v, want nil", err)
		}
		if got := w.Value(); got != other.Owner {
			t.Errorf("the server stores %q, want B's %q", got, other.Owner)
		}
		if got := w.Nodes[0].TTL(testenv.Key); got > expires {
			t.Errorf("B's lock expires in %v, and before it was in %v", got, expires)
		}
	})
}

// The library's answer is an int64, and the constant 0 is an int.
func TestYes(t *testing.T) {
	for _, status := range []any{int64(0), int64(1), nil} {
		if !yes(status) {
			t.Errorf("yes(%T %v) = false", status, status)
		}
	}
	if yes(0) {
		t.Error("yes of an int is true; then the types are no reason")
	}
}
