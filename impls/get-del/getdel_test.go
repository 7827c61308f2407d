package getdel

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls/internal/testenv"
)

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		if got, want := env.Names(), []string{"set", "get", "del"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// D1 v4, D2 2.3: the lease runs out after A's GET and before A's DEL.
func TestWindowBetweenGetAndDel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)

		lease := testenv.MustAcquire(t, a)
		time.Sleep(29 * time.Second)
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Name == "del" {
				time.Sleep(2 * time.Second)
				testenv.MustAcquire(t, b)
			}
			return nil
		})
		testenv.MustRelease(t, a, lease)
		if got := w.Value(); got != "" {
			t.Errorf("the server stores %q: A's DEL did not hit B's lock", got)
		}
	})
}

// Outside the window the comparison works, but nobody hears of it.
func TestOverdueReleaseIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)

		lease := testenv.MustAcquire(t, a)
		time.Sleep(31 * time.Second)
		other := testenv.MustAcquire(t, b)
		testenv.MustRelease(t, a, lease)
		if got := w.Value(); got != other.Owner {
			t.Errorf("the server stores %q, want B's %q", got, other.Owner)
		}
	})
}
