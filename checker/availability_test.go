package checker

import (
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestAvailabilityOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(5_000) {
		h := lockHistory(seed)
		h.Header.Bounds.Availability = 5
		want := dumbAvailability(h)
		got := availability().Judge(h).Verdict
		if got != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, availability().Judge(h), want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// dumbAvailability looks at every nanosecond.
func dumbAvailability(h *history.History) Verdict {
	end := lastInstant(h)
	verdict, judged := Holds, false
	for i, r := range h.Records {
		if r.Op != history.Acquire || r.Kind != history.Invoke {
			continue
		}
		until, failed := end, false
		for _, e := range h.Records[i+1:] {
			if e.ID == r.ID {
				until, failed = e.T, e.Kind != history.OK
			}
		}
		if crashedBy(h, r.Who, until) {
			continue
		}
		judged = true
		free := time.Duration(0)
		for now := r.T; now < until; now++ {
			free++
			if !running(h, r.Who, now) {
				free = 0
				continue
			}
			if slices.ContainsFunc(h.Header.Workload.Clients, func(c string) bool {
				return believes(h, c, now) && running(h, c, now)
			}) {
				free = 0
			}
			if free > 5 {
				verdict = Violated
			}
		}
		if failed && allRunning(h, r.Who, r.T, until) && !touches(h, r.T, until) {
			verdict = Violated
		}
	}
	if !judged {
		return Unknown
	}
	return verdict
}

// running says whether the client was neither paused nor dead right after t.
func running(h *history.History, name string, t time.Duration) bool {
	paused := false
	for _, r := range h.Records {
		if r.T > t {
			break
		}
		if r.Target == name && r.Op == "crash" {
			return false
		}
		if r.Target == name && r.Op == "pause" {
			paused = r.Text == history.Struck
		}
	}
	return !paused
}

// crashedBy says whether the client was dead at t.
func crashedBy(h *history.History, name string, t time.Duration) bool {
	return slices.ContainsFunc(h.Records, func(r history.Record) bool {
		return r.Target == name && r.Op == "crash" && r.T <= t
	})
}

// allRunning is strict: a fault that only touches the time counts.
func allRunning(h *history.History, name string, from, to time.Duration) bool {
	if !running(h, name, max(from-1, 0)) && from > 0 || !running(h, name, from) {
		return false
	}
	for _, r := range h.Records {
		if r.Target == name && r.T >= from && r.T <= to {
			return false
		}
	}
	return true
}

// touches reports whether what a running client handled has so much as an
// instant in common with the time.
func touches(h *history.History, from, to time.Duration) bool {
	for _, name := range h.Header.Workload.Clients {
		for _, s := range handled(h, name) {
			for now := s.from; now < s.to; now++ {
				if running(h, name, now) && now <= to && now+1 >= from {
					return true
				}
			}
		}
	}
	return false
}

// handled is from when to when the client was getting its leases, had them, or
// was giving them back.
func handled(h *history.History, name string) []span {
	begun := map[int]time.Duration{}
	rounds := map[int]*span{}
	for _, r := range h.Records {
		if r.Who != name {
			continue
		}
		switch {
		case r.Kind == history.Invoke:
			begun[r.ID] = r.T
		case r.Op == history.Acquire && r.Kind == history.OK:
			rounds[r.Round] = &span{begun[r.ID], lastInstant(h)}
		case r.Op == history.Release && r.Ends() && rounds[r.Round] != nil:
			rounds[r.Round].to = r.T
		}
	}
	var out []span
	for _, s := range rounds {
		out = append(out, *s)
	}
	return out
}
