package fenced

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/fencing"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

func open(t *testing.T) (w *testenv.World, envA *testenv.Env, a, b impls.Lock) {
	t.Helper()
	w = testenv.MustOpen(t, 1)
	envA = w.Env("a")
	return w, envA, testenv.MustLock(t, Version, envA, 0), testenv.MustLock(t, Version, w.Env("b"), 0)
}

// Grants are counted, refusals are not, and the counter outlives the lock.
func TestFencesCountTheGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a, b := open(t)
		for want := uint64(1); want <= 5; want++ {
			holder, other := a, b
			if want%2 == 0 {
				holder, other = b, a
			}
			lease := testenv.MustAcquire(t, holder)
			if lease.Fence != want {
				t.Errorf("grant %d has fence %d", want, lease.Fence)
			}
			if _, err := other.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("Acquire of a taken lock = %v, want ErrNotAcquired", err)
			}
			if want == 3 {
				time.Sleep(2 * ttl) // it expires
				continue
			}
			testenv.MustRelease(t, holder, lease)
		}
		if left := w.Nodes[0].TTL(fencing.Counter(testenv.Key)); left != 0 {
			t.Errorf("the counter ends in %v", left)
		}
	})
}

// D1 section 4: A is paused for longer than its lease. The store that has seen B's
// fence can tell that A's is older.
func TestTheOverdueHoldersFenceIsOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, a, b := open(t)
		first := testenv.MustAcquire(t, a)
		time.Sleep(ttl + time.Second)
		second := testenv.MustAcquire(t, b)
		if second.Fence <= first.Fence {
			t.Errorf("B's fence %d is not newer than A's %d", second.Fence, first.Fence)
		}
		if err := a.Release(t.Context(), first); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("A's release = %v, want ErrNotHeld", err)
		}
		testenv.MustRelease(t, b, second)
	})
}

// Grant and number are one command, EVAL only when the server does not know the script.
func TestOneCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env, a, _ := open(t)
		for _, want := range []int{2, 1} {
			before := len(env.Sent())
			lease := testenv.MustAcquire(t, a)
			if got := len(env.Sent()) - before; got != want {
				t.Errorf("%d commands for a grant, want %d", got, want)
			}
			testenv.MustRelease(t, a, lease)
		}
	})
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env, a, _ := open(t)
		env.OnReply(func(context.Context, testenv.Command) error {
			time.Sleep(time.Second)
			return nil
		})
		asked := time.Now()
		if got := testenv.MustAcquire(t, a).Until.Sub(asked); got != ttl-impls.Precision {
			t.Errorf("Until is %v after the call, want %v", got, ttl-impls.Precision)
		}
	})
}

// The answer takes longer than the lease: it is not handed out, and not kept.
func TestGrantThatIsOverWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a, _ := open(t)
		env.OnReply(func(context.Context, testenv.Command) error {
			if w.Nodes[0].Exists(testenv.Key) {
				time.Sleep(ttl + time.Second)
			}
			return nil
		})
		if lease, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %+v, %v; want ErrNotAcquired", lease, err)
		}
	})
}

// The context ends while the request is under way or before the release; nothing stays.
func TestCancelledContexts(t *testing.T) {
	t.Run("acquire", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, env, a, _ := open(t)
			testenv.MustRelease(t, a, testenv.MustAcquire(t, a)) // the server knows the scripts
			ctx, cancel := context.WithCancel(context.Background())
			env.OnReply(func(ctx context.Context, _ testenv.Command) error {
				cancel()
				return ctx.Err()
			})
			if _, err := a.Acquire(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("Acquire = %v, want the context's error alone", err)
			}
			if v := w.Value(); v != "" {
				t.Errorf("the server stores %q", v)
			}
		})
	})
	t.Run("release", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, _, a, _ := open(t)
			lease := testenv.MustAcquire(t, a)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := a.Release(ctx, lease); err != nil {
				t.Errorf("Release = %v", err)
			}
			if v := w.Value(); v != "" {
				t.Errorf("the server stores %q", v)
			}
		})
	})
}

// What no lock on one node can help: the counter is lost, and the count begins anew.
func TestLostCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a, b := open(t)
		for range 3 {
			testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		}
		w.Nodes[0].FlushAll()
		if lease := testenv.MustAcquire(t, b); lease.Fence != 1 {
			t.Errorf("Fence = %d, want 1", lease.Fence)
		}
	})
}
