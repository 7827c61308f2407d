package scenarios

import "slices"

// The verdicts that can be expected, in the words of the history and the files.
const (
	Violated = "violated"
	Holds    = "holds"
)

// Either is the word for versions of which chance decides.
const Either = "either"

// updateCheck is the check of the resource: it needs no lock to judge.
const updateCheck = "no-lost-update"

// OfResource reports whether a check is of the resource alone. Of a strategy, a
// version without a lock, only such checks say anything.
func OfResource(check string) bool { return check == updateCheck }

// Expected returns the verdict that check is expected to give of version. ok is
// false when the scenario does not say, or says that chance decides, which is no
// expectation of anything.
func (s *Scenario) Expected(check, version string) (verdict string, ok bool) {
	e := s.Expect[check]
	switch {
	case !s.says(check, version), s.EitherWay(check, version):
		return "", false
	case slices.Contains(e.Violated, version):
		return Violated, true
	case slices.Contains(e.Holds, version):
		return Holds, true
	}
	return e.Others, e.Others != ""
}

// EitherWay reports whether chance decides what check says of version.
func (s *Scenario) EitherWay(check, version string) bool {
	return slices.Contains(s.Expect[check].Either, version)
}

// says reports whether check says anything of version.
func (s *Scenario) says(check, version string) bool {
	return OfResource(check) || !slices.Contains(s.lockless, version)
}

// Uncovered returns the checks that do not say what they expect of version,
// though they say something of it, in the order of Checks. A catalogue is complete
// when there are none for any version that the scenario can be run with.
func (s *Scenario) Uncovered(version string) []string {
	var checks []string
	for _, check := range s.Checks {
		if _, ok := s.Expected(check, version); !ok && s.says(check, version) && !s.EitherWay(check, version) {
			checks = append(checks, check)
		}
	}
	return checks
}
