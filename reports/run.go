// Package reports draws what runs found: as a story and a table for people, as
// JSON for programs. It never runs anything.
package reports

import (
	"lockpick/checker"
	"lockpick/checker/history"
)

// Run is one judged run.
type Run struct {
	Scenario   string                     `json:"scenario"`
	Version    string                     `json:"version"`
	Testbed    string                     `json:"testbed"`
	Seed       uint64                     `json:"seed"`
	AsExpected bool                       `json:"as_expected"`
	Undecided  string                     `json:"undecided,omitempty"` // why the run's outcome cannot be judged
	Verdicts   map[string]checker.Verdict `json:"verdicts"`
	Expected   map[string]checker.Verdict `json:"expected,omitempty"` // empty for a lock that is not in the catalogue
	Reasons    map[string]string          `json:"reasons,omitempty"`  // why a verdict is unknown
	Findings   []checker.Finding          `json:"findings"`
	Figures    []checker.Figure           `json:"figures,omitempty"`
	History    string                     `json:"history"` // path of the file
	SHA256     string                     `json:"history_sha256"`

	Records *history.History `json:"-"` // what the story is told from; nil when it is not to be told
}

// Skip is a pair that was not run, which is never a pass.
type Skip struct {
	Scenario string `json:"scenario"`
	Version  string `json:"version"`
	Reason   string `json:"reason"`
}

// Summary is everything that one command ran.
type Summary struct {
	Runs       []Run  `json:"runs"`
	Skipped    []Skip `json:"skipped,omitempty"`
	AsExpected bool   `json:"as_expected"`
}
