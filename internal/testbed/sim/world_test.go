package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestEventsComeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var q events
	var want []event
	pop := func() {
		t.Helper()
		slices.SortFunc(want, func(a, b event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		if got := q.pop(); got.at != want[0].at || got.source != want[0].source || got.seq != want[0].seq {
			t.Fatalf("got %v/%d/%d, want %v/%d/%d", got.at, got.source, got.seq, want[0].at, want[0].source, want[0].seq)
		}
		want = want[1:]
	}
	for i := range 2000 {
		if len(want) > 0 && rng.IntN(5) < 2 {
			pop()
			continue
		}
		e := event{at: time.Duration(rng.IntN(50)), source: uint64(rng.IntN(3)), seq: uint64(i)}
		want = append(want, e)
		first := q.push(e)
		if earlier := slices.ContainsFunc(want, func(o event) bool { return o.before(&e) }); first == earlier {
			t.Fatalf("push of %v/%d/%d reports %v", e.at, e.source, e.seq, first)
		}
	}
	for len(want) > 0 {
		pop()
	}
	if len(q) != 0 {
		t.Errorf("%d events are left over", len(q))
	}
}
