package sharedsubscription

import (
	"context"
	"errors"
	"strings"
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

// world is the holders of two locks, and the threads of one process.
type world struct {
	*testenv.World
	t       *testing.T
	process *impls.Process
	a, b    impls.Lock // of testenv.Key and other
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{World: testenv.MustOpen(t, 1), t: t, process: &impls.Process{}}
	w.a, w.b = w.lock(w.Env("a"), testenv.Key), w.lock(w.Env("b"), other)
	return w
}

func (w *world) lock(env *testenv.Env, key string) impls.Lock {
	w.t.Helper()
	l, err := Version.New(env, impls.Config{Key: key, TTL: ttl, Wait: time.Minute})
	if err != nil {
		w.t.Fatalf("New: %v", err)
	}
	w.t.Cleanup(func() { testenv.MustClose(w.t, l) })
	return l
}

// thread is a new thread's handle.
func (w *world) thread(name, key string) impls.Lock {
	w.t.Helper()
	return w.lock(w.Thread(w.process, name), key)
}

func (w *world) subscribers(key string) int {
	channel := key + ":released"
	return w.Nodes[0].PubSubNumSub(channel)[channel]
}

// grant is what a waiting Acquire ended with, and after how long.
type grant struct {
	lease impls.Lease
	err   error
	took  time.Duration
}

func acquire(ctx context.Context, l impls.Lock) <-chan grant {
	done := make(chan grant, 1)
	start := time.Now()
	go func() {
		lease, err := l.Acquire(ctx)
		done <- grant{lease, err, time.Since(start)}
	}()
	return done
}

func mustGrant(t *testing.T, done <-chan grant, within time.Duration) impls.Lease {
	t.Helper()
	g := <-done
	if g.err != nil || g.took > within {
		t.Fatalf("Acquire = %v after %v, want a lease within %v", g.err, g.took, within)
	}
	return g.lease
}

func mustTimeOut(t *testing.T, done <-chan grant) {
	t.Helper()
	g := <-done
	if !errors.Is(g.err, impls.ErrNotAcquired) || !strings.Contains(g.err.Error(), "subscribe timeout") {
		t.Errorf("Acquire = %v, want ErrNotAcquired and a subscribe timeout", g.err)
	}
	if g.took < patience || g.took > patience+10*time.Millisecond {
		t.Errorf("Acquire took %v, want %v", g.took, patience)
	}
}

// redisson/redisson#3577: two threads wait for two locks, and there is one channel.
// From then on no thread of the process can wait for anything, although nobody
// waits any more; what is free it gets.
func TestOneWaiterMoreThanChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		first, second := w.thread("c", testenv.Key), w.thread("d", other)
		a, b := testenv.MustAcquire(t, w.a), testenv.MustAcquire(t, w.b)
		one := acquire(t.Context(), first)
		time.Sleep(time.Second)
		mustTimeOut(t, acquire(t.Context(), second))

		testenv.MustRelease(t, w.a, a)
		lease := mustGrant(t, one, time.Second+patience+10*time.Millisecond)
		time.Sleep(time.Second)
		if got := w.subscribers(testenv.Key); got != 1 {
			t.Errorf("%d subscribers after the grant, want 1: it cannot unsubscribe", got)
		}
		testenv.MustRelease(t, first, lease)

		a = testenv.MustAcquire(t, w.a)
		mustTimeOut(t, acquire(t.Context(), first))
		mustTimeOut(t, acquire(t.Context(), second))
		testenv.MustRelease(t, w.a, a)
		testenv.MustRelease(t, w.b, b)
		testenv.MustRelease(t, second, testenv.MustAcquire(t, second))

		b = testenv.MustAcquire(t, w.b)
		stranger := acquire(t.Context(), w.lock(w.Env("e"), other))
		time.Sleep(time.Second)
		testenv.MustRelease(t, w.b, b)
		mustGrant(t, stranger, time.Second+10*time.Millisecond)
	})
}

