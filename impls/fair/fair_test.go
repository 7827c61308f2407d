package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

// queue is who waits, in order.
func queue(w *testenv.World) []string {
	waiters, err := w.Nodes[0].List(testenv.Key + ":queue")
	if err != nil {
		return nil // no such key
	}
	return waiters
}

// mustBeEmpty looks for anything beside the lock itself.
func mustBeEmpty(t *testing.T, w *testenv.World) {
	t.Helper()
	for _, key := range w.Nodes[0].Keys() {
		if key != testenv.Key {
			t.Errorf("%q is left behind", key)
		}
	}
}

// arrive lets a client queue, and hold the lock for one second once it is granted.
func arrive(ctx context.Context, t *testing.T, w *testenv.World, name string, wait time.Duration, order chan<- string) {
	t.Helper()
	l := testenv.MustLock(t, Version, w.Env(name), wait)
	go func() {
		lease, err := l.Acquire(ctx)
		if err != nil {
			order <- name + " gave up"
			return
		}
		order <- name
		time.Sleep(time.Second)
		if err := l.Release(ctx, lease); err != nil {
			t.Errorf("%s: Release: %v", name, err)
		}
	}()
}

func take(order <-chan string, n int) []string {
	var got []string
	for range n {
		got = append(got, <-order)
	}
	return got
}

// Whoever asks when, the grants are in the order of arrival.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		order := make(chan string, 10)
		var want []string
		for i := range 10 {
			name := fmt.Sprint("c", i)
			want = append(want, name)
			arrive(t.Context(), t, w, name, time.Minute, order)
			time.Sleep(time.Duration(7+i*13) * time.Millisecond) // so that they ask in no order
		}
		if got := take(order, 10); !slices.Equal(got, want) {
			t.Errorf("granted to %v, want %v", got, want)
		}
		time.Sleep(2 * time.Second)
		mustBeEmpty(t, w)
	})
}

// The lock is free for a moment until the head asks again: a newcomer does not get in.
func TestNewcomerDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		lease := testenv.MustAcquire(t, a)
		order := make(chan string, 2)
		arrive(t.Context(), t, w, "b", time.Minute, order)
		time.Sleep(520 * time.Millisecond)
		testenv.MustRelease(t, a, lease)
		if got := w.Value(); got != "" {
			t.Fatalf("the server stores %q: the moment is over", got)
		}
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("the newcomer's Acquire = %v, want ErrNotAcquired", err)
		}
		if got := <-order; got != "b" {
			t.Errorf("then %s, want b", got)
		}
		time.Sleep(2 * time.Second)
		mustBeEmpty(t, w)
	})
}

// Who gives up leaves the queue, and the next one moves up at once.
func TestGivingUp(t *testing.T) {
	tests := []struct {
		name string
		wait time.Duration
		ends time.Duration // the context
	}{
		{"the wait is over", 3 * time.Second, time.Hour},
		{"cancelled", time.Minute, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				a := testenv.MustLock(t, Version, w.Env("a"), 0)
				lease := testenv.MustAcquire(t, a)
				ctx, cancel := context.WithTimeout(t.Context(), tt.ends)
				defer cancel()
				order := make(chan string, 2)
				arrive(ctx, t, w, "b", tt.wait, order)
				time.Sleep(time.Second)
				arrive(t.Context(), t, w, "c", time.Minute, order)
				time.Sleep(time.Second)
				if got, want := queue(w), []string{"b-1", "c-1"}; !slices.Equal(got, want) {
					t.Errorf("the queue is %v, want %v", got, want)
				}
				time.Sleep(1100 * time.Millisecond)
				if got, want := queue(w), []string{"c-1"}; !slices.Equal(got, want) {
					t.Errorf("the queue is %v, want %v", got, want)
				}
				start := time.Now()
				testenv.MustRelease(t, a, lease)
				if got, want := take(order, 2), []string{"b gave up", "c"}; !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
				if took := time.Since(start); took > 2*retryDelay {
					t.Errorf("c was granted %v after the release", took)
				}
				time.Sleep(2 * time.Second)
				mustBeEmpty(t, w)
			})
		})
	}
}

// A waiter dies and never leaves. The one behind it waits for 5 s after it
// was last heard of, and no longer.
func TestDeadWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		lease := testenv.MustAcquire(t, a)
		dead := w.Env("dead")
		order := make(chan string, 2)
		l := testenv.MustLock(t, Version, dead, time.Minute)
		go func() { _, _ = l.Acquire(t.Context()) }()
		time.Sleep(time.Second)
		arrive(t.Context(), t, w, "b", time.Minute, order)
		time.Sleep(time.Second)
		dead.Cut()
		died := time.Now()
		testenv.MustRelease(t, a, lease)
		if got := <-order; got != "b" {
			t.Errorf("granted to %s, want b", got)
		}
		if took := time.Since(died); took < mostSilence-retryDelay || took > mostSilence+2*retryDelay {
			t.Errorf("granted %v after the head died, want about %v", took, mostSilence)
		}
		time.Sleep(2 * time.Second)
		mustBeEmpty(t, w)
	})
}

