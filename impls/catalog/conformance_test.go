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
	"fragile-watchdog": true, "distlock": true, "unchecked-reply": true,
}

// throws lists the versions whose release panics when there is nothing to release,
// and raw those that say so by an error which is none of the contract's. Either is
// their mistake.
var (
	throws = map[string]bool{"throwing-release": true}
	raw    = map[string]bool{"raw-error": true}
)

// enters lists the versions that hand out a lease although they were refused, and
// anew those that prolong one that is gone. Either is their mistake.
var (
	enters = map[string]bool{"enters-anyway": true}
	anew   = map[string]bool{"unchecked-reply": true, "redsync-set-on-extend": true}
)

// reaps lists the versions that look for the locks of the dead all the while, and
// delete those of the living, which is their mistake.
var reaps = map[string]bool{"janitor": true}

// unreleased lists the versions whose release never finds the lock, which is
// their mistake.
var unreleased = map[string]bool{"mismatched-token": true, "swapped-args": true}

// claims lists the versions that say until when a lease lasts.
var claims = map[string]bool{
	"fenced": true, "multi": true, "redlock": true, "redlock-naive": true, "redlock-no-elapsed": true,
	"redlock-no-timeout": true, "redlock-own-release": true, "redlock-replicas": true, "redlock-fenced": true,
	"redlock-reachable": true, "redlock-drift-added": true, "redlock-first-try": true,
	"redsync": true, "redsync-set-on-extend": true, "unchecked-reply": true, "watchdog-leased": true,
}

// fixed lists the value that a version without unique ones stores.
var fixed = map[string]string{"setnx-del": "1", "setnx-expire": "1", "fixed-value": "locked"}

// world is two clients' handles on one lock.
type world struct {
	*testenv.World
	envA, envB *testenv.Env
	a, b       impls.Lock
}

// release gives a lease back. It does what the version ought to do when that never
// can.
func (w *world) release(t *testing.T, v impls.Version, l impls.Lock, lease impls.Lease) {
	t.Helper()
	err := l.Release(t.Context(), lease)
	if unreleased[v.Name] && errors.Is(err, impls.ErrNotHeld) {
		w.Drop()
	} else if err != nil {
		t.Errorf("Release: %v", err)
	}
}

// each runs a test for every lock, on one node and, for the quorum locks, on
// five.
func each(t *testing.T, wait time.Duration, test func(t *testing.T, v impls.Version, w *world)) {
	t.Helper()
	eachWith(t, wait, func(impls.Traits) bool { return true }, test)
}

// eachWith is each for the locks with certain traits.
func eachWith(t *testing.T, wait time.Duration, with func(impls.Traits) bool, test func(t *testing.T, v impls.Version, w *world)) {
	t.Helper()
	found := false
	for _, v := range catalog.All() {
		if v.Strategy != nil || !with(v.Traits) {
			continue
		}
		found = true
		nodes := 1
		if v.Traits.Quorum {
			nodes = 5
		}
		t.Run(v.Name, func(t *testing.T) {
			if v.Traits.Replicas {
				t.Skip("the nodes here have no replicas, so that this version is never granted the lock; its own tests answer its WAIT")
			}
			synctest.Test(t, func(t *testing.T) {
				w := &world{World: testenv.MustOpen(t, nodes)}
				w.envA, w.envB = w.Env("a"), w.Env("b")
				w.a = testenv.MustLock(t, v, w.envA, wait)
				w.b = testenv.MustLock(t, v, w.envB, wait)
				test(t, v, w)
			})
		})
	}
	if !found {
		t.Error("no version has these traits")
	}
}

func TestGrant(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		want := "a-1"
		if f, ok := fixed[v.Name]; ok {
			want = f
		} else if v.Name == "mismatched-token" {
			want = `"a-1"`
		}
		if got := w.Value(); got != want || lease.Owner != want {
			t.Errorf("the servers store %q, the lease says %q, want %q", got, lease.Owner, want)
		}
		if got, want := lease.Fence != 0, v.Traits.Fencing; got != want {
			t.Errorf("Fence = %d, want one: %v", lease.Fence, want)
		}
		if got, want := w.Nodes[0].TTL(testenv.Key) > 0, v.Traits.TTL != impls.TTLNone; got != want {
			t.Errorf("the key expires: %v, want %v", got, want)
		}
		if got, want := lease.Lost != nil, v.Name == "watchdog"; got != want {
			t.Errorf("the lease has a Lost channel: %v, want %v", got, want)
		}
		if got, want := !lease.Until.IsZero(), claims[v.Name]; got != want {
			t.Errorf("the lease has an Until: %v, want %v", got, want)
		}
		w.release(t, v, w.a, lease)
		if got := w.Value(); got != "" {
			t.Errorf("after the release the servers store %q", got)
		}
	})
}

func TestRefusalWithoutWait(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		held := testenv.MustAcquire(t, w.a)
		start := time.Now()
		lease, err := w.b.Acquire(t.Context())
		checkRefused(t, v, lease, err)
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("a single attempt took %v", took)
		}
		if _, ok := fixed[v.Name]; !ok && w.Value() != held.Owner {
			t.Errorf("after the refusal the servers store %q", w.Value())
		}
	})
}

