// Package reports draws what runs found: as a story and a table for people, as
// JSON for programs. It never runs anything.
package reports

import (
	"fmt"
	"strings"

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
	Verdict    checker.Verdict            `json:"verdict"`             // the worst of Verdicts
	Undecided  string                     `json:"undecided,omitempty"` // why the run's outcome cannot be judged
	Failed     string                     `json:"failed,omitempty"`    // why the run could not be carried out; it has no verdicts then
	Verdicts   map[string]checker.Verdict `json:"verdicts"`
	Expected   map[string]checker.Verdict `json:"expected,omitempty"` // empty for a lock that is not in the catalogue
	Reasons    map[string]string          `json:"reasons,omitempty"`  // why a verdict is unknown
	Findings   []checker.Finding          `json:"findings"`
	Figures    []checker.Figure           `json:"figures,omitempty"`
	History    string                     `json:"history"` // path of the file
	SHA256     string                     `json:"history_sha256"`

	// Deterministic says whether a second run with the same seed gave the same
	// history; nil when there was none.
	Deterministic *bool `json:"deterministic,omitempty"`

	// Again is the command that shows the run again; when it is empty, that of a
	// scenario of the catalogue.
	Again string `json:"-"`

	Records *history.History `json:"-"` // what the story is told from; nil when it is not to be told, or when nothing was recorded
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

// SummaryFile is the file of a run directory that JSON writes.
const SummaryFile = "summary.json"

// HistoryFile names the file of a run directory that a run is recorded in.
// Whatever a lock is called, the name is one of a plain file.
func HistoryFile(scenario, version string, seed uint64) string {
	safe := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		default:
			return '-'
		}
	}
	return fmt.Sprintf("%s.%s.%d.jsonl", strings.Map(safe, scenario), strings.Map(safe, version), seed)
}
