package redlocknaive

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
	"lockpick/impls/redlock"
)

const (
	ttl = testenv.TTL
	ms  = time.Millisecond
)

// on fails or delays commands to the given nodes.
func on(f func(testenv.Command) error, nodes ...int) func(context.Context, testenv.Command) error {
	return func(_ context.Context, c testenv.Command) error {
		if !slices.Contains(nodes, c.Node) {
			return nil
		}
		return f(c)
	}
}

func cut(testenv.Command) error { return testenv.ErrCut }

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

// each runs a test for the algorithm and for each of the versions, and is told
// whether that version is one of the flawed.
func each(t *testing.T, flawed []impls.Version, test func(t *testing.T, v impls.Version, flawed bool)) {
	t.Helper()
	for _, v := range append([]impls.Version{redlock.Version}, Versions()...) {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, v, slices.ContainsFunc(flawed, func(f impls.Version) bool { return f.Name == v.Name }))
			})
		})
	}
}

// Every answer takes 40 ms. Shortly before A's claim ends the nodes have
// forgotten it, and B is granted.
func TestElapsedTimeIsTheLeases(t *testing.T) {
	each(t, []impls.Version{Naive, NoElapsed, DriftAdded}, func(t *testing.T, v impls.Version, flawed bool) {
		w := testenv.MustOpen(t, 5)
		envA := w.Env("a")
		a, b := testenv.MustLock(t, v, envA, 0), testenv.MustLock(t, v, w.Env("b"), 0)
		envA.OnReply(on(after(40*ms), 0, 1, 2, 3, 4))
		lease := testenv.MustAcquire(t, a)
		time.Sleep(time.Until(lease.Until) - 20*ms)
		_, err := b.Acquire(t.Context())
		if granted := err == nil; granted != flawed {
			t.Errorf("B was granted while A's lease lasted: %v (%v), want %v", granted, err, flawed)
		}
	})
}

// Every node takes 10 s, so that one after the other take longer than the lease.
func TestGrantThatIsOverWhenItComes(t *testing.T) {
	each(t, []impls.Version{Naive}, func(t *testing.T, v impls.Version, flawed bool) {
		w := testenv.MustOpen(t, 5)
		envA := w.Env("a")
		a, b := testenv.MustLock(t, v, envA, 0), testenv.MustLock(t, v, w.Env("b"), 0)
		envA.OnReply(on(func(c testenv.Command) error {
			if c.Name == "set" {
				time.Sleep(10 * time.Second)
			}
			return nil
		}, 0, 1, 2, 3, 4))
		lease, err := a.Acquire(t.Context())
		if granted := err == nil; granted != flawed {
			t.Fatalf("granted: %v (%v), want %v", granted, err, flawed)
		}
		if !flawed {
			return
		}
		if _, err := b.Acquire(t.Context()); err != nil {
			t.Errorf("B: %v; want a second grant, of a lease that nodes 0 to 2 have forgotten", err)
		}
		if left := time.Until(lease.Until); left < 0 {
			t.Errorf("A's claim ended %v ago", -left)
		}
	})
}

// One node of five stands still for 3 s.
func TestSlowNode(t *testing.T) {
	each(t, []impls.Version{Naive, NoTimeout}, func(t *testing.T, v impls.Version, flawed bool) {
		env := testenv.MustOpen(t, 5).Env("a")
		a := testenv.MustLock(t, v, env, 0)
		env.OnRequest(on(after(3*time.Second), 2))
		start := time.Now()
		testenv.MustAcquire(t, a)
		if waited := time.Since(start) >= 3*time.Second; waited != flawed {
			t.Errorf("granted after %v, waited for the node: %v, want %v", time.Since(start), waited, flawed)
		}
	})
}

// redisson/redisson#1606: A hears yes from nodes 0 and 1; node 2 has it too, but the
// reply is lost; 3 and 4 are another's. A gives up. When the other's two nodes
// are down, B needs 0, 1 and 2.
func TestVoteThatWasNotHeard(t *testing.T) {
	each(t, []impls.Version{Naive, OwnRelease}, func(t *testing.T, v impls.Version, flawed bool) {
		w := testenv.MustOpen(t, 5)
		envA, envB := w.Env("a"), w.Env("b")
		a, b := testenv.MustLock(t, v, envA, 0), testenv.MustLock(t, v, envB, 10*time.Second)
		take(w, 3, 4)
		envA.OnReply(on(func(c testenv.Command) error {
			if c.Name == "set" {
				return testenv.ErrCut
			}
			return nil
		}, 2))
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("A: %v, want ErrNotAcquired", err)
		}
		if stays := w.Nodes[2].Exists(testenv.Key); stays != flawed {
			t.Errorf("A's vote stays on node 2: %v, want %v", stays, flawed)
		}
		envB.OnRequest(on(cut, 3, 4))
		if _, err := b.Acquire(t.Context()); (err != nil) != flawed {
			t.Errorf("B: %v, want an error: %v", err, flawed)
		}
	})
}

