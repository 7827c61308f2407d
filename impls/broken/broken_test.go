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
		{broken.QuorumFenced(broken.None), 5},
		{broken.Fenced(broken.None), 1},
		{broken.Fair(broken.None), 1},
		{broken.Shared(broken.None), 1},
		{broken.Several(broken.None), 1},
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
				if got, want := lease.Fence > 0, tt.version.Traits.Fencing; got != want {
					t.Errorf("Fence = %d, want one: %v", lease.Fence, want)
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

// The re-entrant lock is free after as many releases, and not before.
func TestReentrantIsSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, broken.Reentrant(broken.None), w.Env("a"), 0)
		b := testenv.MustLock(t, broken.Reentrant(broken.None), w.Env("b"), 0)
		outer, inner := testenv.MustAcquire(t, a), testenv.MustAcquire(t, a)
		for _, lease := range []impls.Lease{inner, outer} {
			if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("another client's Acquire: %v, want ErrNotAcquired", err)
			}
			testenv.MustRelease(t, a, lease)
		}
		if err := a.Release(t.Context(), outer); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("one Release more: %v, want ErrNotHeld", err)
		}
		testenv.MustRelease(t, b, testenv.MustAcquire(t, b))
	})
}

// Two read together, and a writer waits for both.
func TestSharedIsSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, broken.Shared(broken.None), w.Env("a"), 0)
		b := testenv.MustLock(t, broken.Shared(broken.None), w.Env("b"), 0)
		var leases []impls.Lease
		for range 2 {
			lease, err := a.(impls.SharedLocker).AcquireShared(t.Context())
			if err != nil {
				t.Fatalf("AcquireShared: %v", err)
			}
			leases = append(leases, lease)
		}
		for _, lease := range leases {
			if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("a writer's Acquire: %v, want ErrNotAcquired", err)
			}
			testenv.MustRelease(t, a, lease)
		}
		testenv.MustAcquire(t, b)
		if _, err := a.(impls.SharedLocker).AcquireShared(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("AcquireShared beside a writer: %v, want ErrNotAcquired", err)
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
