package spintool

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// The do-while of D2 6.1: a try takes 1 ms here, a sleep 50 ms, and the deadline
// is looked at after the sleep.
func TestSpins(t *testing.T) {
	tests := []struct {
		name  string
		wait  time.Duration
		tries int
	}{
		{"no wait still tries and sleeps once", 0, 1},
		{"sleeps on past its deadline", 60 * time.Millisecond, 2},
		{"asks twenty times a second", 5 * time.Second, 99},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
				env := w.Env("b")
				b := testenv.MustLock(t, Version, env, tt.wait)
				start := time.Now()
				if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("Acquire = %v, want ErrNotAcquired", err)
				}
				if got := len(env.Sent()); got != tt.tries {
					t.Errorf("%d tries, want %d", got, tt.tries)
				}
				if took, want := time.Since(start), time.Duration(tt.tries)*51*time.Millisecond; took != want {
					t.Errorf("took %v, want %v", took, want)
				}
			})
		})
	}
}
