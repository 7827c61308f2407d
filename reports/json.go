package reports

import (
	"encoding/json"
	"io"

	"lockpick/checker"
)

// JSON writes the summary as one object for programs. Its keys, their order and
// their meaning are stable; README.md lists them. The error is that of w.
func JSON(w io.Writer, s Summary) error {
	runs := make([]Run, len(s.Runs)) // never null, and the caller's stay as they are
	for i, r := range s.Runs {
		r.Findings = append([]checker.Finding{}, r.Findings...)
		for j, f := range r.Findings {
			r.Findings[j].Who = append([]string{}, f.Who...)
			r.Findings[j].Lines = append([]int{}, f.Lines...)
		}
		if r.Verdicts == nil {
			r.Verdicts = map[string]checker.Verdict{}
		}
		runs[i] = r
	}
	s.Runs = runs
	return Indented(w, s)
}

// Indented writes any value as JSON in the layout of JSON. The error is that of
// w, or of a value that JSON cannot hold.
func Indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
