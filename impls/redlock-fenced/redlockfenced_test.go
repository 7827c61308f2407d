package redlockfenced

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/fencing"
	"lockpick/impls/internal/testenv"
)

const (
	ttl     = testenv.TTL
	ms      = time.Millisecond
	timeout = 50 * ms
)

func open(t *testing.T) (*testenv.World, *testenv.Env, impls.Lock) {
	t.Helper()
	w := testenv.MustOpen(t, 5)
	env := w.Env("a")
	return w, env, testenv.MustLock(t, Version, env, 0)
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

// raising reports whether a command is one of phase 2: it has the keys and the
// fence's counter, and no time to live.
func raising(c testenv.Command) bool {
	args := c.Args()
	return c.Script() && len(args) == 6 && args[5] != fmt.Sprint(ttl.Milliseconds())
}

// votes applies f to phase 1.
func votes(f func(testenv.Command) error) func(testenv.Command) error {
	return func(c testenv.Command) error {
		if args := c.Args(); !c.Script() || len(args) != 6 || raising(c) {
			return nil
		}
		return f(c)
	}
}

// raises applies f to phase 2.
func raises(f func(testenv.Command) error) func(testenv.Command) error {
	return func(c testenv.Command) error {
		if !raising(c) {
			return nil
		}
		return f(c)
	}
}

// set sets the counters.
func set(w *testenv.World, counts ...int) {
	for i, c := range counts {
		_ = w.Nodes[i].Set(fencing.Counter(testenv.Key), fmt.Sprint(c)) // fails only for a key of another type
	}
}

func counters(w *testenv.World) []string {
	var counts []string
	for _, n := range w.Nodes {
		c, err := n.Get(fencing.Counter(testenv.Key))
		if err != nil {
			c = "-"
		}
		counts = append(counts, c)
	}
	return counts
}

func TestFenceIsTheHighestAndWrittenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t)
		set(w, 3, 10, 0, 7, 99)
		env.OnRequest(on(votes(cut), 4))
		lease := testenv.MustAcquire(t, a)
		if lease.Fence != 11 {
			t.Errorf("Fence = %d, want 11: node 4 was not heard", lease.Fence)
		}
		if got, want := counters(w), []string{"11", "11", "11", "11", "99"}; !slices.Equal(got, want) {
			t.Errorf("the counters are %v, want %v", got, want)
		}
		for i, n := range w.Nodes {
			if left := n.TTL(fencing.Counter(testenv.Key)); left != 0 {
				t.Errorf("the counter of node %d ends in %v", i, left)
			}
		}
		testenv.MustRelease(t, a, lease)
	})
}

// Each grant's majority is another one, and the fences grow all the same.
func TestFencesGrowWhateverTheMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testenv.MustOpen(t, 5)
		last := uint64(0)
		for round := range 60 {
			env := w.Env(fmt.Sprint("client-", round))
			l := testenv.MustLock(t, Version, env, 0)
			down := []int{round % 5, (round*3 + round/5 + 1) % 5}
			env.OnRequest(on(cut, down...))
			lease := testenv.MustAcquire(t, l)
			if lease.Fence <= last {
				t.Fatalf("round %d, without nodes %v: fence %d after %d", round, down, lease.Fence, last)
			}
			last = lease.Fence
			testenv.MustRelease(t, l, lease)
		}
	})
}

// Why phase 2 is there: the highest counter is that of one node, which the next
// grant does not reach.
func TestTheNextMajorityMissesTheHighest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t)
		set(w, 50, 0, 0, 0, 0)
		first := testenv.MustAcquire(t, a)
		testenv.MustRelease(t, a, first)
		env.OnRequest(on(cut, 0))
		if second := testenv.MustAcquire(t, a); first.Fence != 51 || second.Fence != 52 {
			t.Errorf("fences %d and %d, want 51 and 52", first.Fence, second.Fence)
		}
	})
}

// Phase 2 reaches no majority that still has the lock: no grant, and nothing stays.
func TestPhaseTwoFails(t *testing.T) {
	tests := []struct {
		name string
		fail func(w *testenv.World, env *testenv.Env)
		want []string // the counters
	}{
		{"its requests are lost", func(_ *testenv.World, env *testenv.Env) {
			env.OnRequest(on(raises(cut), 0, 1, 2))
		}, []string{"1", "1", "1", "1", "1"}},
		{"its replies are lost", func(_ *testenv.World, env *testenv.Env) {
			env.OnReply(on(raises(cut), 0, 1, 2))
		}, []string{"1", "1", "1", "1", "1"}},
		{"the lock has gone", func(w *testenv.World, env *testenv.Env) {
			set(w, 6, 0, 0, 0, 0)
			env.OnRequest(on(raises(func(c testenv.Command) error {
				w.Nodes[c.Node].Del(testenv.Key)
				return nil
			}), 0, 1, 2))
		}, []string{"7", "7", "7", "7", "7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, env, a := open(t)
				tt.fail(w, env)
				if lease, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
					t.Errorf("Acquire = %+v, %v; want ErrNotAcquired", lease, err)
				}
				if got := counters(w); !slices.Equal(got, tt.want) {
					t.Errorf("the counters are %v, want %v", got, tt.want)
				}
				for i, n := range w.Nodes {
					if n.Exists(testenv.Key) {
						t.Errorf("the lock stayed on node %d", i)
					}
				}
			})
		})
	}
}

// The elapsed time covers both phases.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env, a := open(t)
		env.OnReply(on(func(testenv.Command) error {
			time.Sleep(20 * ms)
			return nil
		}, 3))
		asked := time.Now()
		lease := testenv.MustAcquire(t, a)
		if got, want := lease.Until.Sub(asked), ttl-ttl/100-2*ms; got != want {
			t.Errorf("Until is %v after the call, want %v", got, want)
		}
		longer, err := a.(impls.Extender).Extend(t.Context(), lease)
		if err != nil || longer.Fence != lease.Fence || !longer.Until.After(lease.Until) {
			t.Errorf("Extend turned %+v into %+v, %v", lease, longer, err)
		}
	})
}

// A node that hangs costs each phase one time-out, and its vote is deleted when it
// comes.
func TestSlowNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t)
		env.OnRequest(on(votes(func(testenv.Command) error {
			time.Sleep(2 * time.Second)
			return nil
		}), 4))
		start := time.Now()
		lease := testenv.MustAcquire(t, a)
		if took := time.Since(start); took > timeout+5*ms {
			t.Errorf("Acquire took %v", took)
		}
		testenv.MustRelease(t, a, lease)
		time.Sleep(5 * time.Second) // the script comes twice: the server does not know it yet
		if w.Nodes[4].Exists(testenv.Key) {
			t.Error("the late vote stayed")
		}
	})
}

func TestReleaseWithACancelledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t)
		lease := testenv.MustAcquire(t, a)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := a.Release(ctx, lease); err != nil {
			t.Errorf("Release = %v", err)
		}
		if v := w.Value(); v != "" {
			t.Errorf("the nodes store %q", v)
		}
	})
}
