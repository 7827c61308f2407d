package catalog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

// overlooks lists the versions whose release does not look at the server's
// answer, which is their documents' mistake.
var overlooks = map[string]bool{
	"setnx-del": true, "setnx-expire": true, "setnx-ex": true, "get-del": true,
	"fragile-watchdog": true, "distlock": true,
}

// fixed lists the value that a version without unique ones stores.
var fixed = map[string]string{"setnx-del": "1", "setnx-expire": "1", "fixed-value": "locked"}

// world is two clients' handles on one lock.
type world struct {
	*testenv.World
	envA, envB *testenv.Env
	a, b       impls.Lock
}

// each runs a test for every version, on one node and, for the quorum locks, on
// five.
func each(t *testing.T, wait time.Duration, test func(t *testing.T, v impls.Version, w *world)) {
	t.Helper()
	for _, v := range catalog.All() {
		nodes := 1
		if v.Traits.Quorum {
			nodes = 5
		}
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{World: testenv.MustOpen(t, nodes)}
				w.envA, w.envB = w.Env("a"), w.Env("b")
				w.a = testenv.MustLock(t, v, w.envA, wait)
				w.b = testenv.MustLock(t, v, w.envB, wait)
				test(t, v, w)
			})
		})
	}
}

func TestGrant(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		want := "a-1"
		if f, ok := fixed[v.Name]; ok {
			want = f
		}
		if got := w.Value(); got != want || lease.Owner != want {
			t.Errorf("the servers store %q, the lease says %q, want %q", got, lease.Owner, want)
		}
		if lease.Fence != 0 {
			t.Errorf("Fence = %d from a version without fencing", lease.Fence)
		}
		if got, want := w.Nodes[0].TTL(testenv.Key) > 0, v.Traits.TTL != impls.TTLNone; got != want {
			t.Errorf("the key expires: %v, want %v", got, want)
		}
		if got, want := lease.Lost != nil, v.Name == "watchdog"; got != want {
			t.Errorf("the lease has a Lost channel: %v, want %v", got, want)
		}
		if got, want := !lease.Until.IsZero(), v.Name == "redsync"; got != want {
			t.Errorf("the lease has an Until: %v, want %v", got, want)
		}
		testenv.MustRelease(t, w.a, lease)
		if got := w.Value(); got != "" {
			t.Errorf("after the release the servers store %q", got)
		}
	})
}

func TestRefusalWithoutWait(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		start := time.Now()
		lease, err := w.b.Acquire(t.Context())
		if !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire of a taken lock = %+v, %v; want ErrNotAcquired", lease, err)
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("a single attempt took %v", took)
		}
		if _, ok := fixed[v.Name]; !ok && w.Value() != "a-1" {
			t.Errorf("after the refusal the servers store %q", w.Value())
		}
	})
}

func TestRefusalAfterWait(t *testing.T) {
	const wait = 5 * time.Second
	each(t, wait, func(t *testing.T, _ impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		start := time.Now()
		if _, err := w.b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		if took := time.Since(start); took < wait-300*time.Millisecond || took > wait+300*time.Millisecond {
			t.Errorf("gave up after %v, want about %v", took, wait)
		}
	})
}

func TestWaitThenGrant(t *testing.T) {
	each(t, time.Minute, func(t *testing.T, _ impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		released := make(chan time.Time, 1)
		go func() {
			time.Sleep(3 * time.Second)
			if err := w.a.Release(t.Context(), lease); err != nil {
				t.Errorf("Release: %v", err)
			}
			released <- time.Now()
		}()
		next := testenv.MustAcquire(t, w.b)
		if late := time.Since(<-released); late > 300*time.Millisecond {
			t.Errorf("granted %v after the release", late)
		}
		testenv.MustRelease(t, w.b, next)
	})
}

// A lease that nobody renews or gives back runs out, and the next client is
// granted within the poll interval. That a version without expiry never gets
// there is its mistake.
func TestDeadHolder(t *testing.T) {
	each(t, time.Minute, func(t *testing.T, v impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		testenv.MustClose(t, w.a)
		start := time.Now()
		_, err := w.b.Acquire(t.Context())
		if v.Traits.TTL == impls.TTLNone {
			if !errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("Acquire = %v, want ErrNotAcquired: nothing ends the dead client's lock", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("Acquire: %v", err)
		}
		if took := time.Since(start); took < ttl-time.Second || took > ttl+time.Second {
			t.Errorf("granted after %v, want about %v", took, ttl)
		}
	})
}

func TestRoundsOnOneHandle(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		first := testenv.MustAcquire(t, w.a)
		testenv.MustRelease(t, w.a, first)
		second := testenv.MustAcquire(t, w.a)
		if _, ok := fixed[v.Name]; !ok && first.Owner == second.Owner {
			t.Errorf("both grants store %q", first.Owner)
		}
		testenv.MustRelease(t, w.a, second)
		if got := w.Value(); got != "" {
			t.Errorf("after the second release the servers store %q", got)
		}
	})
}

