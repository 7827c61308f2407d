package setnxexpire

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		name string
		ttl  time.Duration
		want []string
	}{
		{"whole seconds are sent with EXPIRE", 30 * time.Second, []string{"setnx", "expire", "del"}},
		{"a fraction is sent with PEXPIRE", 1500 * time.Millisecond, []string{"setnx", "pexpire", "del"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				env := w.Env("a")
				a, err := newLock(env, impls.Config{Key: testenv.Key, TTL: tt.ttl})
				if err != nil {
					t.Fatal(err)
				}
				lease := testenv.MustAcquire(t, a)
				if got := w.Nodes[0].TTL(testenv.Key); got > tt.ttl || got < tt.ttl-10*time.Millisecond {
					t.Errorf("the key lives for %v, want %v", got, tt.ttl)
				}
				testenv.MustRelease(t, a, lease)
				if got := env.Names(); !slices.Equal(got, tt.want) {
					t.Errorf("sent %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// D1 v2, D2 2.1: whatever happens between the two commands, the key has no expiry.
func TestCutOffBetweenTheCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Name == "expire" {
				return testenv.ErrCut
			}
			return nil
		})
		a := testenv.MustLock(t, Version, env, 0)
		if _, err := a.Acquire(t.Context()); !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want the error of EXPIRE", err)
		}
		time.Sleep(time.Hour)
		if ttl := w.Nodes[0].TTL(testenv.Key); w.Value() != value || ttl != 0 {
			t.Errorf("an hour later the server stores %q for %v, want %q for ever", w.Value(), ttl, value)
		}
	})
}
