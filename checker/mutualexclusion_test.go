package checker

import (
	"fmt"
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestMutualExclusionOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(5_000) {
		h := lockHistory(seed)
		want := Holds
		for now := range lastInstant(h) {
			n := 0
			for _, c := range h.Header.Workload.Clients {
				if believes(h, c, now) {
					n++
				}
			}
			if n > 1 {
				want = Violated
			}
		}
		res := mutualExclusion().Judge(h)
		if res.Verdict == Unknown && want == Holds {
			continue // nobody tried
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// With shared leases two clients may hold the lock if both share it.
func TestSharedOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(5_000) {
		h := lockHistory(seed)
		exclusive := map[string]bool{} // by client and round
		for i := range h.Records {
			r := &h.Records[i]
			if r.Op == history.Acquire && r.Kind == history.Invoke {
				r.Shared = r.ID%4 != 0
				exclusive[fmt.Sprint(r.Who, r.Round)] = !r.Shared
			}
		}
		want := Holds
		for now := range lastInstant(h) {
			n, alone := 0, false
			for _, c := range h.Header.Workload.Clients {
				if believes(h, c, now) {
					n++
					alone = alone || exclusive[fmt.Sprint(c, lastRound(h, c, now))]
				}
			}
			if n > 1 && alone {
				want = Violated
			}
		}
		res := mutualExclusion().Judge(h)
		if res.Verdict == Unknown && want == Holds {
			continue // nobody tried
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// lastRound is the round of the client's newest lease at t.
func lastRound(h *history.History, name string, t time.Duration) int {
	round := 0
	for _, r := range h.Records {
		if r.T <= t && r.Who == name && r.Op == history.Acquire && r.Kind == history.OK {
			round = r.Round
		}
	}
	return round
}

// What is not told is counted as the promise counts it.
func TestMutualExclusionCounts(t *testing.T) {
	for seed := range uint64(300) {
		s := newScript(seed)
		var open []history.Record
		for i := range 60 {
			s.tick()
			if len(open) > 0 && s.IntN(3) == 0 {
				k := s.IntN(len(open))
				r := open[k]
				r.Op = history.Release
				s.begin(r)
				open = append(open[:k], open[k+1:]...)
				continue
			}
			r := history.Record{Who: fmt.Sprint("client-", s.IntN(8)), Op: history.Acquire, Round: i, Owner: fmt.Sprint(i), Shared: s.IntN(2) == 0}
			r = s.begin(r)
			s.finish(r, history.OK)
			open = append(open, r)
		}
		h := s.end()
		ix := newIndex(h)
		want := 0
		for i, b := range ix.holds {
			others := map[*client]bool{}
			for k, a := range ix.holds[:i] {
				if a.length() > 0 && b.length() > 0 && a.to > b.from && ix.holder(k) != ix.holder(i) && !(ix.shared(k) && ix.shared(i)) {
					others[ix.holder(k)] = true
				}
			}
			want += len(others)
		}
		if res := mutualExclusion().Judge(h); int(res.Figures[0].Value) != want {
			t.Fatalf("seed %d: %v overlaps, want %d", seed, res.Figures[0].Value, want)
		}
	}
}

// believes says, from the records alone, whether the client believes in a lease
// throughout the instants between t and the next nanosecond.
func believes(h *history.History, name string, t time.Duration) bool {
	type belief struct {
		round int
		until time.Duration
	}
	var b *belief
	lost := map[int]bool{}
	for _, r := range h.Records {
		if r.T > t {
			break
		}
		if r.Op == "crash" && r.Target == name {
			return false
		}
		if r.Who != name {
			continue
		}
		switch {
		case r.Op == history.Acquire && r.Kind == history.OK:
			b = &belief{r.Round, r.Until}
		case r.Op == history.Release && r.Kind == history.Invoke && b != nil && b.round == r.Round:
			b = nil
		case r.Op == history.Lost:
			lost[r.Round] = true
		case r.Op == history.Extend && r.Kind == history.OK && b != nil && b.round == r.Round:
			b.until = r.Until
		}
	}
	return b != nil && !lost[b.round] && (b.until == 0 || t < b.until)
}
