package redislock

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

// The library cuts a wait without a deadline down to the TTL; ours has one.
func TestWaitsLongerThanTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 3*ttl)
		lease := testenv.MustAcquire(t, a)
		go func() {
			for range 3 {
				time.Sleep(ttl / 2)
				if _, err := a.(impls.Extender).Extend(t.Context(), lease); err != nil {
					t.Errorf("Extend: %v", err)
				}
			}
		}()
		testenv.MustAcquire(t, b)
	})
}

// One error for two outcomes: the deadline passes while Obtain sleeps, which is
// a refusal, or while it waits for an answer, which is not.
func TestDeadline(t *testing.T) {
	tests := []struct {
		name    string
		command func(ctx context.Context) error
		refused bool
	}{
		{"while it sleeps", func(context.Context) error { return nil }, true},
		{"while a command is in flight", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
				env := w.Env("b")
				b := testenv.MustLock(t, Version, env, 2*time.Second)
				env.OnReply(func(ctx context.Context, c testenv.Command) error {
					if len(env.Sent()) < 5 {
						return nil
					}
					return tt.command(ctx)
				})
				_, err := b.Acquire(t.Context())
				if err == nil || errors.Is(err, impls.ErrNotAcquired) != tt.refused {
					t.Errorf("Acquire = %v, want ErrNotAcquired: %v", err, tt.refused)
				}
			})
		})
	}
}

func TestContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Acquire(ctx); !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
		}
		if n := len(env.Sent()); n != 0 {
			t.Errorf("%d commands were sent", n)
		}
	})
}
