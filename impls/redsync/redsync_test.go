package redsync

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const ttl = testenv.TTL

// cutNodes fails commands to the given nodes before or after they are applied.
func cutNodes(when func(func(context.Context, testenv.Command) error), nodes ...int) {
	when(func(_ context.Context, c testenv.Command) error {
		for _, n := range nodes {
			if c.Node == n {
				return testenv.ErrCut
			}
		}
		return nil
	})
}

func TestAcquire(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(w *testenv.World, env *testenv.Env)
		granted bool
		refused bool // ErrNotAcquired; else the outcome is unknown
	}{
		{"a minority is down", func(_ *testenv.World, env *testenv.Env) {
			cutNodes(env.OnRequest, 0, 1)
		}, true, false},
		{"a majority is down", func(_ *testenv.World, env *testenv.Env) {
			cutNodes(env.OnRequest, 0, 1, 2)
		}, false, false},
		{"taken everywhere", func(w *testenv.World, _ *testenv.Env) {
			take(w, 0, 1, 2, 3, 4)
		}, false, true},
		{"taken by a majority, the rest cleaned up", func(w *testenv.World, _ *testenv.Env) {
			take(w, 0, 1, 2)
		}, false, true},
		{"taken by a majority, the rest silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1, 2)
			cutNodes(env.OnReply, 3, 4)
		}, false, true},
		{"taken by two, the rest silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1)
			cutNodes(env.OnReply, 2, 3, 4)
		}, false, false},
		{"taken by two, one silent, but its grant was removed", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1)
			env.OnReply(func(_ context.Context, c testenv.Command) error {
				if c.Name == "set" && c.Node >= 2 {
					return testenv.ErrCut
				}
				return nil
			})
		}, false, true},
		{"free, but answers come after the lease", func(_ *testenv.World, env *testenv.Env) {
			env.OnReply(func(_ context.Context, c testenv.Command) error {
				if c.Name == "set" && c.Node == 4 {
					time.Sleep(ttl + time.Second)
				}
				return nil
			})
		}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 5)
				env := w.Env("a")
				a := testenv.MustLock(t, Version, env, 0)
				tt.prepare(w, env)
				_, err := a.Acquire(t.Context())
				if (err == nil) != tt.granted || errors.Is(err, impls.ErrNotAcquired) != tt.refused {
					t.Errorf("Acquire = %v, want granted: %v, ErrNotAcquired: %v", err, tt.granted, tt.refused)
				}
			})
		})
	}
}

// take stores another's value on the nodes.
func take(w *testenv.World, nodes ...int) {
	for _, n := range nodes {
		_ = w.Nodes[n].Set(testenv.Key, "another's") // fails only for a key of another type
	}
}

func TestReleaseAndExtend(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(w *testenv.World, env *testenv.Env)
		want    string // ok, not held, unknown
	}{
		{"a minority is silent", func(_ *testenv.World, env *testenv.Env) {
			cutNodes(env.OnRequest, 0, 1)
		}, "ok"},
		{"a majority is silent", func(_ *testenv.World, env *testenv.Env) {
			cutNodes(env.OnRequest, 0, 1, 2)
		}, "unknown"},
		{"gone from a minority", func(w *testenv.World, _ *testenv.Env) {
			w.Nodes[0].Del(testenv.Key)
			take(w, 1)
		}, "ok"},
		{"gone from a majority", func(w *testenv.World, _ *testenv.Env) {
			w.Nodes[0].Del(testenv.Key)
			take(w, 1, 2)
		}, "not held"},
		{"gone from two, one silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1)
			cutNodes(env.OnRequest, 2)
		}, "unknown"},
		{"gone from three, two silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1, 2)
			cutNodes(env.OnRequest, 3, 4)
		}, "not held"},
	}
	calls := map[string]func(context.Context, impls.Lock, impls.Lease) error{
		"release": func(ctx context.Context, l impls.Lock, lease impls.Lease) error {
			return l.Release(ctx, lease)
		},
		"extend": func(ctx context.Context, l impls.Lock, lease impls.Lease) error {
			_, err := l.(impls.Extender).Extend(ctx, lease)
			return err
		},
	}
	for _, tt := range tests {
		for name, call := range calls {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := testenv.MustOpen(t, 5)
					env := w.Env("a")
					a := testenv.MustLock(t, Version, env, 0)
					lease := testenv.MustAcquire(t, a)
					tt.prepare(w, env)
					err := call(t.Context(), a, lease)
					got := "unknown"
					switch {
					case err == nil:
						got = "ok"
					case errors.Is(err, impls.ErrNotHeld):
						got = "not held"
					}
					if got != tt.want {
						t.Errorf("%s: %v, which is %s; want %s", name, err, got, tt.want)
					}
				})
			})
		}
	}
}

