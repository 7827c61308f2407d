package multi

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

// The keys, in the order in which they are taken.
var keys = []string{"lock:a", "lock:b", "lock:c"}

func open(t *testing.T, env impls.Env, wait time.Duration) impls.Lock {
	t.Helper()
	l, err := newLock(env, impls.Config{Key: "lock:b", Also: []string{"lock:c", "lock:a"}, TTL: ttl, Wait: wait})
	if err != nil {
		t.Fatalf("newLock: %v", err)
	}
	return l
}

// mustStore compares what the server stores under the keys, in their order.
func mustStore(t *testing.T, w *testenv.World, want ...string) {
	t.Helper()
	var got []string
	for _, key := range keys {
		value := ""
		if w.Nodes[0].Exists(key) {
			value, _ = w.Nodes[0].Get(key)
		}
		got = append(got, value)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the server stores %q, want %q", got, want)
	}
}

// takenKey is the key that a SET asks for.
func takenKey(c testenv.Command) string {
	if c.Name != "set" {
		return ""
	}
	return c.Args()[0]
}

func TestAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		a := open(t, env, 0)
		sent := time.Now()
		lease := testenv.MustAcquire(t, a)
		mustStore(t, w, "a-1", "a-1", "a-1")
		if want := sent.Add(ttl - impls.Precision); !lease.Until.Equal(want) {
			t.Errorf("Until is %v after the first key was asked for, want %v", lease.Until.Sub(sent), ttl-impls.Precision)
		}
		var order []string
		for _, c := range env.Sent() {
			order = append(order, takenKey(c))
		}
		if !slices.Equal(order, keys) {
			t.Errorf("taken in the order %v, want %v", order, keys)
		}
		testenv.MustRelease(t, a, lease)
		mustStore(t, w, "", "", "")
	})
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name string
		also []string
		ok   bool
	}{
		{"one key", nil, true},
		{"two keys", []string{"l"}, true},
		{"the key again", []string{"k"}, false},
		{"one of the others twice", []string{"l", "m", "l"}, false},
		{"an empty one", []string{""}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := testenv.MustOpen(t, 1).Env("a")
				if _, err := newLock(env, impls.Config{Key: "k", Also: tt.also, TTL: ttl}); (err == nil) != tt.ok {
					t.Errorf("newLock: %v, want ok: %v", err, tt.ok)
				}
			})
		})
	}
}

// Whichever key is taken, the ones before it are given back.
func TestRefusal(t *testing.T) {
	for _, taken := range keys {
		t.Run(taken, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				if err := w.Nodes[0].Set(taken, "other"); err != nil {
					t.Fatalf("Set: %v", err)
				}
				want := []string{"", "", ""}
				want[slices.Index(keys, taken)] = "other"
				a := open(t, w.Env("a"), 0)
				if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("Acquire = %v, want ErrNotAcquired", err)
				}
				mustStore(t, w, want...)
			})
		})
	}
}

// It waits for the last key, and then has all.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		if err := w.Nodes[0].Set("lock:c", "other"); err != nil {
			t.Fatalf("Set: %v", err)
		}
		time.AfterFunc(5*time.Second, func() { w.Nodes[0].Del("lock:c") })
		start := time.Now()
		lease := testenv.MustAcquire(t, open(t, w.Env("a"), time.Minute))
		if took := time.Since(start); took > 5*time.Second+200*time.Millisecond {
			t.Errorf("granted after %v", took)
		}
		mustStore(t, w, "a-1", "a-1", "a-1")
		if left := time.Until(lease.Until); left < ttl-100*time.Millisecond {
			t.Errorf("the lease has %v left: it is not that of the last try", left)
		}
	})
}

