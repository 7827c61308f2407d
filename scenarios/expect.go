package scenarios

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

var expectationFields = []field[lists]{
	{name: "violated", read: func(_ *reader, n *yaml.Node, l *lists) { l.violated = n }},
	{name: "holds", read: func(_ *reader, n *yaml.Node, l *lists) { l.holds = n }},
	{name: Either, read: func(_ *reader, n *yaml.Node, l *lists) { l.either = n }},
}

// lists are the nodes of an Expectation.
type lists struct{ violated, holds, either *yaml.Node }

// readNeeds reads which traits a version must have.
func readNeeds(r *reader, n *yaml.Node, s *Scenario) {
	pairs, _ := r.pairs(n, "needs", "expected traits with the values that will do, such as {renew: [blind, owned]}")
	for _, p := range pairs {
		trait := p.key.Value
		var values []string
		if r.known.Traits != nil {
			var ok bool
			if values, ok = r.known.Traits[trait]; !ok {
				r.wrong(p.key, "unknown trait %s; %s", quote(trait), meant(trait, slices.Sorted(maps.Keys(r.known.Traits))))
				continue
			}
		}
		if s.Needs == nil {
			s.Needs = map[string][]string{}
		}
		s.Needs[trait] = r.traitValues(p.value, trait, values)
	}
}

// readVariants reads which variants are tried.
func readVariants(r *reader, n *yaml.Node, s *Scenario) {
	items, _ := r.list(n, "variants", "of variants of versions, such as [redlock-no-elapsed]")
	for _, item := range items {
		name, ok := r.name(item, "a variant")
		switch {
		case !ok || r.full:
		case slices.Contains(s.Variants, name):
			r.wrong(item, "variant %s is listed twice; expected it once", quote(name))
		case r.known.Versions != nil && !slices.Contains(r.known.Versions, name):
			r.wrong(item, "unknown variant %s; %s", quote(name), meant(name, r.known.Variants))
		case r.known.Versions != nil && !slices.Contains(r.known.Variants, name):
			r.wrong(item, "version %s is no variant and is tried anyway; %s", quote(name), meant(name, r.known.Variants))
		default:
			s.Variants = append(s.Variants, name)
		}
	}
}

// traitValues reads the list of a trait's values; known is nil when any will do.
// true and false are values of the traits that a version has or has not.
func (r *reader) traitValues(n *yaml.Node, trait string, known []string) []string {
	items, ok := r.list(n, "trait "+quote(trait), "of the values that will do, such as [blind, owned]")
	if ok && len(items) == 0 {
		r.wrong(n, "trait %s has no values, so no version will do; expected at least one", quote(trait))
	}
	var values []string
	for _, item := range items {
		value := item.Value
		switch {
		case unreadable(item):
		case item.Kind != yaml.ScalarNode || item.Tag != "!!str" && item.Tag != "!!bool" || value == "":
			r.wrong(item, "a value of trait %s is %s; expected a word", quote(trait), describe(item))
		case known != nil && !slices.Contains(known, value):
			r.wrong(item, "unknown value %s of trait %s; %s", quote(value), quote(trait), meant(value, known))
		case slices.Contains(values, value):
			r.wrong(item, "value %s of trait %s is listed twice; expected it once", quote(value), quote(trait))
		default:
			values = append(values, value)
		}
	}
	return values
}

// readChecks keeps the names of unknown checks too, so that what is expected of
// them is not reported again.
func readChecks(r *reader, n *yaml.Node, s *Scenario) {
	items, ok := r.list(n, "checks", "of the checks that judge, such as [mutual-exclusion]")
	if ok && len(items) == 0 {
		r.wrong(n, "checks is an empty list, so nothing would be judged; expected at least one check")
	}
	r.checks = map[string]*yaml.Node{}
	for _, item := range items {
		name, ok := r.name(item, "a check")
		switch {
		case !ok || r.full:
			continue
		case r.checks[name] != nil:
			r.wrong(item, "check %s is listed twice; expected it once", quote(name))
			continue
		case r.known.Checks != nil && !slices.Contains(r.known.Checks, name):
			r.wrong(item, "unknown check %s; %s", quote(name), meant(name, r.known.Checks))
		}
		r.checks[name] = item
		s.Checks = append(s.Checks, name)
	}
}