// Until is counted from before the nodes were asked, less 1 % for their clocks.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 5)
		a := testenv.MustLock(t, Version, w.Env("a"), 0)
		asked := time.Now()
		lease := testenv.MustAcquire(t, a)
		if got, want := lease.Until.Sub(asked), ttl-ttl/100; got != want {
			t.Errorf("Until is %v after the call, want %v", got, want)
		}
	})
}

// leandromoreira/redlock-rb#36: the lock is gone from as many nodes as stated, and
// nobody has it.
func TestExtendAfterAGap(t *testing.T) {
	for name, gone := range map[string]int{"gone from a minority": 2, "gone from a majority": 3, "gone from all": 5} {
		for _, v := range []impls.Version{Version, SetOnExtend} {
			t.Run(name+"/"+v.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := testenv.MustOpen(t, 5)
					a := testenv.MustLock(t, v, w.Env("a"), 0)
					lease := testenv.MustAcquire(t, a)
					for _, n := range w.Nodes[:gone] {
						n.Del(testenv.Key)
					}
					want := gone < 3 || v.Name == SetOnExtend.Name
					longer, err := a.(impls.Extender).Extend(t.Context(), lease)
					if got := err == nil; got != want || !want && !errors.Is(err, impls.ErrNotHeld) {
						t.Errorf("Extend = %v, want ok: %v, else ErrNotHeld", err, want)
					}
					have := 0
					for _, n := range w.Nodes {
						if v, err := n.Get(testenv.Key); err == nil && v == lease.Owner {
							have++
						}
					}
					if anew := have == 5; anew != (v.Name == SetOnExtend.Name) {
						t.Errorf("%d nodes have the lock after the extension", have)
					}
					if want {
						testenv.MustRelease(t, a, longer)
					}
				})
			})
		}
	}
}

// The option never takes the lock from another.
func TestSetOnExtendLeavesAnothersLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 5)
		a := testenv.MustLock(t, SetOnExtend, w.Env("a"), 0)
		lease := testenv.MustAcquire(t, a)
		w.Drop()
		other := testenv.MustAcquire(t, testenv.MustLock(t, SetOnExtend, w.Env("b"), 0))
		if _, err := a.(impls.Extender).Extend(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Extend = %v, want ErrNotHeld", err)
		}
		if got := w.Value(); got != other.Owner {
			t.Errorf("the servers store %q, want %q", got, other.Owner)
		}
	})
}

// The library's errors do not tell a cancelled wait from a refusal.
func TestCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 5)
		take(w, 0, 1, 2, 3, 4)
		a := testenv.MustLock(t, Version, w.Env("a"), time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(3333 * time.Millisecond)
			cancel()
		}()
		_, err := a.Acquire(ctx)
		if !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
		}
	})
}

// The same dice give the same pauses.
func TestBackOffFollowsTheSeed(t *testing.T) {
	var runs [2][]time.Duration
	for i := range runs {
		synctest.Test(t, func(t *testing.T) {
			w := testenv.MustOpen(t, 1)
			take(w, 0)
			env := w.Env("a")
			a := testenv.MustLock(t, Version, env, 10*time.Second)
			start := time.Now()
			_, _ = a.Acquire(t.Context()) // refused
			for _, c := range env.Sent() {
				runs[i] = append(runs[i], c.At.Sub(start))
			}
		})
	}
	if len(runs[0]) < 40 || len(runs[0]) != len(runs[1]) {
		t.Fatalf("%d and %d commands", len(runs[0]), len(runs[1]))
	}
	for i := range runs[0] {
		if runs[0][i] != runs[1][i] {
			t.Fatalf("command %d was sent at %v and at %v", i, runs[0][i], runs[1][i])
		}
	}
}
