package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/scenarios"
)

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Say what a scenario, version, check or fault is about",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("explain needs one name of a scenario, version, check or fault")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkFlags(); err != nil {
				return err
			}
			return a.explain(args[0])
		},
	}
	cmd.Flags().StringVar(&a.lang, "lang", "en", "language of titles and lessons: en or zh")
	a.format = "text"
	return cmd
}

func (a *app) explain(name string) error {
	found := false
	if slices.Contains(scenarios.Names(), name) || strings.HasSuffix(name, ".yaml") {
		s, err := a.scenario(name)
		if err != nil {
			return err
		}
		a.explainScenario(s)
		found = true
	}
	if v, ok := catalog.Lookup(name); ok {
		a.explainVersion(v)
		found = true
	}
	if c, ok := checker.Lookup(name); ok {
		a.printf("%s (%s)\n\n%s\n\n%s\n", c.Name, c.Letter, c.Promise, c.How)
		found = true
	}
	names := slices.Concat(scenarios.Names(), versionNames(), checkNames())
	for _, f := range faults.Catalog() {
		names = append(names, f.Name)
		if f.Name == name {
			a.printf("%s: %s\n\n  %s\n", f.Name, f.Summary, f.Example)
			found = true
		}
	}
	if !found {
		return usagef("nothing is called %q%s; see lockpick list", name, a.hint(name, names))
	}
	return nil
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

func (a *app) explainScenario(s *scenarios.Scenario) {
	a.printf("%s: %s\n\n%s\n\n", s.Name, a.say(s.Title), a.say(s.Lesson))
	a.printf("where    %s\n", places(s))
	a.printf("lock     %s, TTL %v, wait %v\n", s.Lock.Key, s.Lock.TTL, s.Lock.Wait)
	a.printf("clients  %d, %d rounds each, work %v, on a %s\n", s.Workload.Clients, s.Workload.Rounds, s.Workload.Work, s.Workload.Resource)
	for i, step := range s.Steps {
		label := "steps"
		if i > 0 {
			label = ""
		}
		a.printf("%-8s %s\n", label, step)
	}
	a.printf("\nexpected\n")
	for _, c := range s.Checks {
		e := s.Expect[c]
		for _, part := range []struct {
			verdict  string
			versions []string
		}{{"violated", e.Violated}, {"holds", e.Holds}} {
			if len(part.versions) > 0 {
				a.printf("  %s %s: %s\n", c, part.verdict, strings.Join(part.versions, ", "))
			}
		}
	}
	a.printf("\n  lockpick run %s --impl %s\n", s.Name, example(s))
}

// example is a version that the scenario breaks, or any.
func example(s *scenarios.Scenario) string {
	for _, c := range s.Checks {
		if v := s.Expect[c].Violated; len(v) > 0 {
			return v[0]
		}
	}
	return s.Expect[s.Checks[0]].Holds[0]
}

// places are where the documents tell of the scenario.
func places(s *scenarios.Scenario) string {
	var list []string
	for _, d := range s.Documents {
		list = append(list, document(d.File)+" "+d.Section)
	}
	if len(list) == 0 {
		return "beyond the documents"
	}
	return strings.Join(list, ", ")
}

// document is the short name that the documentation gives a document.
func document(file string) string {
	switch {
	case strings.HasPrefix(file, "000_"):
		return "D1"
	case strings.HasPrefix(file, "002_"):
		return "D2"
	default:
		return file
	}
}

func (a *app) explainVersion(v impls.Version) {
	a.printf("%s: %s\n\nwhere    %s\n", v.Name, v.Summary, v.Where)
	values := harness.TraitValues(v.Traits)
	var traits []string
	for name := range values {
		traits = append(traits, name)
	}
	slices.Sort(traits)
	for _, name := range traits {
		if values[name] != "false" {
			a.printf("%-8s %s\n", name, values[name])
		}
	}
	all, err := scenarios.Catalog(known())
	if err != nil {
		a.printf("\nthe catalogue of scenarios has problems:\n%v\n", err)
		return
	}
	var broken []string
	for _, s := range all {
		for _, c := range s.Checks {
			if verdict, ok := s.Expected(c, v.Name); ok && verdict == scenarios.Violated {
				broken = append(broken, fmt.Sprintf("  %-22s %s", s.Name, c))
			}
		}
	}
	if len(broken) == 0 {
		a.printf("\nno scenario breaks it\n")
		return
	}
	a.printf("\nbreaks in\n%s\n", strings.Join(broken, "\n"))
}
