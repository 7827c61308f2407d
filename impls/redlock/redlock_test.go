package redlock

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
	ttl     = testenv.TTL
	ms      = time.Millisecond
	timeout = 50 * ms
)

// open returns a client's world and its handle on a lock on five nodes.
func open(t *testing.T, v impls.Version, wait time.Duration) (*testenv.World, *testenv.Env, impls.Lock) {
	t.Helper()
	w := testenv.MustOpen(t, 5)
	env := w.Env("a")
	return w, env, testenv.MustLock(t, v, env, wait)
}

// on has f called for commands to the given nodes only.
func on(f func(testenv.Command) error, nodes ...int) func(context.Context, testenv.Command) error {
	return func(_ context.Context, c testenv.Command) error {
		if !slices.Contains(nodes, c.Node) {
			return nil
		}
		return f(c)
	}
}

func cut(testenv.Command) error { return testenv.ErrCut }

// hang takes longer than the lease, and heeds no context.
func hang(testenv.Command) error {
	time.Sleep(2 * ttl)
	return testenv.ErrCut
}

// votes applies f to the requests that ask for the lock.
func votes(f func(testenv.Command) error) func(testenv.Command) error {
	return func(c testenv.Command) error {
		if c.Name != "set" {
			return nil
		}
		return f(c)
	}
}

func after(d time.Duration) func(testenv.Command) error {
	return func(testenv.Command) error {
		time.Sleep(d)
		return nil
	}
}

// take stores another's value on the nodes.
func take(w *testenv.World, nodes ...int) {
	for _, n := range nodes {
		_ = w.Nodes[n].Set(testenv.Key, "another's") // fails only for a key of another type
	}
}

// left lists the nodes that store the owner's value.
func left(w *testenv.World, owner string) []int {
	var nodes []int
	for i, n := range w.Nodes {
		if v, err := n.Get(testenv.Key); err == nil && v == owner {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// known says what an error leaves open.
func known(err, no error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, no):
		return "no"
	default:
		return "unknown"
	}
}

func TestAcquire(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(w *testenv.World, env *testenv.Env)
		want    string
		took    time.Duration // at most
	}{
		{"all up", func(*testenv.World, *testenv.Env) {}, "ok", 2 * ms},
		{"a minority is down", func(_ *testenv.World, env *testenv.Env) {
			env.OnRequest(on(cut, 0, 1))
		}, "ok", 2 * ms},
		{"a minority hangs", func(_ *testenv.World, env *testenv.Env) {
			env.OnRequest(on(hang, 0, 1))
		}, "ok", timeout + 2*ms},
		{"a majority is down", func(_ *testenv.World, env *testenv.Env) {
			env.OnRequest(on(cut, 0, 1, 2))
		}, "unknown", 5 * ms},
		{"a majority hangs", func(_ *testenv.World, env *testenv.Env) {
			env.OnRequest(on(hang, 0, 1, 2))
		}, "unknown", 2*timeout + 4*ms},
		{"taken everywhere", func(w *testenv.World, _ *testenv.Env) {
			take(w, 0, 1, 2, 3, 4)
		}, "no", 5 * ms},
		{"taken by a majority, the rest silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1, 2)
			env.OnReply(on(cut, 3, 4))
		}, "no", 5 * ms},
		{"taken by two, the rest silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1)
			env.OnReply(on(cut, 2, 3, 4))
		}, "unknown", 5 * ms},
		{"taken by two, one silent, but its grant was removed", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1)
			env.OnReply(on(votes(cut), 2, 3, 4))
		}, "no", 5 * ms},
		{"two answers of three in time", func(_ *testenv.World, env *testenv.Env) {
			env.OnReply(on(votes(after(timeout+10*ms)), 0, 1, 2))
		}, "no", timeout + 5*ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, env, a := open(t, Version, 0)
				tt.prepare(w, env)
				start := time.Now()
				_, err := a.Acquire(t.Context())
				if got := known(err, impls.ErrNotAcquired); got != tt.want {
					t.Errorf("Acquire = %v, which is %s, want %s", err, got, tt.want)
				}
				if took := time.Since(start); took > tt.took {
					t.Errorf("Acquire took %v, want %v at most", took, tt.took)
				}
			})
		})
	}
}

