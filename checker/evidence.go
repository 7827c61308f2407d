package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/checker/history"
)

// maxFindings is how many findings a check tells of one history. The others are
// counted.
const maxFindings = 10

// NotShown is the figure that says how many those are.
const NotShown = "findings not shown"

// evidence collects the findings of a check.
type evidence struct {
	findings []Finding
	total    int
}

// full reports whether a further finding would only be counted.
func (e *evidence) full() bool { return len(e.findings) >= maxFindings }

// add takes a finding. Negative records are left out; the others become lines.
func (e *evidence) add(at time.Duration, who []string, cause string, records ...int) {
	e.total++
	if e.full() {
		return
	}
	lines := []int{}
	for _, r := range records {
		if r >= 0 {
			lines = append(lines, history.Line(r))
		}
	}
	slices.Sort(lines)
	e.findings = append(e.findings, Finding{At: at, Who: names(who), Cause: cause, Lines: slices.Compact(lines)})
}

// names drops the empty and the repeated ones.
func names(who []string) []string {
	out := []string{}
	for _, w := range who {
		if w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// result is Violated when there is a finding and Holds when there is none.
func (e *evidence) result(figures ...Figure) Result {
	res := Result{Verdict: Holds, Figures: figures}
	if e.total == 0 {
		return res
	}
	res.Verdict = Violated
	slices.SortStableFunc(e.findings, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	res.Findings = e.findings
	if rest := e.total - len(e.findings); rest > 0 {
		res.Figures = append(res.Figures, Figure{Name: NotShown, Value: float64(rest)})
	}
	return res
}

// undecided is the Result of a check that has nothing to judge by.
func undecided(reason string, figures ...Figure) Result {
	return Result{Verdict: Unknown, Reason: reason, Figures: figures}
}

// idle is the Result of a check whose promise nothing in the history puts to the
// test.
func idle(reason string, figures ...Figure) Result {
	res := undecided(reason, figures...)
	res.Idle = true
	return res
}

// phrase is fmt.Sprintf for people: it rounds durations to what can be read. The
// records that a finding names have the nanoseconds.
func phrase(format string, args ...any) string {
	for i, a := range args {
		d, ok := a.(time.Duration)
		switch {
		case !ok:
		case d >= time.Second:
			args[i] = d.Round(100 * time.Microsecond)
		default: // the simulator's least time, a nanosecond, is none
			args[i] = d.Round(time.Microsecond)
		}
	}
	return fmt.Sprintf(format, args...)
}
