package watchdog

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

// open returns a handle of one client and its world.
func open(t *testing.T, wait time.Duration) (*testenv.World, *testenv.Env, impls.Lock) {
	t.Helper()
	w := testenv.MustOpen(t, 1)
	env := w.Env("a")
	return w, env, testenv.MustLock(t, Version, env, wait)
}

func isLost(lease impls.Lease) bool {
	select {
	case <-lease.Lost:
		return true
	default:
		return false
	}
}

// lostAfter waits for Lost and returns how long after since it closed.
func lostAfter(t *testing.T, lease impls.Lease, since time.Time) time.Duration {
	t.Helper()
	select {
	case <-lease.Lost:
	case <-time.After(10 * ttl):
		t.Fatal("Lost did not close")
	}
	return time.Since(since)
}

func TestSurvivesFailures(t *testing.T) {
	tests := []struct {
		name string
		fail func(*testenv.Env)
	}{
		{"requests are lost", (*testenv.Env).Cut},
		{"replies are lost", func(e *testenv.Env) {
			e.OnReply(func(context.Context, testenv.Command) error { return testenv.ErrCut })
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, env, a := open(t, 0)
				lease := testenv.MustAcquire(t, a)
				for range 5 {
					tt.fail(env)
					time.Sleep(ttl / 3)
					env.Heal()
					time.Sleep(ttl)
				}
				if isLost(lease) || w.Value() != lease.Owner {
					t.Errorf("Lost closed: %v; the server stores %q, want %q", isLost(lease), w.Value(), lease.Owner)
				}
				testenv.MustRelease(t, a, lease)
			})
		})
	}
}

// Cut off for good, the holder hears of it TTL after the last renewal that was
// answered was sent, and not later than the server forgets the lock.
func TestLostAtTheEndOfTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, 0)
		granted := time.Now()
		lease := testenv.MustAcquire(t, a)
		time.Sleep(ttl / 2) // renewed once, at TTL/3
		env.Cut()
		if got, want := lostAfter(t, lease, granted), ttl/3+ttl; got != want {
			t.Errorf("Lost closed %v after the grant was sent, want %v", got, want)
		}
		if w.Value() == "" {
			t.Error("the server forgot the lock before the holder was told")
		}
		sent := len(env.Sent())
		env.Heal()
		time.Sleep(5 * ttl)
		if n := len(env.Sent()) - sent; n != 0 {
			t.Errorf("%d commands after the loss", n)
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
	})
}

// The client heeds no context and every answer hangs: Lost is on time all the
// same, and Release does not wait for more than it promises.
func TestLostWhileAttemptsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env, a := open(t, 0)
		granted := time.Now()
		lease := testenv.MustAcquire(t, a)
		env.OnReply(func(context.Context, testenv.Command) error {
			time.Sleep(10 * ttl)
			return testenv.ErrCut
		})
		if got := lostAfter(t, lease, granted); got != ttl {
			t.Errorf("Lost closed %v after the grant was sent, want %v", got, ttl)
		}
		env.Heal()
		start := time.Now()
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		if took := time.Since(start); took > ttl/5+10*time.Millisecond {
			t.Errorf("Release took %v", took)
		}
	})
}

// An answer that hangs does not keep the next attempt from being made.
func TestOneHangingAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, 0)
		lease := testenv.MustAcquire(t, a)
		var hung atomic.Bool
		env.OnRequest(func(context.Context, testenv.Command) error {
			if hung.CompareAndSwap(false, true) {
				time.Sleep(2 * ttl)
			}
			return nil
		})
		time.Sleep(5 * ttl)
		if isLost(lease) || w.Value() != lease.Owner {
			t.Errorf("Lost closed: %v; the server stores %q, want %q", isLost(lease), w.Value(), lease.Owner)
		}
	})
}

func TestLostWhenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t, 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		granted := time.Now()
		lease := testenv.MustAcquire(t, a)
		w.Drop()
		other := testenv.MustAcquire(t, b)
		if got := lostAfter(t, lease, granted); got > ttl/3+10*time.Millisecond {
			t.Errorf("Lost closed after %v, want the next renewal", got)
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		if isLost(other) || w.Value() != other.Owner {
			t.Errorf("B's lease was touched: the server stores %q", w.Value())
		}
	})
}

