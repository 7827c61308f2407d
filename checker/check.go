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

	judge func(*history.History) Result
}

// All lists every check, in the order in which reports show them.
func All() []Check {
	return []Check{
		mutualExclusion(),
		staleUse(),
		ownership(),
		honesty(),
		noDeadlock(),
		noOrphan(),
		noLostUpdate(),
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
func (c Check) Judge(h *history.History) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = Result{Verdict: Unknown, Reason: fmt.Sprintf("the check failed: %v", p)}
		}
		res.Check = c.Name
		for i := range res.Findings {
			res.Findings[i].Check = c.Name
		}
	}()
	res = c.judge(h)
	if res.Verdict == Holds {
		if reason := Undecided(h); reason != "" {
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
