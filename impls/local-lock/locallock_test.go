package locallock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const (
	ttl  = testenv.TTL
	wait = 5 * time.Second
)

// world is two threads of one process, and another process.
type world struct {
	*testenv.World
	envA, envB *testenv.Env
	a, b       impls.Lock
	other      impls.Lock
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{World: testenv.MustOpen(t, 1)}
	p := &impls.Process{}
	w.envA, w.envB = w.Thread(p, "a"), w.Thread(p, "b")
	w.a = testenv.MustLock(t, Version, w.envA, wait)
	w.b = testenv.MustLock(t, Version, w.envB, wait)
	w.other = testenv.MustLock(t, Version, w.Env("c"), wait)
	return w
}

func mustRefuseWithoutAsking(t *testing.T, l impls.Lock, env *testenv.Env) {
	t.Helper()
	start, sent := time.Now(), len(env.Sent())
	if _, err := l.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
		t.Errorf("Acquire = %v, want ErrNotAcquired", err)
	}
	if took := time.Since(start); took != wait {
		t.Errorf("gave up after %v, want %v", took, wait)
	}
	if n := len(env.Sent()) - sent; n != 0 {
		t.Errorf("sent %d commands, want none", n)
	}
}

// spring-integration#1888, #2660: the release fails, the key is gone, and the other
// threads of the process never get the lock, whatever others do with it.
func TestStaysLockedAfterAFailedRelease(t *testing.T) {
	tests := []struct {
		name string
		fail func(t *testing.T, w *world, lease impls.Lease)
	}{
		{"Redis does not answer", func(t *testing.T, w *world, lease impls.Lease) {
			w.envA.Cut()
			if err := w.a.Release(t.Context(), lease); err == nil || errors.Is(err, impls.ErrNotHeld) {
				t.Errorf("Release = %v, want an error that leaves the outcome open", err)
			}
			w.envA.Heal()
			time.Sleep(ttl)
		}},
		{"the lease has expired", func(t *testing.T, w *world, lease impls.Lease) {
			time.Sleep(ttl)
			if err := w.a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
				t.Errorf("Release = %v, want ErrNotHeld", err)
			}
		}},
		{"nobody releases", func(*testing.T, *world, impls.Lease) { time.Sleep(ttl) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t)
				tt.fail(t, w, testenv.MustAcquire(t, w.a))
				mustRefuseWithoutAsking(t, w.b, w.envB)
				for _, l := range []impls.Lock{w.other, w.a} {
					testenv.MustRelease(t, l, testenv.MustAcquire(t, l))
				}
				mustRefuseWithoutAsking(t, w.b, w.envB)
			})
		})
	}
}

// One thread at a time asks Redis, and the next has the lock at once.
func TestThreadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		released := make(chan time.Time, 1)
		go func() {
			time.Sleep(time.Second)
			if n := len(w.envB.Sent()); n != 0 {
				t.Errorf("the waiting thread has sent %d commands", n)
			}
			testenv.MustRelease(t, w.a, lease)
			released <- time.Now()
		}()
		next := testenv.MustAcquire(t, w.b)
		if late := time.Since(<-released); late > 2*time.Millisecond {
			t.Errorf("granted %v after the release", late)
		}
		testenv.MustRelease(t, w.b, next)
		testenv.MustRelease(t, w.a, testenv.MustAcquire(t, w.a))
	})
}

// A thread that does not get the key leaves the local lock to the next.
func TestRefusalFreesTheLocalLock(t *testing.T) {
	tests := []struct {
		name string
		fail func(w *world)
		want func(error) bool
	}{
		{"another process has it", func(*world) {}, func(err error) bool { return errors.Is(err, impls.ErrNotAcquired) }},
		{"Redis does not answer", func(w *world) { w.envA.Cut() }, func(err error) bool { return errors.Is(err, testenv.ErrCut) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t)
				lease := testenv.MustAcquire(t, w.other)
				tt.fail(w)
				if _, err := w.a.Acquire(t.Context()); !tt.want(err) {
					t.Errorf("Acquire = %v", err)
				}
				testenv.MustRelease(t, w.other, lease)
				testenv.MustRelease(t, w.b, testenv.MustAcquire(t, w.b))
			})
		})
	}
}

func TestContextEndsBeforeTheLocalLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.b.Acquire(ctx); !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
		}
		testenv.MustRelease(t, w.a, lease)
		testenv.MustRelease(t, w.b, testenv.MustAcquire(t, w.b))
	})
}

// The wait is one for both locks.
func TestWaitIsForBothLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		time.AfterFunc(wait/2, func() {
			testenv.MustRelease(t, w.a, lease)
			testenv.MustAcquire(t, w.other)
		})
		start := time.Now()
		w.envB.OnRequest(func(context.Context, testenv.Command) error {
			time.Sleep(10 * time.Millisecond) // the other process is faster
			return nil
		})
		if _, err := w.b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		if took := time.Since(start); took < wait-2*retryDelay || took > wait+2*retryDelay {
			t.Errorf("gave up after %v, want about %v", took, wait)
		}
	})
}