// A renewal is in flight when the lease is given back: the delete waits for it,
// nothing follows, and the next lease of the handle is renewed once every TTL/3.
func TestReleaseDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, 0)
		lease := testenv.MustAcquire(t, a)
		time.Sleep(ttl)
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			time.Sleep(3 * time.Second)
			return nil
		})
		time.Sleep(ttl/3 + time.Second)
		env.Heal()
		sent := len(env.Sent())
		start := time.Now()
		testenv.MustRelease(t, a, lease)
		if took := time.Since(start); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("Release took %v, want the rest of the renewal", took)
		}
		if isLost(lease) || w.Value() != "" {
			t.Errorf("Lost closed: %v; the server stores %q", isLost(lease), w.Value())
		}
		time.Sleep(4 * ttl)
		if n := len(env.Sent()) - sent; n > 2 {
			t.Errorf("%d commands since the release, want those of the delete", n)
		}

		testenv.MustAcquire(t, a)
		sent = len(env.Sent())
		time.Sleep(4*ttl + time.Second)
		if n := len(env.Sent()) - sent; n != 12 {
			t.Errorf("%d renewals in four times the TTL, want 12", n)
		}
	})
}

// The caller's context has ended: the lease is given back all the same.
func TestReleaseOnACancelledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t, 0)
		lease := testenv.MustAcquire(t, a)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Release(ctx, lease); err != nil {
			t.Errorf("Release = %v", err)
		}
		if got := w.Value(); got != "" {
			t.Errorf("the server stores %q", got)
		}
	})
}

func TestUnknownReleaseCanBeRetried(t *testing.T) {
	tests := []struct {
		name string
		fail func(*testenv.Env)
		want error // of the retry
	}{
		{"the request was lost", (*testenv.Env).Cut, nil},
		{"the reply was lost", func(e *testenv.Env) {
			e.OnReply(func(_ context.Context, c testenv.Command) error {
				if c.Name == "eval" {
					return testenv.ErrCut
				}
				return nil
			})
		}, impls.ErrNotHeld},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, env, a := open(t, 0)
				lease := testenv.MustAcquire(t, a)
				tt.fail(env)
				if err := a.Release(t.Context(), lease); !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotHeld) {
					t.Errorf("Release = %v, want the connection's error", err)
				}
				env.Heal()
				if err := a.Release(t.Context(), lease); !errors.Is(err, tt.want) {
					t.Errorf("second Release = %v, want %v", err, tt.want)
				}
				if got := w.Value(); got != "" {
					t.Errorf("the server stores %q", got)
				}
			})
		})
	}
}

// The reply of the grant is lost, with and without an end of the caller's
// context: nothing stays behind, and nothing is renewed.
func TestUnknownGrantIsTakenBack(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, env, a := open(t, 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			env.OnReply(func(_ context.Context, c testenv.Command) error {
				if c.Name != "set" {
					return nil
				}
				if cancelled {
					cancel()
				}
				return testenv.ErrCut
			})
			if _, err := a.Acquire(ctx); !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("Acquire = %v, want the connection's error", err)
			}
			if got := w.Value(); got != "" {
				t.Errorf("the server stores %q", got)
			}
			sent := len(env.Sent())
			time.Sleep(2 * ttl)
			if n := len(env.Sent()) - sent; n != 0 {
				t.Errorf("%d commands afterwards", n)
			}
		})
	}
}

// The answer of the grant takes longer than the lease: it is no grant.
func TestGrantThatArrivesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, time.Minute)
		late := true
		env.OnReply(func(_ context.Context, c testenv.Command) error {
			if c.Name == "set" && late {
				late = false
				time.Sleep(ttl + time.Second)
			}
			return nil
		})
		lease := testenv.MustAcquire(t, a)
		if isLost(lease) || w.Value() != lease.Owner {
			t.Errorf("Lost closed: %v; the server stores %q, want %q", isLost(lease), w.Value(), lease.Owner)
		}
		if got := w.Nodes[0].TTL(testenv.Key); got < ttl-time.Second {
			t.Errorf("the lease that was handed out has %v left", got)
		}
	})
}

// Close leaves the lock on the server and tells the holder that nobody keeps it.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t, 0)
		lease := testenv.MustAcquire(t, a)
		testenv.MustClose(t, a)
		if !isLost(lease) || w.Value() != lease.Owner {
			t.Errorf("Lost closed: %v; the server stores %q, want %q", isLost(lease), w.Value(), lease.Owner)
		}
		w.Drop()
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire on a closed lock = %v, want ErrNotAcquired", err)
		}
		if got := w.Value(); got != "" {
			t.Errorf("the server stores %q", got)
		}
	})
}
