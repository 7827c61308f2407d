package checker

import (
	"fmt"
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestFencingOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(4_000) {
		h := fencedHistory(seed)
		want := dumbFencing(h)
		res := fencing().Judge(h)
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		if seed < 200 {
			mustSurvive(t, fmt.Sprint("fenced history ", seed), h)
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// fencedHistory lets three clients acquire and write with fences that mostly grow.
// In half of the histories the store tells what it applied.
func fencedHistory(seed uint64) *history.History {
	names := []string{"client-1", "client-2", "client-3"}
	s := newScript(seed, names...)
	observed := s.IntN(2) == 0
	busy := map[string]*history.Record{}
	fences := map[string]uint64{}
	newest, wild := uint64(0), s.IntN(2) == 0
	for range 24 {
		s.tick()
		name := names[s.IntN(len(names))]
		switch r := busy[name]; {
		case r == nil && (fences[name] == 0 || s.IntN(2) == 0):
			b := s.begin(history.Record{Who: name, Op: history.Acquire, Shared: s.IntN(4) == 0})
			busy[name] = &b
		case r == nil:
			b := s.begin(history.Record{Who: name, Op: history.Write, Value: history.Int(1), Fence: fences[name]})
			busy[name] = &b
		case r.Op == history.Acquire:
			newest++
			r.Fence = newest
			if wild && s.IntN(6) == 0 {
				r.Fence = max(newest-uint64(s.IntN(3)), 1)
			}
			fences[name] = r.Fence
			s.finish(*r, history.OK)
			busy[name] = nil
		default:
			kind := history.OK
			if r.Fence < newest && s.IntN(6) > 0 {
				kind = history.Fail
			}
			if observed && kind == history.OK {
				s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Apply, Client: name, Value: r.Value, Fence: r.Fence})
			}
			s.finish(*r, kind)
			busy[name] = nil
		}
	}
	return s.end()
}

// dumbFencing compares every two grants and every two writes.
func dumbFencing(h *history.History) Verdict {
	type call struct {
		from, to time.Duration
		history.Record
	}
	begun := map[int]history.Record{}
	var grants, writes []call
	var applied []uint64
	for _, r := range h.Records {
		switch {
		case r.Kind == history.Invoke:
			begun[r.ID] = r
		case r.Op == history.Apply:
			applied = append(applied, r.Fence)
		case r.Kind == history.OK && r.Op == history.Acquire:
			grants = append(grants, call{begun[r.ID].T, r.T, r})
		case r.Kind == history.OK && r.Op == history.Write:
			writes = append(writes, call{begun[r.ID].T, r.T, r})
		}
	}
	if len(grants) == 0 {
		return Unknown
	}
	for i, a := range grants {
		for k, b := range grants {
			if a.to < b.from && a.Fence > b.Fence || i != k && a.Fence == b.Fence && !(a.Shared && b.Shared) {
				return Violated
			}
		}
	}
	for i := range applied {
		for k := range i {
			if applied[k] > applied[i] {
				return Violated
			}
		}
	}
	for _, a := range writes {
		for _, b := range writes {
			if len(applied) == 0 && a.to < b.from && a.Fence > b.Fence {
				return Violated
			}
		}
	}
	return Holds
}
