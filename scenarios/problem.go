package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxProblems is how many problems of one file are reported. Nobody reads more,
// and a file of nothing but mistakes must not cost more than one of a few.
const maxProblems = 100

// Problem is one mistake in a scenario file.
type Problem struct {
	File         string
	Line, Column int    // from 1, in characters
	Message      string // what is wrong; what was expected
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Errors is everything that is wrong with the files that were read, in order of
// file and place.
type Errors []Problem

// Error has one line for every problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sortProblems puts the problems of one file in order of place. Those of one
// place keep the order in which they were found.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
