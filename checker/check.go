package checker

import (
	"fmt"

	"lockpick/checker/history"
)

// Check is one promise and the way to judge it.
type Check struct {
	Name    string
	Letter  string // one letter, for tables
	Promise string // one sentence
	How     string // how it is decided, what it cannot see, and its defaults

	judge func(*index) Result
	whole bool // where there are several locks it judges all of them together
}

// All lists every check, in the order in which reports show them.
func All() []Check {
	return []Check{
		mutualExclusion(),
		staleUse(),
		linearizability(),
		ownership(),
		honesty(),
		noDeadlock(),
		noOrphan(),
		noLostUpdate(),
		fencing(),
		fairness(),
		reentrancy(),
		availability(),
		footprint(),
	}
}

// Lookup returns the check of that name.
func Lookup(name string) (Check, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}

// Judge applies the check to a history. A check that panics says Unknown, and so
// does one that found no violation in a history that is cut short or that the
// harness could not complete: what came after might have broken the promise.
func (c Check) Judge(h *history.History) Result { return JudgeAll(h, []Check{c})[0] }

// JudgeAll applies the checks to a history, one after the other. It is faster
// than their Judge, because they share what all of them need.
func JudgeAll(h *history.History, checks []Check) []Result {
	shared := once(func() *index { return newIndex(h) })
	results := make([]Result, len(checks))
	var each []Check // that judge every lock alone
	var at []int
	for i, c := range checks {
		if h.Header.Lock.Count > 1 && !c.whole {
			each, at = append(each, c), append(at, i)
		} else {
			results[i] = c.on(shared)
		}
	}
	if len(each) > 0 {
		for k, res := range judgeByLock(h, each) {
			results[at[k]] = res
		}
	}
	return results
}

// once returns what arranges a history when it is first asked for.
func once(arrange func() *index) func() *index {
	var ix *index
	return func() *index {
		if ix == nil {
			ix = arrange()
		}
		return ix
	}
}

func (c Check) on(arranged func() *index) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = Result{Verdict: Unknown, Reason: fmt.Sprintf("the check failed: %v", p)}
		}
		res.Check = c.Name
		for i := range res.Findings {
			res.Findings[i].Check = c.Name
		}
	}()
	ix := arranged()
	res = c.judge(ix)
	if res.Verdict == Holds {
		if reason := Undecided(ix.h); reason != "" {
			res.Verdict, res.Reason = Unknown, reason
		}
	}
	return res
}

// Undecided says why nothing can be said to hold in the history, or "".
func Undecided(h *history.History) string {
	if !h.Complete {
		return "the history is cut short"
	}
	if n := len(h.Records); n > 0 {
		return h.Records[n-1].Text
	}
	return "the history is empty"
}
