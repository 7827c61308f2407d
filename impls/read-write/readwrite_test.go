package readwrite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

// client is a handle with a lease of its own length.
func client(t *testing.T, w *testenv.World, name string, ttl time.Duration) *lock {
	t.Helper()
	l, err := newLock(w.Env(name), impls.Config{Key: testenv.Key, TTL: ttl})
	if err != nil {
		t.Fatalf("newLock: %v", err)
	}
	return l.(*lock)
}

func take(t *testing.T, l *lock, mode string) (impls.Lease, bool) {
	t.Helper()
	lease, err := l.acquire(t.Context(), mode)
	if err != nil && !errors.Is(err, impls.ErrNotAcquired) {
		t.Fatalf("acquire to %s: %v", mode, err)
	}
	return lease, err == nil
}

func TestModes(t *testing.T) {
	tests := []struct {
		held, wanted string
		granted      bool
	}{
		{read, read, true},
		{read, write, false},
		{write, read, false},
		{write, write, false},
	}
	for _, tt := range tests {
		for _, who := range []string{"a", "b"} {
			t.Run(fmt.Sprintf("%s beside %s of a, by %s", tt.wanted, tt.held, who), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := testenv.MustOpen(t, 1)
					a := client(t, w, "a", ttl)
					l := a
					if who != "a" {
						l = client(t, w, who, ttl)
					}
					lease, _ := take(t, a, tt.held)
					if _, got := take(t, l, tt.wanted); got != tt.granted {
						t.Errorf("granted: %v, want %v", got, tt.granted)
					}
					if !tt.granted {
						testenv.MustRelease(t, a, lease)
						if _, got := take(t, l, tt.wanted); !got {
							t.Error("not granted after the release")
						}
					}
				})
			})
		}
	}
}

// What the server stores is owner and mode, so that its record names the holders.
func TestStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a, b := client(t, w, "a", ttl), client(t, w, "b", ttl)
		first, _ := take(t, a, read)
		second, _ := take(t, b, read)
		owners, err := w.Nodes[0].HKeys(testenv.Key)
		if want := []string{first.Owner, second.Owner}; err != nil || !slices.Equal(owners, want) {
			t.Errorf("the fields are %v, %v; want %v", owners, err, want)
		}
		if got := w.Nodes[0].HGet(testenv.Key, first.Owner); !strings.HasPrefix(got, "read:") {
			t.Errorf("A's hold is stored as %q", got)
		}
		testenv.MustRelease(t, a, first)
		testenv.MustRelease(t, b, second)
		if got := w.Nodes[0].Keys(); len(got) != 0 {
			t.Errorf("%v are left", got)
		}
	})
}

// redisson/redisson#2144: a reader with a short lease comes later and dies. The
// other one's lease is as long as it was.
func TestShortLeaseEndsNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		start := time.Now()
		long, _ := take(t, client(t, w, "long", 5*time.Second), read)
		time.Sleep(500 * time.Millisecond)
		short, _ := take(t, client(t, w, "short", time.Second), read)
		writer := client(t, w, "writer", ttl)
		for {
			if _, ok := take(t, writer, write); ok {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(start); took < 5*time.Second || took > 5*time.Second+20*time.Millisecond {
			t.Errorf("the writer entered after %v, want 5s", took)
		}
		for _, lease := range []impls.Lease{long, short} {
			if err := writer.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
				t.Errorf("Release of %q = %v, want ErrNotHeld", lease.Owner, err)
			}
		}
	})
}

// The longest lease is given back: the key lives as long as those that are left.
func TestKeyLivesAsLongAsTheLongestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		mustLive := func(doing string, want time.Duration) {
			t.Helper()
			if got := w.Nodes[0].TTL(testenv.Key); got > want || got < want-10*time.Millisecond {
				t.Errorf("%s the key lives for %v, want %v", doing, got, want)
			}
		}
		short := client(t, w, "short", 10*time.Second)
		first, _ := take(t, short, read)
		mustLive("with one reader", 10*time.Second)
		long := client(t, w, "long", ttl)
		second, _ := take(t, long, read)
		mustLive("with two readers", ttl)
		testenv.MustRelease(t, long, second)
		mustLive("with the first again", 10*time.Second)
		testenv.MustRelease(t, short, first)
	})
}

