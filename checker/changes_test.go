package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestChangesOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(4_000) {
		h := changeHistory(seed)
		want := dumbChanges(h)
		res := noLostUpdate().Judge(h)
		if res.Verdict == Unknown && want == Holds {
			continue // nobody completed a change
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		if seed < 200 {
			mustSurvive(t, fmt.Sprint("change history ", seed), h)
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// changeHistory lets two clients change a counter. Now and then the store applies
// a change twice, not at all, or late.
func changeHistory(seed uint64) *history.History {
	names := []string{"client-1", "client-2"}
	s := newScript(seed, names...)
	s.h.Header.Workload.Resource = "counter"
	value, wild := int64(0), s.IntN(2) == 0
	apply := func(client string, delta int64) {
		value += delta
		s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Apply, Client: client, Value: history.Int(value)})
	}
	busy := map[string]*history.Record{}
	late := map[string]int64{}
	for range 20 {
		s.tick()
		name := names[s.IntN(len(names))]
		r := busy[name]
		if r == nil {
			delta := int64(1 + s.IntN(2))
			b := s.begin(history.Record{Who: name, Op: history.Change, Value: &delta})
			busy[name] = &b
			continue
		}
		busy[name] = nil
		if late[name] != 0 && s.IntN(2) == 0 {
			apply(name, late[name])
			late[name] = 0
		}
		kind := []history.Kind{history.OK, history.OK, history.Fail, history.Unknown}[s.IntN(4)]
		switch {
		case wild && s.IntN(10) == 0:
		case kind == history.OK:
			apply(name, *r.Value)
		case kind == history.Unknown && late[name] == 0:
			late[name] = *r.Value
		}
		if wild && s.IntN(10) == 0 {
			apply(name, *r.Value)
		}
		s.finish(*r, kind)
	}
	s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Keys, Value: history.Int(value)})
	return s.end()
}

// dumbChanges tries every way to give the applications to the changes, and every
// choice of the changes without a reply.
func dumbChanges(h *history.History) Verdict {
	type change struct {
		who   string
		begin int // the record
		to    time.Duration
		kind  history.Kind
		delta int64
	}
	byID := map[int]*change{}
	var changes []*change
	var applied []int // records
	var final int64
	for i, r := range h.Records {
		switch {
		case r.Kind == history.Invoke:
			byID[r.ID] = &change{r.Who, i, forever, history.Unknown, *r.Value}
			changes = append(changes, byID[r.ID])
		case r.Ends():
			byID[r.ID].kind = r.Kind
			if r.Kind != history.Unknown {
				byID[r.ID].to = r.T
			}
		case r.Op == history.Apply:
			applied = append(applied, i)
		case r.Op == history.Keys:
			final = *r.Value
		}
	}
	used := map[*change]bool{}
	var fits func(k int) bool
	fits = func(k int) bool {
		if k == len(applied) {
			return true
		}
		r := h.Records[applied[k]]
		for _, c := range changes {
			if used[c] || c.who != r.Client || c.kind == history.Fail || c.begin > applied[k] || c.to < r.T {
				continue
			}
			used[c] = true
			ok := fits(k + 1)
			used[c] = false
			if ok {
				return true
			}
		}
		return false
	}
	sum := int64(0)
	var maybe []int64
	for _, c := range changes {
		if c.kind == history.OK {
			sum += c.delta
		} else if c.kind == history.Unknown {
			maybe = append(maybe, c.delta)
		}
	}
	if !fits(0) || len(applied) > 0 && !anySum(maybe, final-sum) {
		return Violated
	}
	return Holds
}

// anySum tries every choice of the numbers.
func anySum(numbers []int64, want int64) bool {
	for choice := range 1 << len(numbers) {
		sum := int64(0)
		for i, n := range numbers {
			if choice>>i&1 == 1 {
				sum += n
			}
		}
		if sum == want {
			return true
		}
	}
	return false
}

func TestReachable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 5))
	for range 2_000 {
		var numbers []int64
		for range rnd.IntN(7) {
			numbers = append(numbers, int64(rnd.IntN(13)-6))
		}
		want := int64(rnd.IntN(41) - 20)
		if got := reachable(numbers, want); got != anySum(numbers, want) {
			t.Fatalf("reachable(%v, %d) = %t", numbers, want, got)
		}
	}
}
