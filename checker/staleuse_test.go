package checker

import (
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestStaleUseOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(5_000) {
		h := usedHistory(seed)
		want := Holds
		for i, r := range h.Records {
			if r.Kind == history.Observe && r.Op == history.Apply && dumbOver(h, i, r.Client, r.T) ||
				r.Kind == history.Invoke && r.Op == history.Read && dumbOver(h, i, r.Who, r.T) {
				want = Violated
			}
		}
		res := staleUse().Judge(h)
		if res.Verdict == Unknown {
			t.Fatalf("seed %d: %v", seed, res)
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// dumbOver says whether anything had ended the client's newest lease before t.
func dumbOver(h *history.History, i int, client string, t time.Duration) bool {
	over := false
	for _, r := range h.Records[:i] {
		switch {
		case r.Op == history.Acquire && r.Kind == history.OK && r.Who == client:
			over = r.Until > 0 && r.Until < t
		case r.T >= t:
		case r.Op == history.Lost && r.Who == client,
			r.Op == history.Expired && r.Holder == client,
			r.Op == history.Release && r.Kind == history.Invoke && r.Who == client:
			over = true
		}
	}
	return over
}