// A release that asks only its own nodes still knows what it must not claim.
func TestOwnRelease(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(w *testenv.World, env *testenv.Env)
		want    error // nil, ErrNotHeld, or ErrCut for unknown
	}{
		{"all there", func(*testenv.World, *testenv.Env) {}, nil},
		{"gone from one of its three", func(w *testenv.World, _ *testenv.Env) { w.Nodes[0].Del(testenv.Key) }, impls.ErrNotHeld},
		{"one of its three is silent", func(_ *testenv.World, env *testenv.Env) { env.OnRequest(on(cut, 0)) }, testenv.ErrCut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 5)
				env := w.Env("a")
				take(w, 3, 4)
				a := testenv.MustLock(t, OwnRelease, env, 0)
				lease := testenv.MustAcquire(t, a)
				sent := len(env.Sent())
				tt.prepare(w, env)
				if err := a.Release(t.Context(), lease); !errors.Is(err, tt.want) {
					t.Errorf("Release = %v, want %v", err, tt.want)
				}
				for _, c := range env.Sent()[sent:] {
					if c.Node > 2 {
						t.Errorf("node %d, which had refused, was asked to delete", c.Node)
					}
				}
			})
		})
	}
}

// The documents' order: one node after the other.
func TestOneAfterTheOther(t *testing.T) {
	each(t, []impls.Version{Naive, NoTimeout}, func(t *testing.T, v impls.Version, flawed bool) {
		env := testenv.MustOpen(t, 5).Env("a")
		testenv.MustAcquire(t, testenv.MustLock(t, v, env, 0))
		sent := env.Sent()
		if one := sent[4].At.After(sent[0].At); one != flawed {
			t.Errorf("asked one after the other: %v, want %v", one, flawed)
		}
	})
}

// SPSCommerce/redlock-py#6: A reaches two nodes and B the other three, from the
// start.
func TestTwoSidesOfAPartition(t *testing.T) {
	each(t, []impls.Version{Reachable}, func(t *testing.T, v impls.Version, flawed bool) {
		w := testenv.MustOpen(t, 5)
		envA, envB := w.Env("a"), w.Env("b")
		a, b := testenv.MustLock(t, v, envA, 0), testenv.MustLock(t, v, envB, 0)
		envA.OnRequest(on(cut, 2, 3, 4))
		envB.OnRequest(on(cut, 0, 1))
		lease, err := a.Acquire(t.Context())
		if granted := err == nil; granted != flawed {
			t.Errorf("A, with a minority: %v, granted: %v, want %v", err, granted, flawed)
		}
		testenv.MustAcquire(t, b)
		if !flawed {
			return
		}
		if lease, err = a.(impls.Extender).Extend(t.Context(), lease); err != nil {
			t.Errorf("A extends: %v", err)
		}
		testenv.MustRelease(t, a, lease)
	})
}

// Whatever a majority is taken of, it is more than half.
func TestHalfIsNoMajority(t *testing.T) {
	tests := []struct {
		name   string
		taken  []int // by another
		silent []int
		want   bool // of redlock-reachable
	}{
		{"two of four", []int{0, 1}, []int{4}, false},
		{"two of three", []int{0}, []int{3, 4}, true},
		{"one of one", nil, []int{1, 2, 3, 4}, true},
		{"none of one", []int{0}, []int{1, 2, 3, 4}, false},
		{"none answers", nil, []int{0, 1, 2, 3, 4}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 5)
				env := w.Env("a")
				take(w, tt.taken...)
				env.OnRequest(on(cut, tt.silent...))
				_, err := testenv.MustLock(t, Reachable, env, 0).Acquire(t.Context())
				if granted := err == nil; granted != tt.want {
					t.Errorf("granted: %v (%v), want %v", granted, err, tt.want)
				}
			})
		})
	}
}

// SPSCommerce/redlock-py#3: what the claim is, counted from the call, when the
// nodes answer within 1 ms.
func TestClaim(t *testing.T) {
	const drift = ttl/100 + 2*ms
	want := map[string]time.Duration{
		NoElapsed.Name: ttl + ms, Naive.Name: ttl + 5*ms, DriftAdded.Name: ttl + drift,
	}
	each(t, nil, func(t *testing.T, v impls.Version, _ bool) {
		a := testenv.MustLock(t, v, testenv.MustOpen(t, 5).Env("a"), 0)
		called := time.Now()
		lease := testenv.MustAcquire(t, a)
		claim, ok := want[v.Name]
		if !ok {
			claim = ttl - drift
		}
		if got := lease.Until.Sub(called); got != claim {
			t.Errorf("the lease is claimed for %v, want %v", got, claim)
		}
		if lease.Owner == "" {
			t.Error("the lease has no owner")
		}
	})
}

// mike-marcacci/node-redlock#296: the lock is granted later than a lease's time after
// the call.
func TestGrantAfterALongWait(t *testing.T) {
	const short = time.Second
	each(t, []impls.Version{FirstTry}, func(t *testing.T, v impls.Version, flawed bool) {
		w := testenv.MustOpen(t, 5)
		a, err := v.New(w.Env("a"), impls.Config{Key: testenv.Key, TTL: short, Wait: time.Minute})
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		defer testenv.MustClose(t, a)
		take(w, 0, 1, 2, 3, 4)
		go func() {
			time.Sleep(2 * short)
			w.Drop()
		}()
		lease := testenv.MustAcquire(t, a)
		if over := !time.Now().Before(lease.Until); over != flawed {
			t.Errorf("%v of the lease are left; over: %v, want %v", time.Until(lease.Until), over, flawed)
		}
		longer, err := a.(impls.Extender).Extend(t.Context(), lease)
		if err != nil || time.Until(longer.Until) < short*9/10 {
			t.Errorf("Extend = %+v, %v; the nodes have it", longer, err)
		}
		testenv.MustRelease(t, a, longer)
	})
}

func TestTraits(t *testing.T) {
	for _, v := range Versions() {
		if v.Traits.Replicated != (v.Name == "redlock-replicas") || !v.Traits.Quorum {
			t.Errorf("%s: %+v", v.Name, v.Traits)
		}
	}
}
