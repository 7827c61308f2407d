package checker

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// maxUpdates is how many reads and writes Porcupine is given at most: it copies
// a set of n bits in every step, which is n²/8 bytes in all.
const maxUpdates = 20_000

// update is one access to the resource as Porcupine sees it: it finds the value
// was and, unless it only reads, leaves the value is. The three kinds:
//
//	read-modify-write  was → is, at one instant between call and ret
//	read               was
//	blind write        is, whatever was there
type update struct {
	call, ret time.Duration
	was, is   int64
	reads     bool // was counts
	writes    bool // is counts
	maybe     bool // it may have happened, at any time from call on, or never
}

// step applies the update to a state. An update that may have happened does
// so where it can; that it never happened is the same as that it came last.
func (u *update) step(state int64) (bool, int64) {
	switch {
	case u.reads && state != u.was:
		return u.maybe, state
	case u.writes:
		return true, u.is
	default:
		return true, state
	}
}

// linearizable asks Porcupine whether the updates fit some order. It is Unknown
// when there are too many of them or the time was not enough.
func linearizable(initial int64, updates []update, limit time.Duration) Verdict {
	updates = withoutUnread(updates)
	if len(updates) > maxUpdates || limit <= 0 {
		return Unknown
	}
	ops := make([]porcupine.Operation, len(updates))
	for i := range updates {
		u := &updates[i]
		ops[i] = porcupine.Operation{ClientId: i, Input: u, Call: int64(u.call), Return: int64(u.ret)}
		if u.maybe {
			ops[i].Return = math.MaxInt64
		}
	}
	model := porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			return input.(*update).step(state.(int64))
		},
		Equal: func(a, b any) bool { return a == b },
		Hash:  func(state any) uint64 { return uint64(state.(int64)) * 0x9E3779B97F4A7C15 },
	}
	switch porcupine.CheckOperationsTimeout(model, ops, limit) {
	case porcupine.Ok:
		return Holds
	case porcupine.Illegal:
		return Violated
	default:
		return Unknown
	}
}

// withoutUnread drops the updates that may have happened and whose value nobody
// found: had they happened, nothing but a blind write or the end could follow,
// so the order without them is as good. Each of them would double the search.
func withoutUnread(updates []update) []update {
	for {
		found := map[int64]int{}
		for _, u := range updates {
			if u.reads {
				found[u.was]++
			}
		}
		var kept []update
		for _, u := range updates {
			n := found[u.is]
			if u.reads && u.was == u.is {
				n-- // its own reading proves nothing
			}
			if !u.maybe || n > 0 {
				kept = append(kept, u)
			}
		}
		if len(kept) == len(updates) {
			return kept
		}
		updates = kept
	}
}
