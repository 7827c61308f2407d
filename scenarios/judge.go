package scenarios

import "slices"

// The verdicts that can be expected, in the words of the history and the files.
const (
	Violated = "violated"
	Holds    = "holds"
)

// Expected returns the verdict that check is expected to give of version. ok is
// false when the scenario does not say, which is no expectation of anything.
func (s *Scenario) Expected(check, version string) (verdict string, ok bool) {
	e := s.Expect[check]
	switch {
	case slices.Contains(e.Violated, version):
		return Violated, true
	case slices.Contains(e.Holds, version):
		return Holds, true
	}
	return "", false
}

// Uncovered returns the checks that do not say what they expect of version, in
// the order of Checks. A catalogue is complete when there are none for any
// version that the scenario can be run with.
func (s *Scenario) Uncovered(version string) []string {
	var checks []string
	for _, check := range s.Checks {
		if _, ok := s.Expected(check, version); !ok {
			checks = append(checks, check)
		}
	}
	return checks
}
