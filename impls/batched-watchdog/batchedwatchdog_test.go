package batchedwatchdog

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

const (
	ttl   = testenv.TTL
	other = "lock:order:456"
)

// world is two threads of one process, each with a lock of its own.
type world struct {
	*testenv.World
	envA, envB *testenv.Env
	a, b       impls.Lock
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{World: testenv.MustOpen(t, 1)}
	p := &impls.Process{}
	w.envA, w.envB = w.Thread(p, "a"), w.Thread(p, "b")
	w.a = mustLock(t, w.envA, testenv.Key)
	w.b = mustLock(t, w.envB, other)
	return w
}

func mustLock(t *testing.T, env *testenv.Env, key string) impls.Lock {
	t.Helper()
	l, err := Version.New(env, impls.Config{Key: key, TTL: ttl})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { testenv.MustClose(t, l) })
	return l
}

// other is what the server stores under the second key, or "".
func (w *world) other() string {
	v, _ := w.Nodes[0].Get(other)
	return v
}

// scripts counts the scripts that a thread has sent.
func scripts(env *testenv.Env) int {
	n := 0
	for _, c := range env.Sent() {
		if c.Script() {
			n++
		}
	}
	return n
}

// One script every TTL/3 renews both leases, over the connection of the first.
func TestOneScriptForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		a, b := testenv.MustAcquire(t, w.a), testenv.MustAcquire(t, w.b)
		time.Sleep(4*ttl - time.Second)
		if got, want := scripts(w.envA), 11+1; got != want { // the first is EVALSHA and EVAL
			t.Errorf("the first thread sent %d scripts, want %d", got, want)
		}
		if got := scripts(w.envB); got != 0 {
			t.Errorf("the second thread sent %d scripts", got)
		}
		if w.Value() != a.Owner || w.other() != b.Owner {
			t.Errorf("the server stores %q and %q, want %q and %q", w.Value(), w.other(), a.Owner, b.Owner)
		}
		testenv.MustRelease(t, w.a, a)
		time.Sleep(2 * ttl)
		if got := w.other(); got != b.Owner {
			t.Errorf("after the other's release the server stores %q, want %q", got, b.Owner)
		}
		testenv.MustRelease(t, w.b, b)
	})
}

// redisson/redisson#6867: one lease in the batch that the server will not renew, and
// the other, which nobody has touched, runs out.
func TestOneBadLeaseEndsAllRenewals(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, w *world)
	}{
		{"it is evicted", func(_ *testing.T, w *world) { w.Drop() }},
		{"another process has it", func(t *testing.T, w *world) {
			w.Drop()
			testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("c"), 0))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t)
				good := testenv.MustAcquire(t, w.b) // before or after the bad one makes no difference
				testenv.MustAcquire(t, w.a)
				tt.spoil(t, w)
				time.Sleep(ttl - time.Second)
				if got := w.other(); got != good.Owner {
					t.Errorf("the server stores %q before the end of the lease, want %q", got, good.Owner)
				}
				time.Sleep(2 * time.Second)
				if got := w.other(); got != "" {
					t.Errorf("the server stores %q after the end of the lease", got)
				}
				if good.Lost != nil {
					t.Error("the holder would be told")
				}
			})
		})
	}
}

// A release that is not answered takes the lease out of the batch all the same:
// otherwise the key would be renewed for as long as the process lives.
func TestUnansweredReleaseEndsTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease, good := testenv.MustAcquire(t, w.a), testenv.MustAcquire(t, w.b)
		w.envA.Cut()
		if err := w.a.Release(t.Context(), lease); err == nil || errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want an error that leaves the outcome open", err)
		}
		w.envA.Heal()
		time.Sleep(2 * ttl)
		if w.Value() != "" || w.other() != good.Owner {
			t.Errorf("the server stores %q and %q, want nothing and %q", w.Value(), w.other(), good.Owner)
		}
	})
}

// What puts an end to it in time: the lease that is gone is taken out of the batch.
func TestBatchHeals(t *testing.T) {
	tests := []struct {
		name string
		heal func(t *testing.T, w *world, stale impls.Lease)
	}{
		{"locked again", func(t *testing.T, w *world, _ impls.Lease) { testenv.MustAcquire(t, w.a) }},
		{"released", func(t *testing.T, w *world, stale impls.Lease) {
			if err := w.a.Release(t.Context(), stale); !errors.Is(err, impls.ErrNotHeld) {
				t.Errorf("Release = %v, want ErrNotHeld", err)
			}
		}},
		{"its handle is closed", func(t *testing.T, w *world, _ impls.Lease) { testenv.MustClose(t, w.a) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t)
				stale, good := testenv.MustAcquire(t, w.a), testenv.MustAcquire(t, w.b)
				w.Drop()
				time.Sleep(ttl / 2)
				tt.heal(t, w, stale)
				time.Sleep(3 * ttl)
				if got := w.other(); got != good.Owner {
					t.Errorf("the server stores %q, want %q", got, good.Owner)
				}
			})
		})
	}
}

// Like watchdog's, the lease outlives failures of the connection.
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
				w := open(t)
				lease := testenv.MustAcquire(t, w.a)
				for range 5 {
					tt.fail(w.envA)
					time.Sleep(ttl / 3)
					w.envA.Heal()
					time.Sleep(ttl)
				}
				if w.Value() != lease.Owner {
					t.Errorf("the server stores %q, want %q", w.Value(), lease.Owner)
				}
				testenv.MustRelease(t, w.a, lease)
			})
		})
	}
}

