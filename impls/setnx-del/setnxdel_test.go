package setnxdel

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		if got, want := env.Names(), []string{"setnx", "del"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// D1 v1: the holder dies, and nobody ever gets the lock again.
func TestDeadHolderKeepsItForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		time.Sleep(24 * time.Hour)
		b := testenv.MustLock(t, Version, w.Env("b"), time.Minute)
		if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire a day later = %v, want ErrNotAcquired", err)
		}
	})
}
