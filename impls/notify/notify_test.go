package notify

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
	channel = testenv.Key + ":released"
)

func subscribers(w *testenv.World) int { return w.Nodes[0].PubSubNumSub(channel)[channel] }

// grant is what a waiting Acquire ended with, and when.
type grant struct {
	lease impls.Lease
	err   error
	at    time.Time
}

func acquire(ctx context.Context, l impls.Lock) <-chan grant {
	done := make(chan grant, 1)
	go func() {
		lease, err := l.Acquire(ctx)
		done <- grant{lease, err, time.Now()}
	}()
	return done
}

func mustGrant(t *testing.T, done <-chan grant) grant {
	t.Helper()
	g := <-done
	if g.err != nil {
		t.Fatalf("Acquire: %v", g.err)
	}
	return g
}

// However the message is lost, the waiter finds the free lock by itself.
func TestWakesUp(t *testing.T) {
	tests := []struct {
		name   string
		free   func(t *testing.T, w *testenv.World, a impls.Lock, lease impls.Lease) // 5 s after the waiter came
		within time.Duration                                                         // from then
	}{
		{"the message", func(t *testing.T, _ *testenv.World, a impls.Lock, lease impls.Lease) {
			testenv.MustRelease(t, a, lease)
		}, 10 * time.Millisecond},
		{"deleted without a message", func(_ *testing.T, w *testenv.World, _ impls.Lock, _ impls.Lease) {
			w.Drop()
		}, ttl/10 + 10*time.Millisecond},
		{"the holder is dead", func(*testing.T, *testenv.World, impls.Lock, impls.Lease) {}, ttl - 5*time.Second + 10*time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				a := testenv.MustLock(t, Version, w.Env("a"), 0)
				b := testenv.MustLock(t, Version, w.Env("b"), time.Minute)
				lease := testenv.MustAcquire(t, a)
				done := acquire(t.Context(), b)
				time.Sleep(5 * time.Second)
				start := time.Now()
				tt.free(t, w, a, lease)
				if late := mustGrant(t, done).at.Sub(start); late > tt.within {
					t.Errorf("granted after %v, want at most %v", late, tt.within)
				}
			})
		})
	}
}

// redisson/redisson#1763: the lock is released after the refusal and before the
// subscription stands.
func TestReleaseBeforeTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		env := w.Env("b")
		b := testenv.MustLock(t, Version, env, time.Minute)
		lease := testenv.MustAcquire(t, a)
		env.OnReply(func(context.Context, testenv.Command) error {
			env.Heal()
			testenv.MustRelease(t, a, lease)
			return nil
		})
		start := time.Now()
		testenv.MustAcquire(t, b)
		if took := time.Since(start); took > 10*time.Millisecond {
			t.Errorf("granted after %v", took)
		}
	})
}

// questions counts the PTTL.
func questions(envs []*testenv.Env) int {
	n := 0
	for _, env := range envs {
		for _, name := range env.Names() {
			if name == "pttl" {
				n++
			}
		}
	}
	return n
}

// spring-integration GH-3700: one of the woken is granted, the others wait on and
// are granted in their turn.
func TestWokenLosersWaitOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 5
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		lease := testenv.MustAcquire(t, a)
		holds := make(chan time.Time, waiters)
		var envs []*testenv.Env
		for range waiters {
			env := w.Env("b")
			envs = append(envs, env)
			b := testenv.MustLock(t, Version, env, time.Minute)
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
		if got := subscribers(w); got != waiters {
			t.Errorf("%d subscribers, want one for each of the %d", got, waiters)
		}
		asked := questions(envs)
		last := time.Now()
		testenv.MustRelease(t, a, lease)
		for i := range waiters {
			at := <-holds
			want := time.Second
			if i == 0 {
				want = 0
			}
			if took := at.Sub(last); took < want || took > want+10*time.Millisecond {
				t.Errorf("grant %d came %v after the one before", i, took)
			}
			last = at
		}
		time.Sleep(2 * time.Second)
		if got := subscribers(w); got != 0 {
			t.Errorf("%d subscribers after the last grant", got)
		}
		if got := questions(envs); got != asked {
			t.Errorf("the losers sent %d PTTL about leases that had just begun", got-asked)
		}
	})
}

// A waiter asks a few times a lease, where a poll of 100 ms asks 300 times.
func TestAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		env := w.Env("b")
		testenv.MustAcquire(t, testenv.MustLock(t, Version, env, time.Minute))
		if got := len(env.Sent()); got > 25 {
			t.Errorf("%d commands to wait for %v", got, ttl)
		}
	})
}

func TestEndsWithItsSubscription(t *testing.T) {
	tests := []struct {
		name string
		wait time.Duration
		ends time.Duration // the context
		took time.Duration
		want []error
	}{
		{"the wait is over", 7 * time.Second, time.Minute, 7 * time.Second, []error{impls.ErrNotAcquired}},
		{"cancelled", time.Minute, 5 * time.Second, 5 * time.Second, []error{impls.ErrNotAcquired, context.Canceled}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
				b := testenv.MustLock(t, Version, w.Env("b"), tt.wait)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stop := time.AfterFunc(tt.ends, cancel)
				defer stop.Stop()

				start := time.Now()
				done := acquire(ctx, b)
				time.Sleep(tt.took - time.Millisecond)
				if got := subscribers(w); got != 1 {
					t.Errorf("%d subscribers while it waits, want 1", got)
				}
				g := <-done
				for _, want := range tt.want {
					if !errors.Is(g.err, want) {
						t.Errorf("Acquire = %v, want %v", g.err, want)
					}
				}
				if took := g.at.Sub(start); took < tt.took || took > tt.took+110*time.Millisecond {
					t.Errorf("Acquire took %v, want %v", took, tt.took)
				}
				synctest.Wait()
				if got := subscribers(w); got != 0 {
					t.Errorf("%d subscribers afterwards", got)
				}
			})
		})
	}
}

// PTTL is not answered: that is no answer to an attempt, and the waiter goes on.
func TestUnansweredPTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		env := w.Env("b")
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Name == "pttl" {
				return testenv.ErrCut
			}
			return nil
		})
		start := time.Now()
		testenv.MustAcquire(t, testenv.MustLock(t, Version, env, time.Minute))
		if took := time.Since(start); took > ttl+ttl/10+time.Second {
			t.Errorf("granted after %v", took)
		}
	})
}

// An overdue release leaves the other's lock alone, wakes nobody, and says so.
func TestOverdueReleaseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		b := testenv.MustLock(t, Version, w.Env("b"), 0)
		lease := testenv.MustAcquire(t, a)
		time.Sleep(ttl + time.Second)
		other := testenv.MustAcquire(t, b)
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		if got := w.Value(); got != other.Owner {
			t.Errorf("the server stores %q, want B's %q", got, other.Owner)
		}
	})
}
