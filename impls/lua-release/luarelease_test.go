package luarelease

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// EVALSHA first, EVAL only when the server does not know the script.
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		for range 2 {
			testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		}
		want := []string{"set", "evalsha", "eval", "set", "evalsha"}
		if got := env.Names(); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// D1 v4, D2 6.3: A is overdue. Its release leaves B's lock alone, and says so.
func TestOverdueReleaseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)

		lease := testenv.MustAcquire(t, a)
		time.Sleep(31 * time.Second)
		other := testenv.MustAcquire(t, b)
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		if got := w.Value(); got != other.Owner {
			t.Errorf("the server stores %q, want B's %q", got, other.Owner)
		}
	})
}