// A hold that ran out while others keep the key is nobody's: its release says so.
func TestReleaseOfAHoldThatRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		short := client(t, w, "short", time.Second)
		lease, _ := take(t, short, read)
		long := client(t, w, "long", ttl)
		other, _ := take(t, long, read)
		time.Sleep(2 * time.Second)
		if err := short.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		testenv.MustRelease(t, long, other)
	})
}

// While others keep the key, it does not grow with the holds that ran out.
func TestHoldsThatRanOutAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		short, long := client(t, w, "short", time.Second), client(t, w, "long", ttl)
		take(t, long, read)
		for range 5 {
			take(t, short, read)
			time.Sleep(2 * time.Second)
		}
		take(t, long, read)
		owners, err := w.Nodes[0].HKeys(testenv.Key)
		if want := []string{"long-1", "long-2"}; err != nil || !slices.Equal(owners, want) {
			t.Errorf("the fields are %v, %v; want %v", owners, err, want)
		}
	})
}

// Against a model: any order of grants, releases, and leases that run out.
func TestModel(t *testing.T) {
	type hold struct {
		lock  *lock
		lease impls.Lease
		mode  string
		until time.Time
	}
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			w := testenv.MustOpen(t, 1)
			dice := rand.New(rand.NewPCG(seed, 0))
			locks := []*lock{
				client(t, w, "a", time.Second), client(t, w, "b", 5*time.Second), client(t, w, "c", 10*time.Second),
			}
			var holds []hold
			for range 100 {
				time.Sleep(time.Duration(dice.IntN(900)) * time.Millisecond)
				if len(holds) > 0 && dice.IntN(3) == 0 {
					i := dice.IntN(len(holds))
					h := holds[i]
					holds = slices.Delete(holds, i, i+1)
					held := time.Now().Add(time.Millisecond).Before(h.until)
					switch err := h.lock.Release(t.Context(), h.lease); {
					case held && err != nil:
						t.Fatalf("seed %d: Release of %q = %v", seed, h.lease.Owner, err)
					case !held && !errors.Is(err, impls.ErrNotHeld) && time.Since(h.until) > 2*time.Millisecond:
						t.Fatalf("seed %d: Release of %q = %v, want ErrNotHeld", seed, h.lease.Owner, err)
					}
					continue
				}
				l := locks[dice.IntN(len(locks))]
				mode := read
				if dice.IntN(4) == 0 {
					mode = write
				}
				sent := time.Now()
				free, atTheEnd := true, false
				for _, h := range holds {
					if h.mode == read && mode == read {
						continue
					}
					if left := h.until.Sub(sent); left > 5*time.Millisecond {
						free = false
					} else if left > -5*time.Millisecond {
						atTheEnd = true
					}
				}
				lease, granted := take(t, l, mode)
				if granted != free && !atTheEnd {
					t.Fatalf("seed %d: %s granted: %v, want %v", seed, mode, granted, free)
				}
				if granted {
					holds = append(holds, hold{l, lease, mode, sent.Add(l.cfg.TTL)})
				}
			}
		})
	}
}

// The same script comes again: it is the same grant.
func TestAScriptSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		for range 2 {
			n, err := acquireScript.Run(t.Context(), env.Redis(), []string{testenv.Key}, "a-1", write, ttl.Milliseconds()).Int()
			if err != nil || n != 1 {
				t.Errorf("the script says %d, %v; want a grant", n, err)
			}
		}
	})
}

// Readers that overlap keep the writer out for as long as they come.
func TestReadersStarveAWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		a, b := client(t, w, "a", ttl), client(t, w, "b", ttl)
		writer, err := newLock(w.Env("writer"), impls.Config{Key: testenv.Key, TTL: ttl, Wait: time.Minute})
		if err != nil {
			t.Fatalf("newLock: %v", err)
		}
		refused := make(chan error, 1)
		go func() {
			time.Sleep(time.Second)
			_, err := writer.Acquire(t.Context())
			refused <- err
		}()
		lease, _ := take(t, a, read)
		for range 10 {
			time.Sleep(5 * time.Second)
			other, _ := take(t, b, read)
			testenv.MustRelease(t, a, lease)
			time.Sleep(5 * time.Second)
			lease, _ = take(t, a, read)
			testenv.MustRelease(t, b, other)
		}
		if err := <-refused; !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("the writer's Acquire = %v, want ErrNotAcquired", err)
		}
	})
}