// As many locks as channels, one after the other or by several threads at once,
// are no trouble.
func TestWaitersOfOneLockShareAChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		var waiters []impls.Lock
		var grants []<-chan grant
		for _, name := range []string{"c", "d", "e"} {
			l := w.thread(name, testenv.Key)
			waiters, grants = append(waiters, l), append(grants, acquire(t.Context(), l))
			time.Sleep(time.Second)
		}
		if got := w.subscribers(testenv.Key); got != 1 {
			t.Errorf("%d subscribers for three waiters, want 1", got)
		}
		testenv.MustRelease(t, w.a, lease)
		for range waiters {
			for i, done := range grants {
				select {
				case g := <-done:
					if g.err != nil {
						t.Fatalf("Acquire: %v", g.err)
					}
					testenv.MustRelease(t, waiters[i], g.lease)
				default:
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if got := w.subscribers(testenv.Key); got != 0 {
			t.Errorf("%d subscribers after the last grant", got)
		}
		lease = testenv.MustAcquire(t, w.b)
		done := acquire(t.Context(), w.thread("f", other))
		time.Sleep(time.Second)
		testenv.MustRelease(t, w.b, lease)
		mustGrant(t, done, time.Second+10*time.Millisecond)
	})
}

// Who joins a channel that stands looks again at once: the message may have come
// between its refusal and that.
func TestJoiningLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		testenv.MustAcquire(t, w.a)
		acquire(t.Context(), w.thread("c", testenv.Key))
		time.Sleep(time.Second)
		env := w.Thread(w.process, "d")
		env.OnReply(func(context.Context, testenv.Command) error {
			env.Heal()
			w.Drop()
			return nil
		})
		mustGrant(t, acquire(t.Context(), w.lock(env, testenv.Key)), 10*time.Millisecond)
		time.Sleep(2 * ttl) // the other waiter is granted the lock when this lease has ended
	})
}

// A waiter that is called off, or whose wait is over, leaves the channel to the next.
func TestGivingUpFreesTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		testenv.MustAcquire(t, w.a)
		lease := testenv.MustAcquire(t, w.b)
		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		if _, err := w.thread("c", testenv.Key).Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
		}
		done := acquire(t.Context(), w.thread("d", other))
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			if n := w.subscribers(testenv.Key) + w.subscribers(other); n > size {
				t.Errorf("%d subscriptions at once, and the pool has %d", n, size)
			}
		}
		testenv.MustRelease(t, w.b, lease)
		mustGrant(t, done, time.Second+10*time.Millisecond)
	})
}

// A wait that is shorter than the time-out of the subscription is not stretched.
func TestWaitIsOverBeforeTheSubscription(t *testing.T) {
	const wait = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		testenv.MustAcquire(t, w.a)
		testenv.MustAcquire(t, w.b)
		acquire(t.Context(), w.thread("c", testenv.Key))
		time.Sleep(time.Second)
		l, err := Version.New(w.Thread(w.process, "d"), impls.Config{Key: other, TTL: ttl, Wait: wait})
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		defer testenv.MustClose(t, l)
		start := time.Now()
		if _, err := l.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		if took := time.Since(start); took > wait+10*time.Millisecond {
			t.Errorf("Acquire took %v, want %v", took, wait)
		}
		time.Sleep(ttl) // until the other is granted the lock
	})
}

// The other threads wait on when one closes its lock.
func TestCloseOfOneLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		lease := testenv.MustAcquire(t, w.a)
		first, second := w.thread("c", testenv.Key), w.thread("d", other)
		testenv.MustClose(t, second)
		testenv.MustClose(t, second)
		done := acquire(t.Context(), first)
		time.Sleep(time.Second)
		testenv.MustRelease(t, w.a, lease)
		mustGrant(t, done, time.Second+10*time.Millisecond)
	})
}

// However the message is lost, the waiter finds the free lock by itself.
func TestFindsTheLockWithoutAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		testenv.MustAcquire(t, w.a)
		mustGrant(t, acquire(t.Context(), w.thread("c", testenv.Key)), ttl+10*time.Millisecond)
	})
}

// The last lock of the process takes the pool with it, jammed or not, and the next
// has a new one.
func TestCloseEndsThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		first, second := w.thread("c", testenv.Key), w.thread("d", other)
		testenv.MustAcquire(t, w.a)
		testenv.MustAcquire(t, w.b)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		one, two := acquire(ctx, first), acquire(ctx, second)
		<-one
		<-two
		for _, l := range []impls.Lock{first, first, second} {
			testenv.MustClose(t, l)
		}
		synctest.Wait()
		if n := w.subscribers(testenv.Key) + w.subscribers(other); n != 0 {
			t.Errorf("%d subscribers after Close", n)
		}
		time.Sleep(ttl)
		mustGrant(t, acquire(t.Context(), w.thread("c", testenv.Key)), time.Second)
		testenv.MustAcquire(t, w.b)
		time.Sleep(time.Second)
		mustGrant(t, acquire(t.Context(), w.thread("d", other)), ttl)
	})
}
