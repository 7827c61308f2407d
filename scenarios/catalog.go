package scenarios

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lockpick/internal/nearest"
)

//go:embed catalog/*.yaml
var files embed.FS

const (
	catalogDir = "catalog"
	extension  = ".yaml"
)

// order is that of the documents: from the lock that never expires to what no
// lease survives. Scenarios that it does not name come after, by name.
var order = []string{
	"crash-no-ttl", "crash-between", "pause-between",
	"delete-other", "get-del-window", "same-value",
	"work-outlives-lease", "lease-too-long",
	"renew-other", "renewal-dies", "renewal-after-release", "extend-on-request", "extend-expired",
	"gc-pause", "gc-pause-tells", "gc-pause-late", "clock-jump-single",
	"release-zero", "single-down", "oversell", "counter-200",
}

// Names lists the scenarios of the catalogue in the order of the documents.
func Names() []string {
	entries, err := fs.ReadDir(files, catalogDir)
	if err != nil {
		panic(err) // the directory is part of the program
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), extension))
	}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return list
}

// Catalog reads every scenario of the catalogue, in the order of Names. The
// error is of type Errors and tells everything that is wrong with any of them.
func Catalog(known Known) ([]*Scenario, error) {
	var all []*Scenario
	var wrong Errors
	for _, name := range Names() {
		s, err := embedded(name, known)
		var problems Errors
		switch {
		case errors.As(err, &problems):
			wrong = append(wrong, problems...)
		case err != nil:
			return nil, err
		default:
			all = append(all, s)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return all, nil
}

// Lookup reads the scenario of that name from the catalogue. The error is that
// there is none, with the nearest names, or the Errors of Parse.
func Lookup(name string, known Known) (*Scenario, error) {
	list := Names()
	if slices.Contains(list, name) {
		return embedded(name, known)
	}
	if hint := nearest.Hint(name, list); hint != "" {
		return nil, fmt.Errorf("scenarios: no scenario is called %q; %s", name, hint)
	}
	return nil, fmt.Errorf("scenarios: no scenario is called %q", name)
}

func embedded(name string, known Known) (*Scenario, error) {
	file := path.Join(catalogDir, name+extension)
	data, err := files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	return parse(path.Join("scenarios", file), data, known, name)
}