// Sorted order: the two want the same keys, named in different orders, and both
// get them.
func TestNoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.MustOpen(t, 1)
		done := make(chan error, 2)
		for i, config := range []impls.Config{
			{Key: "lock:a", Also: []string{"lock:b"}, TTL: ttl, Wait: 10 * time.Second},
			{Key: "lock:b", Also: []string{"lock:a"}, TTL: ttl, Wait: 10 * time.Second},
		} {
			l, err := newLock(env.Env(fmt.Sprint("c", i)), config)
			if err != nil {
				t.Fatalf("newLock: %v", err)
			}
			go func() {
				for range 20 {
					lease, err := l.Acquire(t.Context())
					if err == nil {
						err = l.Release(t.Context(), lease)
					}
					if err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// redisson/redisson#4456: cancelled when the n-th key has been asked for. What was taken
// is given back.
func TestCancelled(t *testing.T) {
	for i, key := range keys {
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				env := w.Env("a")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				env.OnReply(func(_ context.Context, c testenv.Command) error {
					if takenKey(c) == key {
						cancel()
					}
					return nil
				})
				lease, err := open(t, env, time.Minute).Acquire(ctx)
				if i == len(keys)-1 { // it had all by then
					if err != nil {
						t.Errorf("Acquire: %v", err)
					}
					mustStore(t, w, lease.Owner, lease.Owner, lease.Owner)
					return
				}
				if !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
					t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
				}
				mustStore(t, w, "", "", "")
			})
		})
	}
}

// The n-th key fails, before or after the server has granted it, and the context ends
// with it. Nothing stays behind, and the outcome is open.
func TestFailed(t *testing.T) {
	for _, applied := range []bool{false, true} {
		for _, key := range keys {
			t.Run(fmt.Sprintf("%s, applied: %v", key, applied), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := testenv.MustOpen(t, 1)
					env := w.Env("a")
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					fail := func(_ context.Context, c testenv.Command) error {
						if takenKey(c) != key {
							return nil
						}
						cancel()
						return testenv.ErrCut
					}
					if applied {
						env.OnReply(fail)
					} else {
						env.OnRequest(fail)
					}
					_, err := open(t, env, time.Minute).Acquire(ctx)
					if !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotAcquired) {
						t.Errorf("Acquire = %v, want the connection's error", err)
					}
					mustStore(t, w, "", "", "")
				})
			})
		}
	}
}

// What was taken cannot be given back: that is no refusal.
func TestGivingBackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		if err := w.Nodes[0].Set("lock:b", "other"); err != nil {
			t.Fatalf("Set: %v", err)
		}
		env := w.Env("a")
		env.OnRequest(func(_ context.Context, c testenv.Command) error {
			if c.Script() {
				return testenv.ErrCut
			}
			return nil
		})
		_, err := open(t, env, time.Minute).Acquire(t.Context())
		if !errors.Is(err, testenv.ErrCut) || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want the connection's error", err)
		}
	})
}

// The last answer comes when the first key has expired: there was no moment for
// which all were promised.
func TestTakingTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 1)
		env := w.Env("a")
		env.OnReply(func(_ context.Context, c testenv.Command) error {
			if takenKey(c) == "lock:b" {
				time.Sleep(ttl)
			}
			return nil
		})
		if _, err := open(t, env, 0).Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		mustStore(t, w, "", "", "")
	})
}

func TestRelease(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(w *testenv.World, env *testenv.Env)
		want  error
		left  []string
	}{
		{"all are there", func(*testenv.World, *testenv.Env) {}, nil, []string{"", "", ""}},
		{"one is gone", func(w *testenv.World, _ *testenv.Env) { w.Nodes[0].Del("lock:b") }, impls.ErrNotHeld, []string{"", "", ""}},
		{"one is another's", func(w *testenv.World, _ *testenv.Env) { _ = w.Nodes[0].Set("lock:a", "other") }, impls.ErrNotHeld, []string{"other", "", ""}},
		{"one is not heard of", func(_ *testenv.World, env *testenv.Env) {
			env.OnRequest(func(_ context.Context, c testenv.Command) error {
				if c.Args()[2] == "lock:b" {
					return testenv.ErrCut
				}
				return nil
			})
		}, testenv.ErrCut, []string{"", "a-1", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				env := w.Env("a")
				a := open(t, env, 0)
				lease := testenv.MustAcquire(t, a)
				tt.spoil(w, env)
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // it is given back all the same
				if err := a.Release(ctx, lease); !errors.Is(err, tt.want) {
					t.Errorf("Release = %v, want %v", err, tt.want)
				}
				mustStore(t, w, tt.left...)
			})
		})
	}
}
