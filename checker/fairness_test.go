package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestFairnessOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(2_500) {
		h := queueHistory(seed)
		h.Header.Bounds.Overtakes = int(seed % 3)
		want, most := dumbFairness(h)
		res := fairness().Judge(h)
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		if want != Unknown && int(res.Figures[2].Value) != most {
			t.Fatalf("seed %d: overtaken %v times at most, want %d\n%s", seed, res.Figures[2].Value, most, show(h))
		}
		if seed < 50 {
			mustSurvive(t, fmt.Sprint("queue history ", seed), h)
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// queueHistory lets four clients ask for a lock, whose commands arrive some time
// later, and be granted it in any order. Some are paused.
func queueHistory(seed uint64) *history.History {
	names := []string{"client-1", "client-2", "client-3", "client-4"}
	s := newScript(seed, names...)
	type state struct {
		busy    *history.Record
		arrived bool
		paused  bool
		round   int
	}
	clients := map[string]*state{}
	for _, n := range names {
		clients[n] = &state{}
	}
	for range 40 {
		s.tick()
		name := names[s.IntN(len(names))]
		c := clients[name]
		switch {
		case s.IntN(30) == 0:
			c.paused = !c.paused
			text := history.Healed
			if c.paused {
				text = history.Struck
			}
			s.add(history.Record{Who: history.World, Kind: history.Fault, Op: "pause", Target: name, Text: text})
		case c.busy == nil:
			c.round++
			r := s.begin(history.Record{Who: name, Op: history.Acquire, Round: c.round, Shared: s.IntN(3) == 0})
			c.busy, c.arrived = &r, false
		case !c.arrived:
			c.arrived = true
			s.add(history.Record{Who: "redis-1", Kind: history.Observe, Op: history.Command, Client: name, Command: []string{"SET", "k"}, Sent: s.now})
		case s.IntN(2) == 0:
			s.finish(*c.busy, []history.Kind{history.OK, history.OK, history.Fail, history.Unknown}[s.IntN(4)])
			c.busy = nil
		}
	}
	return s.end()
}

// dumbFairness counts, for every acquire, those of others that were called when
// it stood in line and granted while it still did.
func dumbFairness(h *history.History) (verdict Verdict, most int) {
	type try struct {
		who                 string
		call, arrive, leave time.Duration
		granted             time.Duration
		shared              bool
	}
	const never = time.Duration(1 << 60)
	tries := map[int]*try{}
	open := map[string]int{}
	end := lastInstant(h)
	for _, r := range h.Records {
		switch {
		case r.Kind == history.Invoke:
			tries[r.ID] = &try{r.Who, r.T, never, end, never, r.Shared}
			open[r.Who] = r.ID
		case r.Kind == history.Observe:
			tries[open[r.Client]].arrive = r.T
		case r.Ends():
			tries[r.ID].leave = r.T
			if r.Kind == history.OK {
				tries[r.ID].granted = r.T
			}
		}
	}
	verdict = Unknown
	for _, a := range tries {
		for now := a.leave; now >= a.call; now-- { // the first instant at which it did not run
			if !allRunning(h, a.who, now, now) {
				a.leave = now
			}
		}
		if a.arrive >= a.leave {
			continue
		}
		verdict = max(verdict, Holds)
		n := 0
		for _, b := range tries {
			if b.who != a.who && !(a.shared && b.shared) && b.call > a.arrive && b.granted < a.leave {
				n++
			}
		}
		most = max(most, n)
		if n > h.Header.Bounds.Overtakes {
			verdict = Violated
		}
	}
	return verdict, most
}

func TestRanks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 4))
	for range 200 {
		n := 1 + rnd.IntN(40)
		r, in := newRanks(n), map[int]bool{}
		for range n {
			if k := rnd.IntN(n); !in[k] {
				in[k] = true
				r.add(k)
			}
			least, want := rnd.IntN(n+1), 0
			for k := range in {
				if k >= least {
					want++
				}
			}
			if got := r.from(least); got != want {
				t.Fatalf("%d of %v are not below %d, want %d", got, in, least, want)
			}
		}
	}
}

// A lock that does not claim to be fair is judged, for whoever asks for that by
// name, but the promise is not at stake.
func TestFairnessIsAtStakeWhereItIsClaimed(t *testing.T) {
	const overtaken = `
check fairness
clients client-1 client-2 client-3
client-2 acquire 1s..60s ok b
client-3 acquire 3s..20s ok c
client-3 release 25s..26s ok c
end 100s
`
	for _, tt := range []struct {
		name   string
		labels []string
		idle   bool
	}{
		{"no claim", nil, true},
		{"other labels", []string{"owners are not unique"}, true},
		{"it claims to be fair", []string{history.LabelNotUnique, history.LabelInOrder}, false},
	} {
		h := mustTell(t, overtaken).h
		h.Header.Labels = tt.labels
		res := fairness().Judge(h)
		if res.Verdict != Violated || len(res.Findings) != 1 || res.Idle != tt.idle {
			t.Errorf("%s: %v with %d findings, idle: %v; want violated with 1, idle: %v", tt.name, res.Verdict, len(res.Findings), res.Idle, tt.idle)
		}
	}
}