// checkRefused judges what Acquire said of a lock that is taken.
func checkRefused(t *testing.T, v impls.Version, lease impls.Lease, err error) {
	t.Helper()
	if enters[v.Name] {
		if err != nil {
			t.Errorf("Acquire of a taken lock: %v; this version enters all the same", err)
		}
	} else if !errors.Is(err, impls.ErrNotAcquired) {
		t.Errorf("Acquire of a taken lock = %+v, %v; want ErrNotAcquired", lease, err)
	}
}

func TestRefusalAfterWait(t *testing.T) {
	const wait = 5 * time.Second
	each(t, wait, func(t *testing.T, v impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		start := time.Now()
		lease, err := w.b.Acquire(t.Context())
		checkRefused(t, v, lease, err)
		if took := time.Since(start); took < wait-300*time.Millisecond || took > wait+300*time.Millisecond {
			t.Errorf("gave up after %v, want about %v", took, wait)
		}
	})
}

func TestWaitThenGrant(t *testing.T) {
	each(t, time.Minute, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		released := make(chan time.Time, 1)
		go func() {
			time.Sleep(3 * time.Second)
			w.release(t, v, w.a, lease)
			released <- time.Now()
		}()
		next := testenv.MustAcquire(t, w.b)
		if late := time.Since(<-released); late > 300*time.Millisecond {
			t.Errorf("granted %v after the release", late)
		}
		w.release(t, v, w.b, next)
	})
}

// A lease that nobody renews or gives back runs out, and the next client is
// granted within the poll interval. That a version without expiry never gets
// there is its mistake, and so is that of one which only a message wakes. A reaper
// comes by in a lease's time.
func TestDeadHolder(t *testing.T) {
	each(t, time.Minute, func(t *testing.T, v impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		testenv.MustClose(t, w.a)
		start := time.Now()
		_, err := w.b.Acquire(t.Context())
		if v.Traits.TTL == impls.TTLNone && !reaps[v.Name] || v.Name == "notify-naive" {
			if !errors.Is(err, impls.ErrNotAcquired) {
				t.Errorf("Acquire = %v, want ErrNotAcquired: nothing ends the dead client's lock, or says so", err)
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
		w.release(t, v, w.a, first)
		second := testenv.MustAcquire(t, w.a)
		if v.Traits.Token == impls.TokenUnique && first.Owner == second.Owner {
			t.Errorf("both grants store %q", first.Owner)
		}
		w.release(t, v, w.a, second)
		if got := w.Value(); got != "" {
			t.Errorf("after the second release the servers store %q", got)
		}
	})
}

func TestSecondRelease(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		w.release(t, v, w.a, lease)
		err := releaseOfNothing(t, v, w.a, lease)
		if overlooks[v.Name] {
			if err != nil {
				t.Errorf("Release = %v, want nil: this version does not look", err)
			}
			return
		}
		if err == nil || errors.Is(err, impls.ErrNotHeld) == raw[v.Name] {
			t.Errorf("Release = %v, want ErrNotHeld: %v", err, !raw[v.Name])
		}
	})
}

// releaseOfNothing gives back what is not there any more. A version that ought to
// panic and does is taken to have said so.
func releaseOfNothing(t *testing.T, v impls.Version, l impls.Lock, lease impls.Lease) (err error) {
	t.Helper()
	if throws[v.Name] {
		defer func() {
			if recover() == nil {
				t.Errorf("Release = %v, want a panic: this version throws", err)
			}
			err = impls.ErrNotHeld
		}()
	}
	return l.Release(t.Context(), lease)
}

// The lease is taken away behind the holder's back and given to another.
func TestReleaseOfALostLease(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		w.Drop()
		testenv.MustAcquire(t, w.b)
		err := releaseOfNothing(t, v, w.a, lease)
		switch {
		case overlooks[v.Name]:
			if err != nil {
				t.Errorf("Release = %v, want nil: this version does not look", err)
			}
		case v.Traits.Token == impls.TokenFixed:
			if err != nil {
				t.Errorf("Release = %v, want nil: this version cannot tell", err)
			}
		case err == nil || errors.Is(err, impls.ErrNotHeld) == raw[v.Name]:
			t.Errorf("Release = %v, want ErrNotHeld: %v", err, !raw[v.Name])
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
		w.release(t, v, w.a, lease)
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
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		if reaps[v.Name] {
			t.Skip("it looks for the locks of the dead between two of its own")
		}
		lease := testenv.MustAcquire(t, w.a)
		time.Sleep(ttl / 2)
		w.release(t, v, w.a, lease)
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
		kept := v.Traits.Renew != impls.RenewNone || v.Traits.TTL == impls.TTLNone && !reaps[v.Name]
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
		if anew[v.Name] {
			if again, err := ext.Extend(t.Context(), longer); err != nil || again.Until.Before(longer.Until) {
				t.Errorf("Extend of an expired lease = %+v, %v; this version says yes", again, err)
			}
			return
		}
		if _, err := ext.Extend(t.Context(), longer); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Extend of an expired lease = %v, want ErrNotHeld", err)
		}
		if err := w.a.Release(t.Context(), longer); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release of an expired lease = %v, want ErrNotHeld", err)
		}
	})
}
