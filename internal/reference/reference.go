// Package reference writes the reference in docs/: a page for every version and
// every scenario, and one each for the checks and the faults.
//
// It makes nothing up. A version's page is its entry in the catalogue, the
// comment of its package, and what the scenarios expect of it; a scenario's page
// is its YAML file. It runs nothing.
//
// The rule that surprises: nobody edits these pages. A test fails when one of
// them differs from what is written here, or belongs to nothing that exists.
package reference

import (
	"fmt"
	"io/fs"
	"strings"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/scenarios"
)

// Where the pages are, from the directory docs.
const (
	contentsPage = "README.md"
	checksPage   = "checks.md"
	faultsPage   = "faults.md"
	versionsDir  = "versions"
	scenariosDir = "scenarios"
	indexPage    = "README.md" // of a directory
)

// Dirs are the directories that have nothing but pages of the reference.
func Dirs() []string { return []string{versionsDir, scenariosDir} }

// book is what the pages are written from.
type book struct {
	versions  []impls.Version
	scenarios []*scenarios.Scenario
	checks    []checker.Check
	faults    []faults.Entry
	remarks   map[string]string  // by scenario: the comment at the head of its file
	packages  map[string]comment // by version
	others    []other
}

// Pages returns the text of every page by its path from docs, with slashes. It
// reads the module's files from root. The error is for a catalogue with problems
// and for a version without a package of its own.
func Pages(root fs.FS) (map[string]string, error) {
	b := &book{versions: catalog.All(), checks: checker.All(), faults: faults.Catalog()}
	known := harness.Known(b.versions)
	var err error
	if b.scenarios, err = scenarios.Catalog(known); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if b.packages, err = packageComments(root, known.Versions); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if b.remarks, err = remarks(root, b.scenarios); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if b.others, err = otherPages(root); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	pages := map[string]string{
		contentsPage:                   b.contents(),
		checksPage:                     b.checkList(),
		faultsPage:                     b.faultList(),
		versionsDir + "/" + indexPage:  b.versionIndex(),
		scenariosDir + "/" + indexPage: b.scenarioIndex(),
	}
	for _, v := range b.versions {
		pages[versionsDir+"/"+v.Name+".md"] = b.version(v)
	}
	for _, s := range b.scenarios {
		pages[scenariosDir+"/"+s.Name+".md"] = b.scenario(s)
	}
	for path, text := range pages {
		pages[path] = strings.TrimRight(text, "\n") + "\n"
	}
	return pages, nil
}

// judged lists the checks that decide the outcome of the pair. A strategy has no
// lock, so nothing but the resource can be judged of it.
func judged(s *scenarios.Scenario, v impls.Version) []string {
	if v.Strategy == nil {
		return s.Checks
	}
	var checks []string
	for _, c := range s.Checks {
		if scenarios.OfResource(c) {
			checks = append(checks, c)
		}
	}
	return checks
}

// broken and kept list the checks of which the scenario expects that they are
// violated, and that they hold.
func broken(s *scenarios.Scenario, v impls.Version) []string {
	return expected(s, v, scenarios.Violated)
}

func kept(s *scenarios.Scenario, v impls.Version) []string { return expected(s, v, scenarios.Holds) }

func expected(s *scenarios.Scenario, v impls.Version, verdict string) []string {
	var checks []string
	for _, c := range judged(s, v) {
		if got, ok := s.Expected(c, v.Name); ok && got == verdict {
			checks = append(checks, c)
		}
	}
	return checks
}

// tried lists the versions that the scenario is run with, and the reasons why
// the others are not.
func (b *book) tried(s *scenarios.Scenario) (run []impls.Version, left *reasons) {
	left = &reasons{}
	for _, v := range b.versions {
		if why := harness.Skip(s, v); why != "" {
			left.add(why, v.Name)
		} else {
			run = append(run, v)
		}
	}
	return run, left
}

// reasons keeps names by why they were left out, in the order in which they came.
type reasons struct {
	order []string
	names map[string][]string
}

func (r *reasons) add(why, name string) {
	if r.names == nil {
		r.names = map[string][]string{}
	}
	if r.names[why] == nil {
		r.order = append(r.order, why)
	}
	r.names[why] = append(r.names[why], name)
}
