package reports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
)

// DefaultWidth is the width of a report when Options names none.
const DefaultWidth = 120

// MinWidth is the narrowest a report is drawn; a smaller Width counts as this.
const MinWidth = 40

// Options say how a report for people is drawn. The zero value is a plain
// report of DefaultWidth in English.
type Options struct {
	Width int    // columns of the terminal; DefaultWidth when 0
	Color bool   // paint, whatever the environment says
	Full  bool   // leave nothing out of a story or a list
	Lang  string // of headings, titles and lessons: "en", the default, or "zh"

	Wall      time.Duration     // how long it all took by the wall clock; not shown when 0
	Summaries map[string]string // what each version is, in one phrase
	Checks    []checker.Check   // their order, letters and promises; checker.All() when nil

	// Versions that are strategies of the resource and no locks; the matrix shows
	// them apart.
	Strategies []string

	// The order of the matrix: its columns and its rows. What is not named
	// follows in the order in which it was run.
	Versions, Scenarios []string
}

func (o Options) withDefaults() Options {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	o.Width = max(o.Width, MinWidth)
	if o.Checks == nil {
		o.Checks = checker.All()
	}
	return o
}

// check returns the check of that name, or one made up from its name.
func (o Options) check(name string) checker.Check {
	for _, c := range o.Checks {
		if c.Name == name {
			return c
		}
	}
	return checker.Check{Name: name, Letter: strings.ToUpper(name[:min(1, len(name))])}
}

// order returns the names of the checks that a run was judged by, in the order
// of the checks; those that nobody knows come last, by name.
func (o Options) order(verdicts map[string]checker.Verdict) []string {
	rank := func(name string) int {
		i := slices.IndexFunc(o.Checks, func(c checker.Check) bool { return c.Name == name })
		if i < 0 {
			return len(o.Checks)
		}
		return i
	}
	names := make([]string, 0, len(verdicts))
	for name := range verdicts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return names
}

func (o Options) chinese() bool { return o.Lang == "zh" }

// say picks the text of the report's language, and the other when it is missing.
func (o Options) say(en, zh string) string {
	if o.chinese() && zh != "" || en == "" {
		return zh
	}
	return en
}
