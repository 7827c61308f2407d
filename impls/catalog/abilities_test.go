package catalog_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/impls/internal/testenv"
)

func reentrant(t impls.Traits) bool { return t.Reentrant }
func shared(t impls.Traits) bool    { return t.Shared }
func fair(t impls.Traits) bool      { return t.Fair }
func fencing(t impls.Traits) bool   { return t.Fencing }
func notified(t impls.Traits) bool  { return t.Wait == impls.WaitNotify }

func mustRefuse(t *testing.T, l impls.Lock, why string) {
	t.Helper()
	if lease, err := l.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
		t.Errorf("Acquire = %+v, %v; want ErrNotAcquired: %s", lease, err, why)
	}
}

// A handle that acquires what it has gets it again if the version is re-entrant,
// and is refused like everybody otherwise.
func TestSecondAcquireOnOneHandle(t *testing.T) {
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		testenv.MustAcquire(t, w.a)
		if v.Traits.Reentrant || enters[v.Name] {
			testenv.MustAcquire(t, w.a)
		} else {
			mustRefuse(t, w.a, "the version is not re-entrant")
		}
	})
}

func TestNesting(t *testing.T) {
	const depth = 3
	eachWith(t, 0, reentrant, func(t *testing.T, _ impls.Version, w *world) {
		var leases []impls.Lease
		for range depth {
			leases = append(leases, testenv.MustAcquire(t, w.a))
		}
		for _, lease := range slices.Backward(leases) {
			mustRefuse(t, w.b, "the owner has not given it back as often as it was granted")
			testenv.MustRelease(t, w.a, lease)
		}
		if err := w.a.Release(t.Context(), leases[0]); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("one release more: %v, want ErrNotHeld", err)
		}
		testenv.MustRelease(t, w.b, testenv.MustAcquire(t, w.b))
	})
}

func TestSharedMode(t *testing.T) {
	for _, v := range catalog.All() {
		if v.Strategy != nil {
			continue
		}
		l := testenv.MustLock(t, v, testenv.MustOpen(t, 1).Env("a"), 0)
		if _, ok := l.(impls.SharedLocker); ok != v.Traits.Shared {
			t.Errorf("%s is a SharedLocker: %v, want %v", v.Name, ok, v.Traits.Shared)
		}
	}
	eachWith(t, 0, shared, func(t *testing.T, v impls.Version, w *world) {
		c := testenv.MustLock(t, v, w.Env("c"), 0)
		read := func(l impls.Lock) (impls.Lease, error) { return l.(impls.SharedLocker).AcquireShared(t.Context()) }
		one, err := read(w.a)
		other, err2 := read(w.b)
		if err != nil || err2 != nil {
			t.Fatalf("two readers: %v, %v", err, err2)
		}
		mustRefuse(t, c, "two read")
		testenv.MustRelease(t, w.a, one)
		mustRefuse(t, c, "one still reads")
		if err := w.a.Release(t.Context(), one); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("a second release of a reader: %v, want ErrNotHeld", err)
		}
		testenv.MustRelease(t, w.b, other)
		writer := testenv.MustAcquire(t, c)
		if lease, err := read(w.a); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("AcquireShared beside a writer = %+v, %v; want ErrNotAcquired", lease, err)
		}
		testenv.MustRelease(t, c, writer)
		if lease, err := read(w.a); err != nil {
			t.Errorf("AcquireShared after the writer: %v", err)
		} else {
			testenv.MustRelease(t, w.a, lease)
		}
	})
}

