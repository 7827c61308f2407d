package blindrenew

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

const ttl = testenv.TTL

func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		testenv.MustAcquire(t, a)
		time.Sleep(ttl*2/3 + time.Second)
		want := []string{"set", "get", "pexpire", "get", "pexpire"}
		if got := env.Names(); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// D2 3.2: A loses the lock between its check and its PEXPIRE, and extends B's lease.
func TestRenewsAnothersLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		b, err := newLock(w.Env("b"), impls.Config{Key: testenv.Key, TTL: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		lease := testenv.MustAcquire(t, a)
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Name == "pexpire" {
				time.Sleep(ttl)
				testenv.MustAcquire(t, b)
				testenv.MustClose(t, b) // B renews nothing itself
			}
			return nil
		})
		time.Sleep(ttl/3 + ttl + time.Second)
		if got := w.Nodes[0].TTL(testenv.Key); w.Value() != "b-1" || got < 25*time.Second {
			t.Errorf("the server stores %q for another %v, want B's lease of 5 s stretched to 30 s", w.Value(), got)
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
	})
}

func TestErrorSkipsATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		lease := testenv.MustAcquire(t, a)
		env.Cut()
		time.Sleep(ttl/3 + time.Second)
		env.Heal()
		time.Sleep(4 * ttl)
		if got := w.Value(); got != lease.Owner {
			t.Errorf("the server stores %q, want %q kept alive", got, lease.Owner)
		}
	})
}

// Release does not wait for a tick that has begun: its PEXPIRE comes afterwards.
func TestTickOutlivesRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		lease := testenv.MustAcquire(t, a)
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Name == "pexpire" {
				time.Sleep(3 * time.Second)
			}
			return nil
		})
		time.Sleep(ttl/3 + time.Second) // the tick is at its PEXPIRE
		start := time.Now()
		testenv.MustRelease(t, a, lease)
		if took := time.Since(start); took > 10*time.Millisecond {
			t.Errorf("Release took %v, want no waiting", took)
		}
		testenv.MustClose(t, a)
		if took := time.Since(start); took < time.Second {
			t.Errorf("Close returned after %v, before the tick", took)
		}
	})
}
