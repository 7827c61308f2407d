package fragilewatchdog

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

// count returns how many commands the client sends within d.
func count(env *testenv.Env, d time.Duration) int {
	before := len(env.Sent())
	time.Sleep(d)
	return len(env.Sent()) - before
}

// holdScripts delays every script by d from now on.
func holdScripts(env *testenv.Env, d time.Duration) {
	env.OnRequest(func(_ context.Context, c testenv.Command) error {
		if c.Script() {
			time.Sleep(d)
		}
		return nil
	})
}

// warm runs both scripts once, so that each is one command from then on.
func warm(t *testing.T, w *testenv.World) {
	t.Helper()
	l := testenv.MustLock(t, Version, w.Env("warm"), 0)
	lease := testenv.MustAcquire(t, l)
	time.Sleep(ttl/3 + time.Second)
	testenv.MustRelease(t, l, lease)
}

// One failed renewal, and the lease runs out under work that goes on.
func TestOneFailureEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)

		lease := testenv.MustAcquire(t, a)
		env.Cut()
		time.Sleep(ttl/3 + time.Second) // a blip over the first renewal
		env.Heal()
		if n := count(env, ttl); n != 0 {
			t.Errorf("%d commands after the failure, want none", n)
		}
		other := testenv.MustAcquire(t, b) // while A works
		testenv.MustRelease(t, a, lease)   // and says nothing
		if got := w.Value(); got != other.Owner {
			t.Errorf("the server stores %q, want B's %q", got, other.Owner)
		}
	})
}

// A renewal in flight at release arms a timer afterwards; the next lease of the
// handle is renewed twice as often, and its release ends only one of the chains.
func TestReleaseDuringARenewalDoublesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		warm(t, w)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)

		lease := testenv.MustAcquire(t, a)
		if n := count(env, 4*ttl+time.Second); n != 12 {
			t.Errorf("%d renewals in four times the TTL, want 12", n)
		}
		time.Sleep(ttl/3 - 2*time.Second) // 1 s before the next
		holdScripts(env, 3*time.Second)
		time.Sleep(2 * time.Second)
		testenv.MustRelease(t, a, lease)
		env.Heal()
		time.Sleep(3 * time.Second) // the renewal is back, and has armed a timer

		lease = testenv.MustAcquire(t, a)
		if n := count(env, 4*ttl+time.Second); n < 23 {
			t.Errorf("%d renewals in four times the TTL, want those of two chains", n)
		}
		testenv.MustRelease(t, a, lease)
		if n := count(env, 4*ttl); n != 0 {
			t.Errorf("%d commands between two leases: a timer without a token sends none", n)
		}
		testenv.MustAcquire(t, a)
		if n := count(env, 4*ttl+time.Second); n < 23 {
			t.Errorf("%d renewals of the third lease, want those of two chains", n)
		}
	})
}

// The release fails while a renewal is in flight: the token is kept, the timer
// armed, and the lock that was to be given back is renewed for ever.
func TestFailedReleaseIsRenewedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		warm(t, w)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		lease := testenv.MustAcquire(t, a)
		holdScripts(env, 3*time.Second)
		time.Sleep(ttl/3 + time.Second) // the renewal is in flight
		env.Cut()
		if err := a.Release(t.Context(), lease); !errors.Is(err, testenv.ErrCut) {
			t.Fatalf("Release = %v, want the connection's error", err)
		}
		env.Heal()
		time.Sleep(20 * ttl)
		if got := w.Value(); got != lease.Owner {
			t.Errorf("twenty times the TTL later the server stores %q, want %q", got, lease.Owner)
		}
		testenv.MustClose(t, a)
		time.Sleep(ttl + time.Second)
		if got := w.Value(); got != "" {
			t.Errorf("the server stores %q after Close and a lease's time", got)
		}
	})
}

// A nested Acquire of the same handle is refused and takes the token with it.
func TestNestedAcquireForgetsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		lease := testenv.MustAcquire(t, a)
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("nested Acquire = %v, want ErrNotAcquired", err)
		}
		testenv.MustRelease(t, a, lease)
		if got := w.Value(); got != lease.Owner {
			t.Errorf("the server stores %q: the release had no token to give back", got)
		}
	})
}

func TestCloseWaitsForARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		testenv.MustAcquire(t, a)
		holdScripts(env, 3*time.Second)
		time.Sleep(ttl/3 + time.Second)
		testenv.MustClose(t, a)
		if n := count(env, 4*ttl); n != 0 {
			t.Errorf("%d commands after Close", n)
		}
	})
}