func TestSecondRelease(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		testenv.MustRelease(t, w.a, lease)
		err := w.a.Release(t.Context(), lease)
		if overlooks[v.Name] {
			if err != nil {
				t.Errorf("Release = %v, want nil: this version does not look", err)
			}
			return
		}
		if !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
	})
}

// The lease is taken away behind the holder's back and given to another.
func TestReleaseOfALostLease(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		w.Drop()
		testenv.MustAcquire(t, w.b)
		err := w.a.Release(t.Context(), lease)
		switch {
		case overlooks[v.Name]:
			if err != nil {
				t.Errorf("Release = %v, want nil: this version does not look", err)
			}
		case v.Traits.Token == impls.TokenFixed:
			if err != nil {
				t.Errorf("Release = %v, want nil: this version cannot tell", err)
			}
		case !errors.Is(err, impls.ErrNotHeld):
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		deletes := v.Traits.Release == impls.ReleaseBlind || v.Traits.Token == impls.TokenFixed
		if got := w.Value() == ""; got != deletes {
			t.Errorf("the other's lock is gone: %v, want %v", got, deletes)
		}
	})
}

// The servers grant, and the client never hears of it.
func TestLostReplyOfTheGrant(t *testing.T) {
	each(t, 5*time.Second, func(t *testing.T, _ impls.Version, w *world) {
		w.envA.OnReply(func(_ context.Context, c testenv.Command) error {
			if w.Nodes[c.Node].Exists(testenv.Key) {
				return testenv.ErrCut
			}
			return nil
		})
		lease, err := w.a.Acquire(t.Context())
		if err == nil || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %+v, %v; want an error that leaves the outcome open", lease, err)
		}
	})
}

func TestCutOffRelease(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		w.envA.Cut()
		err := w.a.Release(t.Context(), lease)
		if err == nil || errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want an error that leaves the outcome open", err)
		}
		w.envA.Heal()
		testenv.MustRelease(t, w.a, lease)
		if got := w.Value(); got != "" {
			t.Errorf("after the second try the servers store %q", got)
		}
	})
}

func TestContextEndsWhileWaiting(t *testing.T) {
	each(t, time.Minute, func(t *testing.T, _ impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second+33*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := w.b.Acquire(ctx)
		if !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
		}
		if took := time.Since(start); took > 2200*time.Millisecond {
			t.Errorf("Acquire returned after %v", took)
		}
	})
}

func TestClose(t *testing.T) {
	each(t, 0, func(t *testing.T, _ impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		start := time.Now()
		testenv.MustClose(t, w.a)
		testenv.MustClose(t, w.a)
		if took := time.Since(start); took > 0 {
			t.Errorf("Close of an idle lock took %v", took)
		}
		if got := w.Value(); got != lease.Owner {
			t.Errorf("Close changed what the servers store to %q", got)
		}
		sent := len(w.envA.Sent())
		time.Sleep(5 * ttl)
		if got := len(w.envA.Sent()); got != sent {
			t.Errorf("%d commands after Close", got-sent)
		}
	})
}

// Nothing is sent between a release and the next acquire.
func TestQuietAfterRelease(t *testing.T) {
	each(t, 0, func(t *testing.T, _ impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		time.Sleep(ttl / 2)
		testenv.MustRelease(t, w.a, lease)
		sent := len(w.envA.Sent())
		time.Sleep(5 * ttl)
		if got := len(w.envA.Sent()); got != sent {
			t.Errorf("%d commands after the release", got-sent)
		}
	})
}

func TestRenewal(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		time.Sleep(4 * ttl)
		kept := v.Traits.Renew != impls.RenewNone || v.Traits.TTL == impls.TTLNone
		if got := w.Value() == lease.Owner; got != kept {
			t.Errorf("held after four times the TTL: %v, want %v", got, kept)
		}
	})
}

func TestExtend(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		ext, ok := w.a.(impls.Extender)
		if want := v.Traits.Extend; ok != want {
			t.Fatalf("is an Extender: %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		lease := testenv.MustAcquire(t, w.a)
		time.Sleep(ttl * 2 / 3)
		longer, err := ext.Extend(t.Context(), lease)
		if err != nil {
			t.Fatalf("Extend: %v", err)
		}
		if longer.Owner != lease.Owner || longer.Until.Before(lease.Until) {
			t.Errorf("Extend turned %+v into %+v", lease, longer)
		}
		time.Sleep(ttl * 2 / 3)
		if got := w.Value(); got != lease.Owner {
			t.Errorf("after the extension the servers store %q, want %q", got, lease.Owner)
		}

		w.envA.Cut()
		if _, err := ext.Extend(t.Context(), longer); err == nil || errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Extend while cut off = %v, want an error that leaves the outcome open", err)
		}
		w.envA.Heal()
		time.Sleep(ttl)
		if _, err := ext.Extend(t.Context(), longer); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Extend of an expired lease = %v, want ErrNotHeld", err)
		}
		if err := w.a.Release(t.Context(), longer); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release of an expired lease = %v, want ErrNotHeld", err)
		}
	})
}