// A batch that failed is tried again after TTL/10.
func TestTriesAgainSoon(t *testing.T) {
	tests := []struct {
		name string
		fail func(t *testing.T, w *world) (heal func())
	}{
		{"no connection", func(_ *testing.T, w *world) func() {
			w.envB.Cut()
			return w.envB.Heal
		}},
		{"refused", func(t *testing.T, w *world) func() {
			bad := testenv.MustAcquire(t, w.a)
			w.Drop()
			return func() {
				if err := w.a.Release(t.Context(), bad); !errors.Is(err, impls.ErrNotHeld) {
					t.Errorf("Release = %v, want ErrNotHeld", err)
				}
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t)
				lease := testenv.MustAcquire(t, w.b)
				heal := tt.fail(t, w)
				time.Sleep(ttl/3 + time.Second)
				heal()
				time.Sleep(ttl / 10)
				if got := w.Nodes[0].TTL(other); w.other() != lease.Owner || got < ttl-ttl/10 {
					t.Errorf("the server stores %q with %v to live, want %q, renewed", w.other(), got, lease.Owner)
				}
			})
		})
	}
}

// The timer ends with the last lease, and the next has another.
func TestLeasesOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		for range 3 {
			lease := testenv.MustAcquire(t, w.a)
			time.Sleep(2 * ttl)
			if w.Value() != lease.Owner {
				t.Errorf("the server stores %q, want %q", w.Value(), lease.Owner)
			}
			testenv.MustRelease(t, w.a, lease)
			time.Sleep(ttl)
		}
	})
}

// The overdue release of one thread leaves the lease of another in the batch.
func TestOverdueReleaseBesideAThreadOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		stale := testenv.MustAcquire(t, w.a)
		w.Drop()
		lease := testenv.MustAcquire(t, mustLock(t, w.envB, testenv.Key))
		if err := w.a.Release(t.Context(), stale); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		time.Sleep(2 * ttl)
		if w.Value() != lease.Owner {
			t.Errorf("the server stores %q, want %q", w.Value(), lease.Owner)
		}
	})
}

// What Acquire may have been granted without hearing of it in time is deleted.
func TestUnheardGrantIsTakenBack(t *testing.T) {
	tests := []struct {
		name  string
		reply func(*testenv.Env) error
		want  func(error) bool
	}{
		{"the answer is lost", func(*testenv.Env) error { return testenv.ErrCut },
			func(err error) bool { return errors.Is(err, testenv.ErrCut) }},
		{"the answer takes longer than the lease", func(*testenv.Env) error { time.Sleep(ttl); return nil },
			func(err error) bool { return errors.Is(err, impls.ErrNotAcquired) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t)
				w.Nodes[0].ClockTTL(false) // a server whose clock stands still keeps the key
				w.envA.OnReply(func(context.Context, testenv.Command) error {
					w.envA.Heal()
					return tt.reply(w.envA)
				})
				if lease, err := w.a.Acquire(t.Context()); !tt.want(err) {
					t.Errorf("Acquire = %+v, %v", lease, err)
				}
				if w.Value() != "" {
					t.Errorf("the server stores %q", w.Value())
				}
			})
		})
	}
}

func TestReleaseAfterTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.a.Release(ctx, lease); err != nil || w.Value() != "" {
			t.Errorf("Release = %v, and the server stores %q", err, w.Value())
		}
	})
}

// Close does not leave a renewal on the wire.
func TestCloseDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		testenv.MustAcquire(t, w.a)
		w.envA.OnRequest(func(context.Context, testenv.Command) error {
			time.Sleep(3 * time.Second)
			return testenv.ErrCut
		})
		time.Sleep(ttl/3 + time.Second)
		start := time.Now()
		testenv.MustClose(t, w.a)
		if took := time.Since(start); took < time.Second || took > 3*time.Second {
			t.Errorf("Close took %v, want until the renewal has ended", took)
		}
	})
}

// A renewal that arrives after the delete leaves the next owner alone.
func TestRenewalAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		w.envA.OnRequest(func(context.Context, testenv.Command) error {
			time.Sleep(3 * time.Second)
			return nil
		})
		time.Sleep(ttl/3 + time.Second)
		w.envA.Heal()
		testenv.MustRelease(t, w.a, lease)
		next := testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("c"), 0))
		time.Sleep(5 * time.Second)
		if got := w.Nodes[0].TTL(testenv.Key); w.Value() != next.Owner || got > ttl-4*time.Second {
			t.Errorf("the server stores %q with %v to live, want %q, not prolonged", w.Value(), got, next.Owner)
		}
		want := []string{"set", "evalsha", "evalsha", "eval", "eval"}
		if got := w.envA.Names(); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// A closed handle renews nothing and hands out nothing; the other's leases stay.
func TestCloseOfOneHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		testenv.MustAcquire(t, w.a)
		lease := testenv.MustAcquire(t, w.b)
		testenv.MustClose(t, w.a)
		time.Sleep(3 * ttl)
		if w.Value() != "" || w.other() != lease.Owner {
			t.Errorf("the server stores %q and %q, want nothing and %q", w.Value(), w.other(), lease.Owner)
		}
		if _, err := w.a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire on a closed lock = %v, want ErrNotAcquired", err)
		}
		testenv.MustClose(t, w.b)
		again := mustLock(t, w.envB, testenv.Key)
		lease = testenv.MustAcquire(t, again)
		time.Sleep(3 * ttl)
		if w.Value() != lease.Owner {
			t.Errorf("a handle made after all were closed: the server stores %q, want %q", w.Value(), lease.Owner)
		}
	})
}