func TestReleaseAndExtend(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(w *testenv.World, env *testenv.Env)
		want    string
	}{
		{"a minority is silent", func(_ *testenv.World, env *testenv.Env) { env.OnRequest(on(cut, 0, 1)) }, "ok"},
		{"a minority hangs", func(_ *testenv.World, env *testenv.Env) { env.OnRequest(on(hang, 0, 1)) }, "ok"},
		{"a majority is silent", func(_ *testenv.World, env *testenv.Env) { env.OnRequest(on(cut, 0, 1, 2)) }, "unknown"},
		{"gone from a minority", func(w *testenv.World, _ *testenv.Env) {
			w.Nodes[0].Del(testenv.Key)
			take(w, 1)
		}, "ok"},
		{"gone from a majority", func(w *testenv.World, _ *testenv.Env) {
			w.Nodes[0].Del(testenv.Key)
			take(w, 1, 2)
		}, "no"},
		{"gone from two, one silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1)
			env.OnRequest(on(cut, 2))
		}, "unknown"},
		{"gone from three, two silent", func(w *testenv.World, env *testenv.Env) {
			take(w, 0, 1, 2)
			env.OnRequest(on(cut, 3, 4))
		}, "no"},
	}
	calls := map[string]func(context.Context, impls.Lock, impls.Lease) error{
		"release": func(ctx context.Context, l impls.Lock, lease impls.Lease) error { return l.Release(ctx, lease) },
		"extend": func(ctx context.Context, l impls.Lock, lease impls.Lease) error {
			_, err := l.(impls.Extender).Extend(ctx, lease)
			return err
		},
	}
	for _, tt := range tests {
		for name, call := range calls {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, env, a := open(t, Version, 0)
					lease := testenv.MustAcquire(t, a)
					tt.prepare(w, env)
					start := time.Now()
					err := call(t.Context(), a, lease)
					if got := known(err, impls.ErrNotHeld); got != tt.want {
						t.Errorf("%s: %v, which is %s; want %s", name, err, got, tt.want)
					}
					if took := time.Since(start); took > timeout+2*ms {
						t.Errorf("%s took %v", name, took)
					}
				})
			})
		}
	}
}

func TestUntil(t *testing.T) {
	const valid = ttl - ttl/100 - 2*ms
	synctest.Test(t, func(t *testing.T) {
		_, env, a := open(t, Version, 0)
		env.OnReply(on(after(20*ms), 4))
		asked := time.Now()
		lease := testenv.MustAcquire(t, a)
		if got := lease.Until.Sub(asked); got != valid {
			t.Errorf("Until is %v after the call, want %v", got, valid)
		}
		time.Sleep(ttl / 2)
		asked = time.Now()
		longer, err := a.(impls.Extender).Extend(t.Context(), lease)
		if err != nil {
			t.Fatalf("Extend: %v", err)
		}
		if got := longer.Until.Sub(asked); got != valid {
			t.Errorf("Until is %v after the extension, want %v", got, valid)
		}
	})
}

// mike-marcacci/node-redlock#296: the grant came after more than one TTL of tries,
// and its lease is a whole one all the same.
func TestUntilCountsFromTheLastTry(t *testing.T) {
	const short = time.Second
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 5)
		a, err := Version.New(w.Env("a"), impls.Config{Key: testenv.Key, TTL: short, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		take(w, 0, 1, 2, 3, 4)
		go func() {
			time.Sleep(2 * short)
			w.Drop()
		}()
		lease := testenv.MustAcquire(t, a)
		if rest := time.Until(lease.Until); rest < short*98/100 {
			t.Errorf("%v are left of the lease", rest)
		}
		testenv.MustRelease(t, a, lease)
	})
}

// redisson/redisson#1606, and worse: the vote is not there yet when the release
// comes by.
func TestLateVotes(t *testing.T) {
	const late = 3 * time.Second
	tests := []struct {
		name    string
		prepare func(w *testenv.World)
		delay   func(env *testenv.Env)
		granted bool
	}{
		{"the request of a failed try is late", func(w *testenv.World) { take(w, 0, 1, 2) }, func(env *testenv.Env) {
			env.OnRequest(on(votes(after(late)), 3, 4))
		}, false},
		{"the reply of a failed try is lost", func(w *testenv.World) { take(w, 0, 1, 2) }, func(env *testenv.Env) {
			env.OnReply(on(votes(cut), 3, 4))
		}, false},
		{"the request of a granted try is late", func(*testenv.World) {}, func(env *testenv.Env) {
			env.OnRequest(on(votes(after(late)), 3, 4))
		}, true},
		{"the reply of a granted try is lost", func(*testenv.World) {}, func(env *testenv.Env) {
			env.OnReply(on(votes(cut), 3, 4))
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, env, a := open(t, Version, 0)
				tt.prepare(w)
				tt.delay(env)
				lease, err := a.Acquire(t.Context())
				if (err == nil) != tt.granted {
					t.Fatalf("Acquire = %v, want granted: %v", err, tt.granted)
				}
				if tt.granted {
					testenv.MustRelease(t, a, lease)
				}
				time.Sleep(late + 10*ms)
				if nodes := left(w, "a-1"); nodes != nil {
					t.Errorf("a vote stayed on %v", nodes)
				}
			})
		})
	}
}

