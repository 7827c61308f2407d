package reports

import (
	"fmt"
	"strings"

	"lockpick/checker"
)

// standing is how the verdict of a check stands to what was expected of it, the
// most surprising last.
type standing uint8

const (
	held      standing = iota // it holds, and nothing else was expected
	broken                    // violated, as expected
	undecided                 // unknown
	spared                    // it holds, though it was expected to be violated
	surprise                  // violated, and nobody expected it
)

// outcome is how a whole run came out.
type outcome uint8

const (
	asExpected outcome = iota
	unjudged           // what decides it is unknown
	drifted            // it differs from the expectation
	failed             // it could not be carried out
)

// standing of one check. A verdict with no expectation, as of a lock that is not
// in the catalogue, is judged by whether the run as a whole was as expected.
func (r Run) standing(check string) standing {
	want, got := r.Expected[check], r.Verdicts[check]
	expected := want == got
	if want == checker.Unknown {
		expected = r.AsExpected
	}
	switch {
	case got == checker.Violated && expected:
		return broken
	case got == checker.Violated:
		return surprise
	case got == checker.Unknown && !expected:
		return undecided
	case got == checker.Holds && want == checker.Violated:
		return spared
	default:
		return held
	}
}

func (r Run) outcome() outcome {
	worst := held
	for check := range r.Verdicts {
		worst = max(worst, r.standing(check))
	}
	switch {
	case r.Failed != "":
		return failed
	case worst >= spared:
		return drifted
	case r.Undecided != "" || worst == undecided:
		return unjudged
	case r.AsExpected:
		return asExpected
	default:
		return drifted
	}
}

// headline says in two words how the run came out.
func (r Run) headline() string {
	switch out := r.outcome(); {
	case out == failed:
		return "failed"
	case out == unjudged:
		return "undecided"
	case len(r.Expected) == 0 && out == asExpected:
		return "holds"
	case len(r.Expected) == 0:
		return "violated"
	case out == asExpected:
		return "as expected"
	default:
		return "not as expected"
	}
}

// failure says why the run could not be carried out, and where in the code that
// was when it was a panic.
func (r Run) failure() (why, stack string) {
	const begin = "\ngoroutine " // of what runtime/debug.Stack writes
	if at := strings.Index(r.Failed, begin); at >= 0 {
		return r.Failed[:at], strings.TrimSpace(r.Failed[at:])
	}
	return r.Failed, ""
}

// surprises says in one line of every check that differs from its expectation how
// it does, or why there are no verdicts.
func (r Run) surprises(o Options) string {
	if why, _ := r.failure(); why != "" {
		return plainText(why)
	}
	var said []string
	for _, check := range o.order(r.Verdicts) {
		switch want, s := r.Expected[check], r.standing(check); {
		case s == undecided && r.Undecided != "":
		case s == undecided:
			said = append(said, because(check+" unknown", r.Reasons[check]))
		case s == surprise && want == checker.Unknown:
			said = append(said, check+" violated")
		case s >= spared:
			said = append(said, fmt.Sprintf("%s %v, expected %v", check, r.Verdicts[check], want))
		}
	}
	if r.Undecided != "" {
		said = append(said, r.Undecided)
	}
	if len(said) == 0 {
		return r.headline()
	}
	return plainText(strings.Join(said, "; "))
}

// broken says which checks were violated.
func (r Run) broken(o Options) string {
	var names []string
	for _, check := range o.order(r.Verdicts) {
		if r.Verdicts[check] == checker.Violated {
			names = append(names, check)
		}
	}
	if len(names) == 0 {
		return "every check holds"
	}
	return strings.Join(names, ", ") + " violated"
}

// command is what to type to see the run again.
func (r Run) command() string {
	if r.Again != "" {
		return r.Again
	}
	text := fmt.Sprintf("lockpick run %s --impl %s --seed %d", r.Scenario, r.Version, r.Seed)
	if r.Testbed != "" && r.Testbed != "sim" {
		text += " --testbed " + r.Testbed
	}
	return text
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
