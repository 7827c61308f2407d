package setnxex

import (
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls/internal/testenv"
)

// D1 v3, D2 2.2: A works for 35 s on a lease of 30 s, and its DEL removes B's lock.
// C comes in while B works.
func TestOverdueReleaseDeletesAnothersLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		c := testenv.MustLock(t, Version, w.Env("c"), 0)

		lease := testenv.MustAcquire(t, a)
		time.Sleep(31 * time.Second)
		testenv.MustAcquire(t, b)
		time.Sleep(4 * time.Second)
		testenv.MustRelease(t, a, lease) // nobody notices
		if got := w.Value(); got != "" {
			t.Errorf("after A's release the server stores %q, want nothing", got)
		}
		testenv.MustAcquire(t, c)
	})
}
