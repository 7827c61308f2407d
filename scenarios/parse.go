package scenarios

import (
	"fmt"
	"io"
	"os"
)

// Limits of what a scenario may ask for.
const (
	MaxFile    = 256 << 10 // bytes
	MaxClients = 1000
	MaxRounds  = 10_000
	MaxHours   = 24 // of any duration
	MaxNest    = 9
)

// Known says which names exist outside the scenarios. A nil field leaves its
// names unchecked, for somebody's own lock, which is in no catalogue.
type Known struct {
	Versions   []string
	Variants   []string // those of Versions that differ from another in one rule, and are tried only where a scenario lists them
	Strategies []string // those of Versions that have no lock, of whom only the checks of the resource say anything
	Checks     []string
	Traits     map[string][]string // trait to the values that it can have
}

// Parse reads one scenario. file is what the problems name and is not opened.
// The error is of type Errors and tells everything that is wrong at once.
func Parse(file string, data []byte, known Known) (*Scenario, error) {
	return parse(file, data, known, "")
}

// Load reads the scenario in the file at path. The error is that of opening or
// reading the file, or the Errors of Parse.
func Load(path string, known Known) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("scenarios: read %s: %w", path, err)
	}
	return Parse(path, data, known)
}

// parse is Parse of a scenario that has to have the name called, when that is
// not empty.
func parse(file string, data []byte, known Known, called string) (*Scenario, error) {
	r := &reader{file: file, known: known, called: called}
	s := &Scenario{File: file, lockless: known.Strategies}
	if root := r.tree(data); root != nil {
		r.plain(root)
		r.scenario(root, s)
	}
	if len(r.problems) > 0 {
		sortProblems(r.problems)
		if r.full {
			last := r.problems[len(r.problems)-1]
			last.Message = fmt.Sprintf("more than %d problems; the rest is not shown", maxProblems)
			r.problems = append(r.problems, last)
		}
		return nil, Errors(r.problems)
	}
	return s, nil
}
