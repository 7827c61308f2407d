package broken_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/broken"
	"lockpick/impls/internal/testenv"
)

// Without a flaw the locks are as they should be: what a mutant does wrong is
// its flaw's doing.
func TestNoneIsSound(t *testing.T) {
	for _, tt := range []struct {
		version impls.Version
		nodes   int
	}{
		{broken.Single(broken.None), 1},
		{broken.Renewing(broken.None), 1},
		{broken.Extending(broken.None), 1},
		{broken.Quorum(broken.None), 5},
	} {
		t.Run(tt.version.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, tt.nodes)
				a := testenv.MustLock(t, tt.version, w.Env("a"), 0)
				b := testenv.MustLock(t, tt.version, w.Env("b"), time.Minute)
				lease := testenv.MustAcquire(t, a)
				if w.Value() != lease.Owner {
					t.Errorf("the servers store %q, the lease says %q", w.Value(), lease.Owner)
				}
				if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("a second Acquire: %v, want ErrNotAcquired", err)
				}
				time.Sleep(testenv.TTL / 2)
				testenv.MustRelease(t, a, lease)
				if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
					t.Errorf("a second Release: %v, want ErrNotHeld", err)
				}
				testenv.MustRelease(t, b, testenv.MustAcquire(t, b))
			})
		})
	}
}

// The renewing lock outlives its TTL, and tells of a loss.
func TestRenewingKeepsAndTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		l := testenv.MustLock(t, broken.Renewing(broken.None), w.Env("a"), 0)
		lease := testenv.MustAcquire(t, l)
		time.Sleep(10 * testenv.TTL)
		if w.Value() != lease.Owner {
			t.Fatalf("after ten TTLs the server stores %q", w.Value())
		}
		w.Drop()
		select {
		case <-lease.Lost:
		case <-time.After(testenv.TTL):
			t.Error("the lock was lost and Lost does not close")
		}
	})
}

func TestFlawsAreListedOnce(t *testing.T) {
	seen := map[broken.Flaw]bool{broken.None: true}
	for _, f := range broken.Flaws() {
		if seen[f] {
			t.Errorf("%s is listed twice", f)
		}
		seen[f] = true
	}
}
