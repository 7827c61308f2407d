package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	a.langFlag(cmd)
	return cmd
}

func (a *app) explain(name string) error {
	var parts []func()
	if slices.Contains(scenarios.Names(), name) || isPath(name) {
		s, err := a.scenario(name)
		if err != nil {
			return err
		}
		parts = append(parts, func() { a.explainScenario(s, name) })
	}
	if v, ok := catalog.Lookup(name); ok {
		parts = append(parts, func() { a.explainVersion(v) })
	}
	if c, ok := checker.Lookup(name); ok {
		parts = append(parts, func() { a.printf("%s (%s)\n\n%s\n\n%s\n", c.Name, c.Letter, c.Promise, c.How) })
	}
	names := slices.Concat(scenarios.Names(), versionNames(), checkNames())
	for _, f := range faults.Catalog() {
		names = append(names, f.Name)
		if f.Name == name {
			parts = append(parts, func() { a.printf("%s: %s\n\n  %s\n", f.Name, f.Summary, f.Example) })
		}
	}
	if len(parts) == 0 {
		return unknown("scenario, version, check or fault", name, names, "lockpick list")
	}
	for i, part := range parts {
		if i > 0 {
			a.printf("\n")
		}
		part()
	}
	return nil
}

func (a *app) explainScenario(s *scenarios.Scenario, arg string) {
	a.printf("%s: %s\n\n%s\n\n", s.Name, a.say(s.Title), a.say(s.Lesson))
	a.printf("where    %s\n", places(s))
	if t := s.Topology; t.Redis == scenarios.Sentinel {
		a.printf("nodes    a primary, replicas: %d, Sentinels: %d, down after %s\n", t.Replicas, scenarios.Sentinels, short(t.DownAfter))
	}
	label := "lock"
	if s.Lock.Count > 1 {
		label = "locks"
	}
	a.printf("%-8s %s, TTL %s, wait %s\n", label, lockKeys(s), short(s.Lock.TTL), short(s.Lock.Wait))
	a.printf("clients  %d, %s, work %s, on a %s\n", s.Workload.Clients, sections(s.Workload), work(s.Workload), s.Workload.Resource)
	if s.Strategies {
		a.printf("%-8s %s\n", "tried on", "locks and strategies")
	}
	for i, step := range s.Steps {
		label = "steps"
		if i > 0 {
			label = ""
		}
		a.printf("%-8s %s\n", label, step)
	}
	a.printf("\nexpected\n")
	for _, c := range s.Checks {
		for _, verdict := range []string{scenarios.Violated, scenarios.Holds, scenarios.Either} {
			if names := expected(s, c, verdict); len(names) > 0 {
				a.printf("  %s %s: %s\n", c, verdict, strings.Join(names, ", "))
			}
		}
	}
	a.printf("\n  lockpick run %s --impl %s\n", quote(arg), example(s))
}

// expected lists the versions of which the scenario expects the verdict, or with
// scenarios.Either that chance decides, among those that it is run with.
func expected(s *scenarios.Scenario, check, verdict string) []string {
	var names []string
	for _, v := range catalog.All() {
		got, ok := s.Expected(check, v.Name)
		if s.EitherWay(check, v.Name) {
			got, ok = scenarios.Either, true
		}
		if ok && got == verdict && harness.Skip(s, v) == "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// lockKeys names what is locked.
func lockKeys(s *scenarios.Scenario) string {
	switch l := s.Lock; {
	case l.Count > 1:
		return s.KeyOf(1) + " to " + s.KeyOf(l.Count)
	case len(l.Also) == 0:
		return l.Key
	}
	return s.Lock.Key + " with " + strings.Join(s.Lock.Also, " and ")
}

// sections says how often the clients lock, and how.
func sections(w scenarios.Workload) string {
	text := "1 round each"
	if w.Rounds > 1 {
		text = fmt.Sprintf("%d rounds each", w.Rounds)
	}
	if w.Threads > 1 {
		text = fmt.Sprintf("%d to a process, %s", w.Threads, text)
	}
	if w.Nest > 1 {
		text += fmt.Sprintf(", nested %d deep", w.Nest)
		if w.Releases < w.Nest {
			text += fmt.Sprintf(" and released %d of %d times", w.Releases, w.Nest)
		}
	}
	if len(w.Keep) > 0 {
		text += ", kept by " + strings.Join(w.Keep, " and ")
	}
	if len(w.Readers) > 0 {
		text += ", shared by " + strings.Join(w.Readers, " and ")
	}
	return text
}

// work says how long the clients work in a section, those apart that differ.
func work(w scenarios.Workload) string {
	text := short(w.Work)
	for _, client := range slices.Sorted(maps.Keys(w.WorkOf)) {
		text += fmt.Sprintf(" (%s: %s)", client, short(w.WorkOf[client]))
	}
	if w.SlowWork.Every > 0 {
		text += fmt.Sprintf(" (one in %d: %s)", w.SlowWork.Every, short(w.SlowWork.Work))
	}
	return text
}

// short is a duration without the zeros at its end: 2m, not 2m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// example is a version that the scenario breaks, or any.
func example(s *scenarios.Scenario) string {
	for _, c := range s.Checks {
		if v := expected(s, c, scenarios.Violated); len(v) > 0 {
			return v[0]
		}
	}
	for _, v := range catalog.All() {
		if harness.Skip(s, v) == "" {
			return v.Name
		}
	}
	return versionNames()[0]
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
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] == "false" || v.Strategy != nil && values[name] == "none" {
			continue // what a strategy has not goes without saying
		}
		a.printf("%-8s %s\n", name, values[name])
	}
	all, err := scenarios.Catalog(known())
	if err != nil {
		a.printf("\nthe catalogue of scenarios has problems:\n%v\n", err)
		return
	}
	var broken []string
	for _, s := range all {
		for _, c := range s.Checks {
			if verdict, ok := s.Expected(c, v.Name); ok && verdict == scenarios.Violated && harness.Skip(s, v) == "" {
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
