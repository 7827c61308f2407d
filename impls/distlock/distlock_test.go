package distlock

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

func scripts(env *testenv.Env) int {
	n := 0
	for _, c := range env.Sent() {
		if c.Script() {
			n++
		}
	}
	return n
}

// retry is Wait / retry_delay, and there is one try more than that.
func TestRetries(t *testing.T) {
	tests := []struct {
		wait  time.Duration
		tries int
	}{
		{0, 1},
		{99 * time.Millisecond, 1},
		{300 * time.Millisecond, 4},
	}
	for _, tt := range tests {
		t.Run(tt.wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
				env := w.Env("b")
				b := testenv.MustLock(t, Version, env, tt.wait)
				if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("Acquire = %v, want ErrNotAcquired", err)
				}
				if got := len(env.Sent()); got != tt.tries {
					t.Errorf("%d tries, want %d", got, tt.tries)
				}
			})
		})
	}
}

// Where fragile-watchdog stops, this one goes on.
func TestSurvivesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		lease := testenv.MustAcquire(t, a)
		for range 5 {
			env.Cut()
			time.Sleep(ttl / 3)
			env.Heal()
			time.Sleep(ttl)
		}
		if got := w.Value(); got != lease.Owner {
			t.Errorf("the server stores %q, want %q kept alive", got, lease.Owner)
		}
	})
}

// The lease is lost; the timers go on asking, nobody is told, and the release is
// a success.
func TestLossIsSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		lease := testenv.MustAcquire(t, a)
		w.Drop()
		other := testenv.MustAcquire(t, b)
		time.Sleep(2 * ttl)
		if n := scripts(env); n < 6 {
			t.Errorf("%d renewals in twice the TTL, want the timers to go on", n)
		}
		if lease.Lost != nil {
			t.Error("the lease has a Lost channel")
		}
		testenv.MustRelease(t, a, lease)
		if got := w.Value(); got != other.Owner {
			t.Errorf("the server stores %q, want B's %q", got, other.Owner)
		}
	})
}

// A timer armed by a renewal that was in flight at release finds no token.
func TestTimerAfterReleaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		lease := testenv.MustAcquire(t, a)
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Script() {
				time.Sleep(3 * time.Second)
			}
			return nil
		})
		time.Sleep(ttl/3 + time.Second)
		testenv.MustRelease(t, a, lease)
		env.Heal()
		time.Sleep(3 * time.Second)
		before := len(env.Sent())
		time.Sleep(4 * ttl)
		if n := len(env.Sent()) - before; n != 0 {
			t.Errorf("%d commands after the release", n)
		}
	})
}

// An error of the release reaches the caller and keeps the token for a retry.
func TestFailedReleaseCanBeRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		lease := testenv.MustAcquire(t, a)
		env.Cut()
		if err := a.Release(t.Context(), lease); !errors.Is(err, testenv.ErrCut) {
			t.Errorf("Release = %v, want the connection's error", err)
		}
		env.Heal()
		testenv.MustRelease(t, a, lease)
		if got := w.Value(); got != "" {
			t.Errorf("the server stores %q after the retry", got)
		}
	})
}