// readExpect reads what every version is expected to come out as. Checks and
// expectations must be of the same checks, so that none judges for nothing.
func readExpect(r *reader, n *yaml.Node, s *Scenario) {
	pairs, ok := r.pairs(n, "expect", "expected the checks with {violated, holds}")
	if !ok {
		return
	}
	s.Expect = make(map[string]Expectation, len(pairs))
	mentioned := map[string]bool{}
	for _, p := range pairs {
		check := p.key.Value
		mentioned[check] = true
		if len(r.checks) > 0 && r.checks[check] == nil && !r.full {
			r.wrong(p.key, "%s is expected of, but not among the checks; %s", quote(check), meant(check, s.Checks))
		}
		s.Expect[check] = r.expectation(p.value, check)
	}
	for _, check := range s.Checks {
		if !mentioned[check] {
			r.wrong(r.checks[check], "check %s has no expectation; expected one, such as expect: {%s: {holds: []}}", quote(check), check)
		}
	}
}

func (r *reader) expectation(n *yaml.Node, check string) Expectation {
	var l lists
	what := "the expectation of " + quote(check)
	if given := mapping(r, n, what, expectationFields, &l); given != nil && l.violated == nil && l.holds == nil {
		r.wrong(n, "%s is empty; expected violated:, holds: or either:", what)
	}
	var e Expectation
	switch {
	case areOthers(l.violated) && areOthers(l.holds):
		r.wrong(l.holds, "violated and holds are both others; expected a list of versions for one of them")
		return e
	case areOthers(l.violated):
		e.Others, l.violated = Violated, nil
	case areOthers(l.holds):
		e.Others, l.holds = Holds, nil
	}
	seen := map[string]string{}
	e.Violated = r.versions(l.violated, Violated, check, seen)
	e.Holds = r.versions(l.holds, Holds, check, seen)
	e.Either = r.versions(l.either, Either, check, seen)
	return e
}

// areOthers reports whether n is the word for all versions that are not listed.
func areOthers(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Value == others && !unreadable(n)
}

// versions reads the versions with one verdict. seen holds the verdict of those
// that were read before.
func (r *reader) versions(n *yaml.Node, verdict, check string, seen map[string]string) []string {
	if n == nil {
		return nil
	}
	which := "of versions, or others for all that are not listed"
	if verdict == Either {
		which = "of versions"
	}
	items, _ := r.list(n, verdict, which)
	var list []string
	for _, item := range items {
		name, ok := r.name(item, "a version")
		if !ok || r.full {
			continue
		}
		switch earlier := seen[name]; {
		case name == others && verdict == Either:
			r.wrong(item, "others cannot all be left to chance; expected versions by name")
		case name == others:
			r.wrong(item, "others stands for a whole list; expected %s: others", verdict)
		case earlier == verdict:
			r.wrong(item, "version %s is listed twice under %s; expected it once", quote(name), verdict)
		case earlier != "":
			r.wrong(item, "version %s is under %s and under %s; expected one of them", quote(name), earlier, verdict)
		case r.known.Versions != nil && !slices.Contains(r.known.Versions, name):
			r.wrong(item, "unknown version %s; %s", quote(name), meant(name, r.known.Versions))
		case slices.Contains(r.known.Strategies, name) && !OfResource(check):
			r.wrong(item, "version %s has no lock, so %s says nothing of it; expected it under %s alone", quote(name), check, updateCheck)
		default:
			list = append(list, name)
		}
		seen[name] = verdict
	}
	return list
}
