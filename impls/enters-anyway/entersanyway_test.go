package entersanyway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// redis/redis-py#621: B's wait is over while A works, and B works too. Only the end
// of B's block says that it should not have.
func TestEntersWhenTheWaitIsOver(t *testing.T) {
	const wait = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), wait)
		b := testenv.MustLock(t, Version, w.Env("b"), wait)
		held := testenv.MustAcquire(t, a)
		start := time.Now()
		lease := testenv.MustAcquire(t, b)
		if took := time.Since(start); took < wait-retryDelay || took > wait+retryDelay {
			t.Errorf("B entered after %v, want about %v", took, wait)
		}
		if err := b.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("B's Release = %v, want ErrNotHeld", err)
		}
		if got := w.Value(); got != held.Owner {
			t.Errorf("the server stores %q, want A's %q", got, held.Owner)
		}
		testenv.MustRelease(t, a, held)
	})
}

// Whatever raises leaves the block before it begins.
func TestErrorsAreRaised(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name    string
		ctx     context.Context
		prepare func(env *testenv.Env)
		refused bool // ErrNotAcquired; else the outcome is unknown
	}{
		{"the server cannot be reached", context.Background(), func(env *testenv.Env) { env.Cut() }, false},
		{"the context has ended", ended, func(*testenv.Env) {}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := testenv.MustOpen(t, 1).Env("a")
				a := testenv.MustLock(t, Version, env, time.Second)
				tt.prepare(env)
				lease, err := a.Acquire(tt.ctx)
				if err == nil || errors.Is(err, impls.ErrNotAcquired) != tt.refused {
					t.Errorf("Acquire = %+v, %v; want an error, ErrNotAcquired: %v", lease, err, tt.refused)
				}
			})
		})
	}
}
