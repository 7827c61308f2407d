package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestNoLostUpdateOracle(t *testing.T) {
	seeds := uint64(3_000)
	if testing.Short() {
		seeds = 600
	}
	counts := map[Verdict]int{}
	unknowns := 0
	for seed := range seeds {
		h := resourceHistory(seed)
		b := newIndex(h).book()
		if len(b.accesses) > 9 {
			continue
		}
		want := Violated
		if explainable(b.initial, b.updates(len(b.accesses))) {
			want = Holds
		}
		res := noLostUpdate().Judge(h)
		if res.Verdict == Unknown && b.acknowledged == 0 {
			continue
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, b.show())
		}
		if want == Violated && len(res.Findings) == 0 {
			t.Errorf("seed %d: a violation without a finding", seed)
		}
		counts[want]++
		unknowns += b.unknown
	}
	t.Logf("%d writes without a reply", unknowns)
	mustBoth(t, counts)
}

// explainable tries every order of the updates, each that may have happened with
// and without.
func explainable(state int64, left []update) bool {
	if !slices.ContainsFunc(left, func(u update) bool { return !u.maybe }) {
		return true // what may have happened need not have
	}
	first := time.Duration(1 << 62)
	for _, u := range left {
		first = min(first, u.ret)
	}
	for i, u := range left {
		if u.call > first {
			continue // something had ended before it began
		}
		rest := append(slices.Clone(left[:i:i]), left[i+1:]...)
		if u.maybe && explainable(state, rest) {
			return true
		}
		next := state
		if u.reads && u.was != state {
			continue
		}
		if u.writes {
			next = u.is
		}
		if explainable(next, rest) {
			return true
		}
	}
	return false
}

func (b *book) show() string {
	out := ""
	for _, a := range b.updates(len(b.accesses)) {
		out += fmt.Sprintf("%+v\n", a)
	}
	return out
}