// Four wait, each of whom came a little after the one before; the second gives up.
func TestOrderOfArrival(t *testing.T) {
	eachWith(t, time.Minute, fair, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		waits := []time.Duration{time.Minute, time.Second, time.Minute, time.Minute}
		names := []string{"first", "second", "third", "fourth"}
		var mu sync.Mutex
		var granted []string
		var all sync.WaitGroup
		for i, name := range names {
			l := testenv.MustLock(t, v, w.Env(name), waits[i])
			all.Go(func() {
				got, err := l.Acquire(t.Context())
				if err != nil {
					return // the second
				}
				mu.Lock()
				granted = append(granted, name)
				mu.Unlock()
				time.Sleep(50 * time.Millisecond)
				testenv.MustRelease(t, l, got)
			})
			time.Sleep(37 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		testenv.MustRelease(t, w.a, lease)
		all.Wait()
		if want := []string{"first", "third", "fourth"}; !slices.Equal(granted, want) {
			t.Errorf("granted to %v, want %v", granted, want)
		}
	})
}

// Every fence is greater than the one before, whoever was granted the lock, and
// also after a grant that ran out and one that was refused.
func TestFencesGrow(t *testing.T) {
	eachWith(t, 0, fencing, func(t *testing.T, _ impls.Version, w *world) {
		var last uint64
		for i, l := range []impls.Lock{w.a, w.b, w.b, w.a, w.b} {
			lease := testenv.MustAcquire(t, l)
			if lease.Fence <= last {
				t.Errorf("grant %d has the fence %d after %d", i+1, lease.Fence, last)
			}
			last = lease.Fence
			mustRefuse(t, w.a, "it is taken")
			if i == 2 {
				time.Sleep(2 * ttl)
			} else {
				testenv.MustRelease(t, l, lease)
			}
		}
	})
}

// A waiter that is woken does not wait for its next look.
func TestWokenByTheRelease(t *testing.T) {
	eachWith(t, time.Minute, notified, func(t *testing.T, v impls.Version, w *world) {
		lease := testenv.MustAcquire(t, w.a)
		released := make(chan time.Time, 1)
		go func() {
			time.Sleep(time.Second)
			w.release(t, v, w.a, lease)
			released <- time.Now()
		}()
		next := testenv.MustAcquire(t, w.b)
		if late := time.Since(<-released); late > 5*time.Millisecond {
			t.Errorf("granted %v after the release", late)
		}
		w.release(t, v, w.b, next)
	})
}

// A version that locks several keys has all of them or none; every other leaves
// the further ones alone.
func TestSeveralKeys(t *testing.T) {
	further := []string{"lock:account:7", "lock:zone:1"}
	each(t, 0, func(t *testing.T, v impls.Version, w *world) {
		l, err := v.New(w.Env("both"), impls.Config{Key: testenv.Key, Also: further, TTL: ttl})
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		defer testenv.MustClose(t, l)
		stored := func() (n int) {
			for _, key := range further {
				for _, m := range w.Nodes {
					if m.Exists(key) {
						n++
					}
				}
			}
			return n
		}
		lease := testenv.MustAcquire(t, l)
		if !v.Traits.Multi {
			if n := stored(); n > 0 {
				t.Errorf("%d of the further keys are stored by a version that locks one", n)
			}
			return
		}
		for _, key := range further {
			if got, _ := w.Nodes[0].Get(key); got != lease.Owner {
				t.Errorf("%s is %q, want %q", key, got, lease.Owner)
			}
		}
		testenv.MustRelease(t, l, lease)
		if n := stored(); n > 0 || w.Value() != "" {
			t.Errorf("after the release %d further keys are left, and the lock's is %q", n, w.Value())
		}

		for _, taken := range append([]string{testenv.Key}, further...) {
			if err := w.Nodes[0].Set(taken, "somebody"); err != nil {
				t.Fatal(err)
			}
			mustRefuse(t, l, taken+" is taken")
			if keys := w.Nodes[0].Keys(); !slices.Equal(keys, []string{taken}) {
				t.Errorf("after the refusal there are %v, want only %s", keys, taken)
			}
			w.Nodes[0].Del(taken)
		}

		lease = testenv.MustAcquire(t, l)
		w.Nodes[0].Del(further[0])
		if err := l.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release with one key lost = %v, want ErrNotHeld", err)
		}
		if n := stored(); n > 0 || w.Value() != "" {
			t.Errorf("the release with one key lost leaves %d further keys and %q", n, w.Value())
		}
	})
}
