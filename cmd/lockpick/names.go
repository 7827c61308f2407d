package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/internal/nearest"
	"lockpick/reports"
	"lockpick/scenarios"
)

// unknown refuses a name. It offers those that resemble it, or else says where
// they all are.
func unknown(what, name string, names []string, see string) error {
	if hint := nearest.Hint(name, names); hint != "" {
		return usagef("there is no %s %q; %s", what, name, hint)
	}
	return usagef("there is no %s %q; see %s", what, name, see)
}

func versionNames() []string { return known().Versions }

func checkNames() []string { return known().Checks }

// known is what a scenario may name.
func known() scenarios.Known { return harness.Known(catalog.All()) }

// versions looks up names of the catalogue.
func versions(names []string) ([]impls.Version, error) {
	var list []impls.Version
	for _, name := range names {
		v, ok := catalog.Lookup(name)
		if !ok {
			return nil, unknown("version", name, versionNames(), "lockpick list versions")
		}
		list = append(list, v)
	}
	return list, nil
}

// file is what a scenario was read from.
type file struct {
	path string
	data []byte
}

// isPath reports whether a scenario is named by its file.
func isPath(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.ContainsRune(name, os.PathSeparator)
}

// scenario finds one by name in the catalogue, or by path.
func (a *app) scenario(name string) (*scenarios.Scenario, error) {
	if isPath(name) {
		return a.load(name)
	}
	if names := scenarios.Names(); !slices.Contains(names, name) {
		return nil, unknown("scenario", name, names, "lockpick list scenarios")
	}
	return scenarios.Lookup(name, known())
}

// load reads a scenario from a file and remembers it for the run directory.
func (a *app) load(path string) (*scenarios.Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, scenarios.MaxFile+1))
	if err != nil {
		return nil, usageError{err}
	}
	s, err := scenarios.Parse(path, data, known())
	if err != nil {
		return nil, usageError{err}
	}
	a.files[s.Name] = file{path, data}
	return s, nil
}

// scenarios returns those that are named, each once, or the whole catalogue. The
// error tells everything that is wrong with any of them.
func (a *app) scenarios(args []string) ([]*scenarios.Scenario, error) {
	if len(args) == 0 {
		return scenarios.Catalog(known())
	}
	var list []*scenarios.Scenario
	var wrong []error
	named := map[string]string{} // scenario to argument
	for _, arg := range args {
		s, err := a.scenario(arg)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		switch earlier, ok := named[s.Name]; {
		case !ok:
			named[s.Name] = arg
			list = append(list, s)
		case earlier != arg:
			wrong = append(wrong, usagef("%s and %s are both called %s, and their histories would be one file", earlier, arg, s.Name))
		}
	}
	if len(wrong) > 0 {
		return nil, several(wrong)
	}
	return list, nil
}

// several makes one error of some. Problems of files are told from the start of
// a line, where an editor finds them.
func several(wrong []error) error {
	err := errors.Join(wrong...)
	var problems scenarios.Errors
	if len(wrong) > 1 || errors.As(err, &problems) {
		return usageError{fmt.Errorf("nothing was run:\n%w", err)}
	}
	return wrong[0]
}

// again is the command that carries out a run again; "" leaves it to the report,
// which knows those of the catalogue.
func (b *batch) again(r reports.Run) string {
	f, ok := b.app.files[r.Scenario]
	ownScale := !b.simulates() && b.app.scale != defaultScale
	if !ok && !ownScale {
		return ""
	}
	what := r.Scenario
	if ok {
		what = quote(f.path)
	}
	text := fmt.Sprintf("lockpick run %s --impl %s --seed %d", what, r.Version, r.Seed)
	if !b.simulates() {
		text += " --testbed " + b.testbed.Name()
	}
	if ownScale {
		text += fmt.Sprintf(" --time-scale %v", b.app.scale)
	}
	return text
}

// quote makes one word of a path for a shell.
func quote(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
