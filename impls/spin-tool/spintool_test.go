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

// The deadline is on the wall clock, and somebody sets that while it waits.
func TestWallClockDeadline(t *testing.T) {
	tests := []struct {
		name string
		by   time.Duration
		took time.Duration
	}{
		{"left alone", 0, 10 * time.Second},
		{"set ahead, it gives up early", 5 * time.Second, 5 * time.Second},
		{"set ahead past the deadline, it gives up at once", time.Hour, 2 * time.Second},
		{"set back, it waits on", -5 * time.Second, 15 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
				env := w.Env("b")
				b := testenv.MustLock(t, Version, env, 10*time.Second)
				time.AfterFunc(2*time.Second, func() { env.SetWall(tt.by) })
				start := time.Now()
				if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("Acquire = %v, want ErrNotAcquired", err)
				}
				if took := time.Since(start); took < tt.took || took > tt.took+2*spin {
					t.Errorf("gave up after %v, want %v", took, tt.took)
				}
			})
		})
	}
}
