package quorum

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
)

const timeout = 50 * ms

// slow answers node after its delay, heeding no context, as go-redis does.
func slow(delays ...time.Duration) Question[int] {
	return func(_ context.Context, node int) (int, error) {
		time.Sleep(delays[node])
		return 10 + node, nil
	}
}

func open(t *testing.T, n int, timeout time.Duration) *Nodes {
	t.Helper()
	nodes := Open(make([]impls.Redis, n), timeout)
	t.Cleanup(nodes.Close)
	return nodes
}

func TestAskWaitsForNobodyLongerThanTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := open(t, 3, timeout)
		late := make(chan int, 3)
		start := time.Now()
		answers := Ask(context.Background(), nodes, slow(ms, time.Second, 2*ms), func(node int) { late <- node })
		if took := time.Since(start); took != timeout {
			t.Errorf("Ask took %v, want %v", took, timeout)
		}
		if answers[0].Value != 10 || answers[2].Value != 12 || answers[0].Err != nil || answers[2].Err != nil {
			t.Errorf("Ask = %v: the answers of nodes 0 and 2 are missing", answers)
		}
		if !errors.Is(answers[1].Err, ErrSilent) {
			t.Errorf("Ask = %v, want ErrSilent for node 1", answers)
		}
		if len(late) != 0 {
			t.Error("late was called before anything came")
		}
		nodes.Close()
		if len(late) != 1 || <-late != 1 {
			t.Error("late was not called for node 1, and no other")
		}
	})
}

func TestAskReturnsWithTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Ask(context.Background(), open(t, 3, timeout), slow(ms, 20*ms, 2*ms), nil)
		if took := time.Since(start); took != 20*ms {
			t.Errorf("Ask took %v, want 20ms", took)
		}
	})
}

// The caller's context may end; that of a question does not end by itself.
func TestContextOfAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := open(t, 2, timeout)
		ctx, cancel := context.WithTimeout(context.Background(), 20*ms)
		defer cancel()
		answers := Ask(ctx, nodes, func(ctx context.Context, node int) (int, error) {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the question does not have the caller's context")
			}
			<-ctx.Done()
			return 7, ctx.Err()
		}, func(node int) { t.Errorf("node %d was late", node) })
		for i, a := range answers {
			if !errors.Is(a.Err, context.DeadlineExceeded) || a.Value != 0 {
				t.Errorf("node %d: %+v, want the context's error and no value", i, a)
			}
		}
		Ask(context.Background(), nodes, func(ctx context.Context, _ int) (int, error) {
			time.Sleep(time.Second)
			if err := ctx.Err(); err != nil {
				t.Errorf("the question's context ended: %v", err)
			}
			return 0, nil
		}, nil)
		nodes.Close()
	})
}

func TestOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := open(t, 2, timeout)
		ask := func() { Ask(context.Background(), nodes, slow(ms, time.Second), nil) }
		for i, want := range []bool{false, false, true} {
			if nodes.Overdue(0) || nodes.Overdue(1) != want {
				t.Errorf("after %d calls: overdue %v and %v, want false and %v", i, nodes.Overdue(0), nodes.Overdue(1), want)
			}
			ask()
		}
		time.Sleep(time.Second)
		if nodes.Overdue(1) {
			t.Error("overdue although all answers have come")
		}
	})
}

// order notes in which order and when nodes are asked.
type order struct {
	mu    sync.Mutex
	nodes []int
	at    []time.Duration
	start time.Time
}

func (o *order) question(_ context.Context, node int) (int, error) {
	o.mu.Lock()
	o.nodes, o.at = append(o.nodes, node), append(o.at, time.Since(o.start))
	o.mu.Unlock()
	time.Sleep(time.Second)
	return 0, nil
}

func TestOneAfterTheOther(t *testing.T) {
	tests := []struct {
		name string
		open func(t *testing.T) *Nodes
	}{
		{"without a time-out", func(t *testing.T) *Nodes {
			t.Helper()
			return open(t, 3, 0)
		}},
		{"when closed", func(t *testing.T) *Nodes {
			t.Helper()
			nodes := open(t, 3, timeout)
			nodes.Close()
			return nodes
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := tt.open(t)
				o := &order{start: time.Now()}
				answers := Ask(context.Background(), nodes, o.question, func(node int) { t.Errorf("node %d was late", node) })
				if n, err := Silence(answers); n != 0 {
					t.Errorf("%d nodes were not waited for: %v", n, err)
				}
				if want := []time.Duration{0, time.Second, 2 * time.Second}; !slices.Equal(o.nodes, []int{0, 1, 2}) || !slices.Equal(o.at, want) {
					t.Errorf("asked %v at %v, want one after the other", o.nodes, o.at)
				}
			})
		})
	}
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := open(t, 1, timeout)
		start := time.Now()
		var late time.Duration
		Ask(context.Background(), nodes, slow(time.Second), func(int) {
			time.Sleep(time.Second)
			late = time.Since(start)
		})
		nodes.Close()
		if took := time.Since(start); took != 2*time.Second || late != took {
			t.Errorf("Close returned after %v, the work was over after %v; want 2s", took, late)
		}
	})
}
