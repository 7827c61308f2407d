package reentrant

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

// depth is what the server counts for the owner.
func depth(w *testenv.World, owner string) string { return w.Nodes[0].HGet(testenv.Key, owner) }

// D1 pit 5: a() locks and calls b(), which locks the same key.
func TestNests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		var leases []impls.Lease
		for _, want := range []string{"1", "2", "3"} {
			lease := testenv.MustAcquire(t, a)
			leases = append(leases, lease)
			if got := depth(w, lease.Owner); got != want {
				t.Errorf("the server counts %q, want %s", got, want)
			}
		}
		if leases[0].Owner != leases[2].Owner {
			t.Errorf("two owners in one handle: %q and %q", leases[0].Owner, leases[2].Owner)
		}
		for i, want := range []string{"2", "1", ""} {
			if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("before release %d: B's Acquire = %v, want ErrNotAcquired", i+1, err)
			}
			testenv.MustRelease(t, a, leases[2-i])
			if got := depth(w, leases[0].Owner); got != want {
				t.Errorf("after release %d the server counts %q, want %q", i+1, got, want)
			}
		}
		if err := a.Release(t.Context(), leases[0]); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("a fourth Release = %v, want ErrNotHeld", err)
		}
		testenv.MustAcquire(t, b)
	})
}

// Every level, and every end of one, gives the whole lease again.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		mustLive := func(doing string) {
			t.Helper()
			if got := w.Nodes[0].TTL(testenv.Key); got < ttl-10*time.Millisecond || got > ttl {
				t.Errorf("%s the lease is %v, want %v", doing, got, ttl)
			}
		}
		lease := testenv.MustAcquire(t, a)
		mustLive("granted,")
		time.Sleep(ttl / 2)
		testenv.MustAcquire(t, a)
		mustLive("nested,")
		time.Sleep(ttl / 2)
		testenv.MustRelease(t, a, lease)
		mustLive("one level less,")
		time.Sleep(ttl)
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release of an expired lease = %v, want ErrNotHeld", err)
		}
	})
}

// redisson/redisson#7367: the script is applied, its answer is lost, and it is sent
// again. One release is one too few.
func TestAScriptSentTwiceCountsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		env.OnReply(func(_ context.Context, c testenv.Command) error {
			if c.Name == "eval" {
				return testenv.ErrCut
			}
			return nil
		})
		if _, err := a.Acquire(t.Context()); err == nil || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want an error that leaves the outcome open", err)
		}
		env.Heal()
		testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("B's Acquire = %v, want ErrNotAcquired: a level is left", err)
		}
	})
}

// The owner is the handle: a release that is late takes a level off the handle's
// next grant.
func TestLateReleaseHitsTheNextGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		old := testenv.MustAcquire(t, a)
		time.Sleep(ttl + time.Second)
		testenv.MustAcquire(t, a)
		testenv.MustRelease(t, a, old)
		if w.Nodes[0].Exists(testenv.Key) {
			t.Error("the second grant is still there")
		}
	})
}

// Another's lease is neither counted nor touched.
func TestLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		lease := testenv.MustAcquire(t, a)
		w.Drop()
		other := testenv.MustAcquire(t, b)
		time.Sleep(time.Second)
		before := w.Nodes[0].TTL(testenv.Key)
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		if got := depth(w, other.Owner); got != "1" {
			t.Errorf("the server counts %q for B, want 1", got)
		}
		if got := w.Nodes[0].TTL(testenv.Key); got > before {
			t.Errorf("B's lease grew from %v to %v", before, got)
		}
	})
}
