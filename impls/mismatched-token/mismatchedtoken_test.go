package mismatchedtoken

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// D2 section 7, the first pit: the lock is held, its release finds another value, and
// it stays until it expires.
func TestNeverReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), time.Minute)
		granted := time.Now()
		lease := testenv.MustAcquire(t, a)
		if got, want := w.Value(), `"a-1"`; got != want || lease.Owner != want {
			t.Errorf("the server stores %s, the lease says %s, want %s", got, lease.Owner, want)
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		sent := env.Sent()
		if args := sent[len(sent)-1].Args(); args[2] != testenv.Key || args[3] != "a-1" {
			t.Errorf("the script was called with %v, want the token without quotation marks", args[1:])
		}
		testenv.MustAcquire(t, b)
		if took := time.Since(granted); took < testenv.TTL {
			t.Errorf("B was granted after %v, want the lease's end", took)
		}
	})
}

// The caller's mistake is not the version's.
func TestReleaseOfAnUnknownOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		if err := a.Release(t.Context(), impls.Lease{Owner: "a-1"}); err == nil || errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want an error that leaves the outcome open", err)
		}
	})
}
