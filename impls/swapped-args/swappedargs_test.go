package swappedargs

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// D2 section 7, the second pit: the lock is held, the script looks elsewhere, and it stays
// until it expires.
func TestNeverReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), time.Minute)
		granted := time.Now()
		lease := testenv.MustAcquire(t, a)
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		sent := env.Sent()
		if args := sent[len(sent)-1].Args(); args[2] != lease.Owner || args[3] != testenv.Key {
			t.Errorf("the script was called with %v, want the token first", args[1:])
		}
		if got := w.Value(); got != lease.Owner {
			t.Errorf("the server stores %q, want %q", got, lease.Owner)
		}
		testenv.MustAcquire(t, b)
		if took := time.Since(granted); took < testenv.TTL {
			t.Errorf("B was granted after %v, want the lease's end", took)
		}
	})
}
