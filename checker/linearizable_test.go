package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
)

// recorded makes raw operations a history as the harness records one: every token is
// a round of its client, and only what was granted is extended or released. It
// returns the operations that are in it. Where nobody knows whether an acquire was
// granted, the lock may give it back by itself.
func recorded(ops []lockOp) (*history.History, []lockOp) {
	granted := map[int]time.Duration{}
	for _, o := range ops {
		if o.name == history.Acquire && o.learned == yes {
			granted[o.token] = o.to
		}
	}
	h := newScript(1, "client-0", "client-1", "client-2", "client-3", "client-4").h
	h.Header.Lock.TTL = 0
	var kept []lockOp
	for i, o := range ops {
		at, ok := granted[o.token]
		if o.name != history.Acquire && (!ok || o.from < at) {
			continue
		}
		kept = append(kept, o)
		if o.name == history.Acquire && o.learned == unsure {
			kept = append(kept, lockOp{o.span, o.client, history.Release, o.token, unsure})
		}
		r := history.Record{
			T: o.from, Who: fmt.Sprint("client-", o.client), Kind: history.Invoke, Op: o.name,
			ID: i + 1, Round: o.token, Owner: fmt.Sprint("owner-", o.token),
		}
		if o.name == history.Acquire {
			r.Owner = ""
		}
		h.Records = append(h.Records, r)
		if o.to == forever {
			continue
		}
		r.T, r.Kind = o.to, history.OK
		if o.learned == no {
			r.Kind = history.Fail
		} else {
			r.Owner = fmt.Sprint("owner-", o.token)
		}
		h.Records = append(h.Records, r)
	}
	slices.SortStableFunc(h.Records, func(a, b history.Record) int { return cmp.Compare(a.T, b.T) })
	last := h.Records[len(h.Records)-1].T
	h.Records = append(h.Records, history.Record{T: last + 1, Who: history.World, Kind: history.Note, Op: history.End})
	return h, kept
}

// The check says of a whole history what Porcupine says of its operations.
func TestLinearizableAgreesWithPorcupine(t *testing.T) {
	n := uint64(10_000)
	if long() {
		n = 200_000
	}
	counts := map[Verdict]int{}
	for seed := range n {
		ops := draw(seed, 14, float64(seed%4)/10)
		h, kept := recorded(ops)
		if want, got := lockOrder(kept, time.Minute), linearizability().Judge(h); got.Verdict != want {
			t.Fatalf("seed %d: the check says %v and Porcupine %v of\n%s", seed, got, want, showOps(kept))
		} else {
			counts[want]++
		}
	}
	mustBoth(t, counts)
}

// What the text of the stories cannot say.
func TestLinearizableLeavesOut(t *testing.T) {
	tests := []struct {
		name   string
		story  string
		change func(*history.History)
		want   Verdict
		reason string
	}{
		{
			"shared mode is not modelled",
			"client-1 acquire 1ms..2ms ok a\nclient-2 acquire 3ms..4ms ok b",
			func(h *history.History) { h.Records[0].Shared = true },
			Unknown, "shared mode",
		},
		{
			"a nested acquire is no second hold",
			"client-1 acquire 1ms..2ms ok a\nclient-1 acquire 3ms..4ms ok a\nclient-1 release 5ms..6ms ok a\nclient-1 release 7ms..8ms ok a",
			func(h *history.History) {
				for i := 2; i < 6; i++ {
					h.Records[i].Depth = 2
				}
			},
			Holds, "",
		},
		{
			"but the outer one is one until the last release",
			"client-1 acquire 1ms..2ms ok a\nclient-1 acquire 3ms..4ms ok a\nclient-1 release 5ms..6ms ok a\nclient-2 acquire 6.1ms..6.2ms ok b\nclient-1 release 7ms..8ms ok a",
			func(h *history.History) {
				for i := 2; i < 6; i++ {
					h.Records[i].Depth = 2
				}
			},
			Violated, "",
		},
		{
			"a queue may refuse a lock that is free",
			"client-1 acquire 1ms..2ms fail",
			func(h *history.History) { h.Header.Labels = []string{history.LabelInOrder} },
			Holds, "",
		},
		{
			"so may a lock of several keys",
			"client-1 acquire 1ms..2ms fail",
			func(h *history.History) { h.Header.Lock.Also = []string{"order:124"} },
			Holds, "",
		},
		{
			"nobody tried",
			"probe acquire 1ms..2ms ok p",
			func(*history.History) {},
			Unknown, "no client tried",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := mustTell(t, tt.story+"\nend 20ms").h
			tt.change(h)
			res := linearizability().Judge(h)
			if res.Verdict != tt.want || !strings.Contains(res.Reason, tt.reason) {
				t.Errorf("the check says %v", res)
			}
		})
	}
}

// A history that leaves too many orders open is not decided.
func TestLinearizableHasALimit(t *testing.T) {
	f := newFrontier([]tenure{{start: span{1, 2}, end: span{3, 4}, slot: -1}}, nil)
	f.work = maxWork
	if end := f.walk(forever); end.verdict != Unknown {
		t.Errorf("the walk ends with %v", end.verdict)
	}
	if got, _ := ask(worst(140), false); got != Unknown {
		t.Errorf("with 70 holds to tell apart: %v", got)
	}
}
