package main

import (
	"errors"
	"os"
	"slices"

	"lockpick/checker"
	"lockpick/checker/history"
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
		text, stated := j.scenario.Expected(res.Check, j.version.Name)
		if !listed[res.Check] || res.Idle && !stated && every(j.scenario.Checks) {
			r.Figures = append(r.Figures, counted(res)...)
			continue // there for its figures, or because all checks were asked for
		}
		r.Figures = append(r.Figures, res.Figures...)
		r.Verdicts[res.Check] = res.Verdict
		if res.Reason != "" {
			r.Reasons[res.Check] = res.Reason
		}
		r.Findings = append(r.Findings, res.Findings...)
		want := checker.Holds
		switch chance := j.scenario.EitherWay(res.Check, j.version.Name); {
		case stated:
			if err := want.UnmarshalText([]byte(text)); err != nil {
				panic(err) // the loader lets no other word through
			}
			r.Expected[res.Check] = want
		case chance && res.Verdict != checker.Unknown:
			want = res.Verdict
			r.Expected[res.Check] = want
		}
		r.AsExpected = r.AsExpected && res.Verdict == want
	}
	r.Verdict = worst(r.Verdicts)
	return r
}

// counted are the figures of a check of which nothing else is told.
func counted(res checker.Result) []checker.Figure {
	return slices.DeleteFunc(slices.Clone(res.Figures), func(f checker.Figure) bool { return f.Name == checker.NotShown })
}

// failed is a run that the harness or the testbed could not carry out, with what
// it had recorded by then.
func failed(j job, why error, path string, deterministic *bool) (reports.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return reports.Run{}, err
	}
	defer f.Close()
	h, sum, _ := history.DecodeSum(f) // it may stop anywhere
	if cause := errors.Unwrap(why); cause != nil {
		why = cause // which run it was is said beside it
	}
	text := why.Error()
	if deterministic != nil {
		text = "when it was repeated: " + text
	}
	return reports.Run{
		Scenario: j.scenario.Name, Version: j.version.Name, Seed: j.seed,
		Failed: text, SHA256: sum, Records: h, Deterministic: deterministic,
	}, nil
}

// every reports whether the names are those of all checks, of which some have
// nothing to do with most runs.
func every(names []string) bool { return len(names) == len(checker.All()) }

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
	if slices.ContainsFunc(s.Runs, func(r reports.Run) bool { return r.Failed != "" }) {
		return statusFailed
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
