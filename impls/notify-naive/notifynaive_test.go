package notifynaive

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
	ttl     = testenv.TTL
	wait    = 2 * time.Minute
	channel = testenv.Key + ":released"
)

func subscribers(w *testenv.World) int { return w.Nodes[0].PubSubNumSub(channel)[channel] }

// The message arrives: it works, and a loser of the race waits for the next one.
func TestMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		lease := testenv.MustAcquire(t, a)
		holds := make(chan time.Time, 2)
		for range 2 {
			b := testenv.MustLock(t, Version, w.Env("b"), wait)
			go func() {
				lease, err := b.Acquire(t.Context())
				holds <- time.Now()
				time.Sleep(time.Second)
				if err := errors.Join(err, b.Release(t.Context(), lease)); err != nil {
					t.Errorf("Acquire and Release: %v", err)
				}
			}()
		}
		time.Sleep(5 * time.Second)
		start := time.Now()
		testenv.MustRelease(t, a, lease)
		first, second := <-holds, <-holds
		if took := first.Sub(start); took > 10*time.Millisecond {
			t.Errorf("granted %v after the release", took)
		}
		if took := second.Sub(first); took > time.Second+10*time.Millisecond {
			t.Errorf("the next was granted %v later", took)
		}
		time.Sleep(2 * time.Second)
		if got := subscribers(w); got != 0 {
			t.Errorf("%d subscribers afterwards", got)
		}
	})
}

// Nobody tells the waiter, and it waits beside a free lock until its time is up.
func TestHangs(t *testing.T) {
	tests := []struct {
		name string
		lose func(t *testing.T, w *testenv.World, a impls.Lock, lease impls.Lease, b *testenv.Env)
	}{
		{"released before the subscription stands", func(t *testing.T, _ *testenv.World, a impls.Lock, lease impls.Lease, b *testenv.Env) {
			b.OnReply(func(context.Context, testenv.Command) error {
				b.Heal()
				testenv.MustRelease(t, a, lease)
				return nil
			})
		}},
		{"the holder is dead", func(*testing.T, *testenv.World, impls.Lock, impls.Lease, *testenv.Env) {}},
		{"the message is lost", func(_ *testing.T, w *testenv.World, _ impls.Lock, _ impls.Lease, _ *testenv.Env) {
			time.AfterFunc(5*time.Second, w.Drop)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				a := testenv.MustLock(t, Version, w.Env("a"), 0)
				env := w.Env("b")
				b := testenv.MustLock(t, Version, env, wait)
				tt.lose(t, w, a, testenv.MustAcquire(t, a), env)
				start := time.Now()
				if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("Acquire = %v, want ErrNotAcquired", err)
				}
				if took := time.Since(start); took != wait {
					t.Errorf("gave up after %v, want %v", took, wait)
				}
				if got := len(env.Sent()); got != 1 {
					t.Errorf("%d commands, want the one that was refused", got)
				}
				if got := w.Value(); got != "" {
					t.Errorf("the lock is not free: the server stores %q", got)
				}
			})
		})
	}
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		b := testenv.MustLock(t, Version, w.Env("b"), wait)
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(5*time.Second, cancel)
		defer stop.Stop()
		start := time.Now()
		if _, err := b.Acquire(ctx); !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
		}
		if took := time.Since(start); took > 5110*time.Millisecond {
			t.Errorf("Acquire returned after %v", took)
		}
		synctest.Wait()
		if got := subscribers(w); got != 0 {
			t.Errorf("%d subscribers afterwards", got)
		}
	})
}
