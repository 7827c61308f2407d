package fixedvalue

import (
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls/internal/testenv"
)

// D1 pit 6: as in setnx-ex, though the release compares: every value is the same.
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