// redisson/redisson#1104: waiters come and go for 20 s, and count no longer for it.
func TestDeadlinesDoNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		var waiters []impls.Lock
		for _, name := range []string{"b", "c", "d"} {
			waiters = append(waiters, testenv.MustLock(t, Version, w.Env(name), 500*time.Millisecond))
		}
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			for _, l := range waiters {
				go func() {
					if _, err := l.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
						t.Errorf("Acquire = %v, want ErrNotAcquired", err)
					}
				}()
			}
			time.Sleep(700 * time.Millisecond)
			w.Nodes[0].SetTTL(testenv.Key, ttl) // the holder keeps it
		}
		order := make(chan string, 1)
		now := time.Now()
		arrive(t.Context(), t, w, "e", time.Minute, order)
		time.Sleep(time.Second)
		scores, err := w.Nodes[0].SortedSet(testenv.Key + ":deadlines")
		if err != nil || len(scores) != 1 {
			t.Fatalf("the deadlines are %v, %v; want one", scores, err)
		}
		for waiter, at := range scores {
			if ahead := time.UnixMilli(int64(at)).Sub(now); ahead > mostSilence+time.Second {
				t.Errorf("%s counts until %v ahead", waiter, ahead)
			}
		}
		w.Drop()
		if got := <-order; got != "e" {
			t.Errorf("granted to %s, want e", got)
		}
		time.Sleep(2 * time.Second)
		mustBeEmpty(t, w)
	})
}

// All waiters die: their keys expire.
func TestQueueExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		env := w.Env("b")
		b := testenv.MustLock(t, Version, env, time.Minute)
		go func() { _, _ = b.Acquire(t.Context()) }()
		time.Sleep(time.Second)
		env.Cut()
		if got := len(queue(w)); got != 1 {
			t.Errorf("%d in the queue, want 1", got)
		}
		time.Sleep(mostSilence + time.Second)
		mustBeEmpty(t, w)
	})
}

// Half of the queue's keys is evicted: the order may be lost, the lock is not.
func TestEvictedQueue(t *testing.T) {
	for _, key := range []string{":queue", ":deadlines"} {
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				a := testenv.MustLock(t, Version, w.Env("a"), 0)
				lease := testenv.MustAcquire(t, a)
				order := make(chan string, 2)
				arrive(t.Context(), t, w, "b", time.Minute, order)
				arrive(t.Context(), t, w, "c", time.Minute, order)
				time.Sleep(time.Second)
				w.Nodes[0].Del(testenv.Key + key)
				time.Sleep(time.Second)
				testenv.MustRelease(t, a, lease)
				start := time.Now()
				got := take(order, 2)
				slices.Sort(got)
				if want := []string{"b", "c"}; !slices.Equal(got, want) {
					t.Errorf("granted to %v, want %v", got, want)
				}
				if took := time.Since(start); took > 1300*time.Millisecond {
					t.Errorf("both were granted after %v", took)
				}
				time.Sleep(2 * time.Second)
				mustBeEmpty(t, w)
			})
		})
	}
}

// A waiter of whom nobody knows until when it counts, counts no longer.
func TestWaiterWithoutADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		if _, err := w.Nodes[0].Push(testenv.Key+":queue", "b-1"); err != nil {
			t.Fatalf("Push: %v", err)
		}
		testenv.MustAcquire(t, testenv.MustLock(t, Version, w.Env("a"), 0))
		mustBeEmpty(t, w)
	})
}

// The answer is lost, and the same script comes again: it is the same grant.
func TestAScriptSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		keys := []string{testenv.Key, testenv.Key + ":queue", testenv.Key + ":deadlines"}
		for range 2 {
			n, err := acquireScript.Run(t.Context(), env.Redis(), keys, "a-1", ttl.Milliseconds(), mostSilence.Milliseconds()).Int()
			if err != nil || n != 1 {
				t.Errorf("the script says %d, %v; want a grant", n, err)
			}
		}
		mustBeEmpty(t, w)
	})
}

// The grant is not heard of: the waiter gives it back, and is in no queue.
func TestUnknownGrantIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := testenv.MustLock(t, Version, env, 0)
		ctx, cancel := context.WithCancel(t.Context())
		env.OnReply(func(_ context.Context, c testenv.Command) error {
			if c.Name != "eval" {
				return nil
			}
			env.Heal()
			cancel()
			return testenv.ErrCut
		})
		if _, err := a.Acquire(ctx); !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want the connection's error", err)
		}
		if got := w.Nodes[0].Keys(); len(got) != 0 {
			t.Errorf("%v are left", got)
		}
	})
}

func TestSilence(t *testing.T) {
	tests := []struct {
		name      string
		ttl, want time.Duration
	}{
		{"the documents' lease", 30 * time.Second, 5 * time.Second},
		{"never more than Redisson's", 5 * time.Minute, 5 * time.Second},
		{"a sixth of a short one", 12 * time.Second, 2 * time.Second},
		{"a living waiter asks in time", 100 * time.Millisecond, 300 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := silence(tt.ttl); got != tt.want {
				t.Errorf("silence(%v) = %v, want %v", tt.ttl, got, tt.want)
			}
		})
	}
}