// A node that stands still costs two connections, not two with every try.
func TestNodeThatHangsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, Version, 5*time.Second)
		take(w, 0, 1, 2)
		env.OnRequest(on(hang, 4))
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		sent := make([]int, 5)
		for _, c := range env.Sent() {
			sent[c.Node]++
		}
		if sent[4] != 2 || sent[3] < 50 {
			t.Errorf("%v commands by node, want 2 to the last and many to the others", sent)
		}
	})
}

// The caller's context has ended, and what was taken is given back all the same.
func TestCancelledContexts(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	t.Run("release", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, _, a := open(t, Version, 0)
			lease := testenv.MustAcquire(t, a)
			if err := a.Release(ended, lease); err != nil {
				t.Errorf("Release = %v", err)
			}
			if nodes := left(w, lease.Owner); nodes != nil {
				t.Errorf("the lock stayed on %v", nodes)
			}
		})
	})
	t.Run("a failed try", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, env, a := open(t, Version, time.Minute)
			take(w, 0, 1, 2)
			ctx, cancel := context.WithCancel(context.Background())
			env.OnReply(on(votes(func(testenv.Command) error {
				cancel()
				return nil
			}), 0))
			_, err := a.Acquire(ctx)
			if !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
				t.Errorf("Acquire = %v, want ErrNotAcquired and the context's error", err)
			}
			if nodes := left(w, "a-1"); nodes != nil {
				t.Errorf("votes stayed on %v", nodes)
			}
		})
	})
}

// mike-marcacci/node-redlock#313: a lease that has run out is not released for ever.
func TestReleaseOfAnExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, a := open(t, Version, time.Hour)
		lease := testenv.MustAcquire(t, a)
		time.Sleep(2 * ttl)
		start := time.Now()
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("Release = %v, want ErrNotHeld", err)
		}
		if took := time.Since(start); took > 2*ms {
			t.Errorf("Release took %v", took)
		}
	})
}

// The node answers to the delete after Close has begun: Close waits for it.
func TestCloseDuringALateVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, Version, 0)
		env.OnRequest(on(votes(after(time.Second)), 4))
		lease := testenv.MustAcquire(t, a)
		testenv.MustClose(t, a)
		if nodes := left(w, lease.Owner); !slices.Equal(nodes, []int{0, 1, 2, 3}) {
			t.Errorf("after Close the lock is on %v, want the nodes that were in time", nodes)
		}
		if err := a.Release(t.Context(), lease); err != nil {
			t.Errorf("Release of a closed lock = %v", err)
		}
	})
}

func TestConfigurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.MustOpen(t, 5).Env("a")
		for ttl, ok := range map[time.Duration]bool{2 * ms: false, 3 * ms: true, ttl: true} {
			if _, err := Version.New(env, impls.Config{Key: "k", TTL: ttl}); (err == nil) != ok {
				t.Errorf("New with a TTL of %v: %v, want ok: %v", ttl, err, ok)
			}
		}
	})
}

// Two clients that failed together do not try again together, and the same dice
// give the same pauses.
func TestPausesFollowTheSeed(t *testing.T) {
	run := func(client string) (at []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			w := testenv.MustOpen(t, 1)
			take(w, 0)
			env := w.Env(client)
			a := testenv.MustLock(t, Version, env, 5*time.Second)
			start := time.Now()
			_, _ = a.Acquire(t.Context()) // refused
			for _, c := range env.Sent() {
				if c.Name == "set" {
					at = append(at, c.At.Sub(start))
				}
			}
		})
		return at
	}
	first, again, other := run("a"), run("a"), run("b")
	if len(first) < 20 || !slices.Equal(first, again) {
		t.Errorf("the same client tried at %v and at %v", first, again)
	}
	if slices.Equal(first, other) {
		t.Errorf("two clients tried at the same instants %v", first)
	}
}
