package watchdog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// D2 4.3: a lease is passed, nothing renews, and the lock is gone when the lease
// says so; the release hears it.
func TestLeasedIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Leased, env, 0)
		asked := time.Now()
		lease := testenv.MustAcquire(t, a)
		if got, want := lease.Until, asked.Add(ttl-impls.Precision); !got.Equal(want) || lease.Lost != nil {
			t.Errorf("the lease is good until %v after the call, Lost is there: %v; want %v, and none", got.Sub(asked), lease.Lost != nil, want.Sub(asked))
		}
		sent := len(env.Sent())
		time.Sleep(time.Until(lease.Until))
		if got := w.Value(); got != lease.Owner {
			t.Errorf("at the end of the lease the server stores %q, want %q", got, lease.Owner)
		}
		time.Sleep(time.Second)
		if n := len(env.Sent()) - sent; n != 0 || w.Value() != "" {
			t.Errorf("%d commands since the grant, and the server stores %q; want none and nothing", n, w.Value())
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
	})
}

// An answer that takes longer than the lease is no grant, as of the watchdog.
func TestLeasedGrantThatArrivesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.MustOpen(t, 1).Env("a")
		a := testenv.MustLock(t, Leased, env, 0)
		env.OnReply(func(_ context.Context, c testenv.Command) error {
			if c.Name == "set" {
				time.Sleep(ttl + time.Second)
			}
			return nil
		})
		if lease, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %+v, %v; want ErrNotAcquired", lease, err)
		}
	})
}

func TestLeasedRefusesWhatNoLockCanWorkWith(t *testing.T) {
	if l, err := Leased.New(nil, impls.Config{}); err == nil {
		t.Errorf("New = %v, want the error of the configuration", l)
	}
}
