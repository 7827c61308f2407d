package checker

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"lockpick/checker/history"
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
	return verdictOf(porcupine.CheckOperationsTimeout(model, ops, limit))
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

// lockOp is one operation on a lock as Porcupine sees it.
type lockOp struct {
	span           // to is forever when nobody knows the outcome
	client  int    //
	name    string // history.Acquire, Release or Extend, or expiry
	token   int    // of an acquire and of all that is done with what it grants; from 1
	learned answer //
}

// expiry is the operation of a lease that ends by itself. It is never refused.
const expiry = "expire"

// step applies the operation to the token that holds the lock, 0 when it is free.
func (o *lockOp) step(held int) (bool, int) {
	fits, next := held == o.token, held
	switch o.name {
	case history.Acquire:
		fits, next = held == 0, o.token
	case history.Release, expiry:
		next = 0
	}
	if !fits {
		return o.learned != yes, held
	}
	return o.learned != no, next
}

// lockModel is a lock with an owner, for Porcupine.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, _ any) (bool, any) {
			return input.(*lockOp).step(state.(int))
		},
		Equal: func(a, b any) bool { return a == b },
		Hash:  func(state any) uint64 { return uint64(state.(int)) * 0x9E3779B97F4A7C15 },
	}
}

func lockOperations(ops []lockOp) []porcupine.Operation {
	out := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		out[i] = porcupine.Operation{ClientId: o.client, Input: o, Call: int64(o.from), Return: int64(o.to)}
	}
	return out
}

// drawLock renders the operations as Porcupine's page, and says whether Porcupine
// finds an order for them. The names are the rows', by client.
func drawLock(ops []lockOp, names []string, limit time.Duration) ([]byte, Verdict, error) {
	model := lockModel()
	model.DescribeOperation = func(input, _ any) string {
		o := input.(*lockOp)
		return fmt.Sprintf("%s: %s %s", names[o.client], o.name, o.learned)
	}
	model.DescribeState = func(state any) string {
		for i := range ops {
			if ops[i].name == history.Acquire && ops[i].token == state.(int) {
				return "held by " + names[ops[i].client]
			}
		}
		return "free"
	}
	found, info := porcupine.CheckOperationsVerbose(model, lockOperations(ops), limit)
	var page bytes.Buffer
	if err := porcupine.Visualize(model, info, &page); err != nil {
		return nil, Unknown, fmt.Errorf("checker: draw the history: %w", err)
	}
	return page.Bytes(), verdictOf(found), nil
}

// lockOrder asks Porcupine whether the operations fit some order of a lock. It is
// Unknown when the time was not enough.
func lockOrder(ops []lockOp, limit time.Duration) Verdict {
	return verdictOf(porcupine.CheckOperationsTimeout(lockModel(), lockOperations(ops), limit))
}

func verdictOf(r porcupine.CheckResult) Verdict {
	switch r {
	case porcupine.Ok:
		return Holds
	case porcupine.Illegal:
		return Violated
	default:
		return Unknown
	}
}
