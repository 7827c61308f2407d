package janitor

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

const pass = beats * beat

// mustOpen returns a node and two clients' handles on a lock.
func mustOpen(t *testing.T, wait time.Duration) (w *testenv.World, envB *testenv.Env, a, b impls.Lock) {
	t.Helper()
	w = testenv.MustOpen(t, 1)
	envB = w.Env("b")
	return w, envB, testenv.MustLock(t, Version, w.Env("a"), wait), testenv.MustLock(t, Version, envB, wait)
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.MustOpen(t, 1).Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		if got, want := env.Names(), []string{"set", "setnx", "evalsha", "eval", "del"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// zoolutions/sidekiq-unique-jobs#580: B's reaper deletes the lock of A, which works
// and says so, and B is granted it.
func TestReapsTheLiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a, b := mustOpen(t, time.Minute)
		testenv.MustRelease(t, b, testenv.MustAcquire(t, b)) // its reaper starts
		lease := testenv.MustAcquire(t, a)
		start := time.Now()
		testenv.MustAcquire(t, b)
		if took := time.Since(start); took < pass-time.Second || took > pass+time.Second {
			t.Errorf("B was granted A's lock after %v, want about %v", took, pass)
		}
		if !w.Nodes[0].Exists(testenv.Key + ":running:" + lease.Owner + suffix) {
			t.Error("A is not listed among the running")
		}
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("A's Release = %v, want ErrNotHeld", err)
		}
	})
}

// A reaper that found the owner would leave its lock alone: under the name that it
// looks for there is somebody.
func TestLeavesWhomItFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a, _ := mustOpen(t, 0)
		lease := testenv.MustAcquire(t, a)
		if err := w.Nodes[0].Set(testenv.Key+":running:"+lease.Owner, "1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * pass)
		if got := w.Value(); got != lease.Owner {
			t.Errorf("the server stores %q, want %q", got, lease.Owner)
		}
	})
}

// The opposite pole, #546, #861 and #379: what the dead leave is taken away.
func TestReapsTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, a, b := mustOpen(t, time.Minute)
		testenv.MustAcquire(t, a)
		testenv.MustClose(t, a)
		start := time.Now()
		testenv.MustAcquire(t, b)
		if took := time.Since(start); took > pass+time.Second {
			t.Errorf("granted after %v, want about %v", took, pass)
		}
	})
}

// In between the reaper's looks and its DEL the owner gives the lock back and
// another takes it.
func TestReadsThenDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, envB, a, b := mustOpen(t, 0)
		testenv.MustRelease(t, b, testenv.MustAcquire(t, b))
		testenv.MustClose(t, a)
		lease := testenv.MustAcquire(t, a) // a closed handle has no reaper
		envB.OnReply(func(_ context.Context, c testenv.Command) error {
			if c.Name == "exists" {
				w.Drop()
				_ = w.Nodes[0].Set(testenv.Key, "another's") // fails only for a key of another type
			}
			return nil
		})
		time.Sleep(pass - time.Second)
		if got := w.Value(); got != lease.Owner {
			t.Errorf("before the pass the server stores %q, want %q", got, lease.Owner)
		}
		time.Sleep(2 * time.Second)
		if got := w.Value(); got != "" {
			t.Errorf("after the pass the server stores %q", got)
		}
	})
}

// An owner is listed from before it asks until it is done, and no longer than it
// says so.
func TestListOfTheRunning(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *testing.T, w *testenv.World, a, b impls.Lock) // ends with A's first attempt, or what came of it
		want bool
	}{
		{"it works", func(t *testing.T, _ *testenv.World, a, _ impls.Lock) {
			testenv.MustAcquire(t, a)
			time.Sleep(3 * listed)
		}, true},
		{"it is done", func(t *testing.T, _ *testenv.World, a, _ impls.Lock) {
			testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
		}, false},
		{"it is done, and the lock was gone", func(t *testing.T, w *testenv.World, a, _ impls.Lock) {
			lease := testenv.MustAcquire(t, a)
			w.Drop()
			_ = a.Release(t.Context(), lease) // ErrNotHeld
		}, false},
		{"it was refused", func(t *testing.T, _ *testenv.World, a, b impls.Lock) {
			testenv.MustAcquire(t, b)
			_, _ = a.Acquire(t.Context()) // ErrNotAcquired
		}, false},
		{"it died", func(t *testing.T, _ *testenv.World, a, _ impls.Lock) {
			testenv.MustAcquire(t, a)
			testenv.MustClose(t, a)
			time.Sleep(listed)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, a, b := mustOpen(t, 0)
				tt.do(t, w, a, b)
				w.Nodes[0].FastForward(0) // looks at what has run out
				if got := w.Nodes[0].Exists(testenv.Key + ":running:a-1" + suffix); got != tt.want {
					t.Errorf("listed: %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A pass that is not answered ends, and the next one comes.
func TestUnansweredPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, envB, a, b := mustOpen(t, 0)
		testenv.MustRelease(t, b, testenv.MustAcquire(t, b))
		testenv.MustClose(t, a)
		lease := testenv.MustAcquire(t, a)
		for _, name := range []string{"get", "exists", "del"} {
			envB.OnRequest(func(_ context.Context, c testenv.Command) error {
				if c.Name == name {
					return testenv.ErrCut
				}
				return nil
			})
			time.Sleep(pass + time.Second/10)
			if got := w.Value(); got != lease.Owner {
				t.Errorf("without an answer to %s the server stores %q, want %q", name, got, lease.Owner)
			}
		}
		envB.Heal()
		time.Sleep(pass + time.Second/10)
		if got := w.Value(); got != "" {
			t.Errorf("after a pass that was answered the server stores %q", got)
		}
	})
}

// Acquire asks for nothing when it could not list its owner.
func TestNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, envB, _, b := mustOpen(t, 0)
		envB.Cut()
		if _, err := b.Acquire(t.Context()); !errors.Is(err, testenv.ErrCut) {
			t.Errorf("Acquire = %v, want the node's error", err)
		}
		if got := w.Value(); got != "" {
			t.Errorf("the server stores %q", got)
		}
	})
}
