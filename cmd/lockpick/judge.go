package main

import (
	"lockpick/checker"
	"lockpick/internal/harness"
	"lockpick/reports"
)

// judged compares an outcome with what the scenario expects. A version that the
// scenario says nothing of is judged by the checks alone.
func judged(j job, out *harness.Outcome) reports.Run {
	r := reports.Run{
		Scenario: j.scenario.Name, Version: j.version.Name, Seed: j.seed,
		Undecided: out.Undecided, SHA256: out.SHA256, Records: out.History,
		Verdicts: map[string]checker.Verdict{}, Expected: map[string]checker.Verdict{}, Reasons: map[string]string{},
		AsExpected: out.Undecided == "",
	}
	listed := map[string]bool{}
	for _, name := range j.scenario.Checks {
		listed[name] = true
	}
	for _, res := range out.Results {
		r.Figures = append(r.Figures, res.Figures...)
		text, stated := j.scenario.Expected(res.Check, j.version.Name)
		if !listed[res.Check] || res.Idle && !stated && every(j.scenario.Checks) {
			continue // there for its figures, or because all checks were asked for
		}
		r.Verdicts[res.Check] = res.Verdict
		if res.Reason != "" {
			r.Reasons[res.Check] = res.Reason
		}
		r.Findings = append(r.Findings, res.Findings...)
		want := checker.Holds
		if stated {
			if err := want.UnmarshalText([]byte(text)); err != nil {
				panic(err) // the loader lets no other word through
			}
			r.Expected[res.Check] = want
		}
		r.AsExpected = r.AsExpected && res.Verdict == want
	}
	r.Verdict = worst(r.Verdicts)
	return r
}

// every reports whether the names are those of all checks, of which some have
// nothing to do with most runs.
func every(names []string) bool { return len(names) == len(checkNames()) }

// worst merges the verdicts of a run.
func worst(verdicts map[string]checker.Verdict) checker.Verdict {
	if len(verdicts) == 0 {
		return checker.Unknown
	}
	merged := checker.Holds
	for _, v := range verdicts {
		merged = checker.Merge(merged, v)
	}
	return merged
}

// status is the exit status that a summary asks for.
func status(s reports.Summary) int {
	code := statusOK
	if len(s.Runs) == 0 {
		return statusUndecided // everything was skipped, which is no pass
	}
	for _, r := range s.Runs {
		switch {
		case r.AsExpected:
		case !onlyUnknown(r):
			return statusViolated
		default:
			code = statusUndecided
		}
	}
	return code
}

// onlyUnknown reports whether nothing is wrong with a run but that something of
// it could not be judged. A violation in a history that is cut short is one.
func onlyUnknown(r reports.Run) bool {
	for name, v := range r.Verdicts {
		want, ok := r.Expected[name]
		if !ok {
			want = checker.Holds
		}
		if v != checker.Unknown && v != want {
			return false
		}
	}
	return true
}
