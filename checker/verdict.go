// Package checker decides whether a history broke a lock's promise.
//
// A check sees only the history: not the implementation, not the schedule of
// faults and not the scenario's expectation. A run recorded a year ago can
// therefore be checked again with today's checks.
//
// Verdicts merge worst-first, and the zero value is Unknown, so a check that
// forgets to answer can never be read as a pass.
package checker

import (
	"fmt"
	"time"
)

// Verdict is a check's answer.
type Verdict uint8

// The verdicts.
const (
	Unknown  Verdict = iota // could not decide: nothing to judge, a limit was hit, or the history is cut short
	Holds                   // no violation is possible
	Violated                // a violation is certain; the findings name the records
)

var verdictNames = [...]string{"unknown", "holds", "violated"}

func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i, name := range verdictNames {
		if string(b) == name {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("checker: %q is no verdict", b)
}

// Merge returns the worse of two verdicts: Violated before Unknown before Holds.
func Merge(a, b Verdict) Verdict {
	switch {
	case a == Violated || b == Violated:
		return Violated
	case a == Holds && b == Holds:
		return Holds
	default:
		return Unknown
	}
}

// Finding is the evidence for a violation.
type Finding struct {
	Check string        `json:"check"`
	At    time.Duration `json:"at"`    // when the promise was broken, since the start of the run
	Who   []string      `json:"who"`   // the clients concerned, the culprit first
	Cause string        `json:"cause"` // one sentence
	Lines []int         `json:"lines"` // of the history file, the records that prove it
}

// Figure is something that a check counted.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // "s", "%", or empty for a count
}

// Result is what a check says of a history.
type Result struct {
	Check    string    `json:"check"`
	Verdict  Verdict   `json:"verdict"`
	Reason   string    `json:"reason,omitempty"` // why the verdict is Unknown; empty otherwise
	Idle     bool      `json:"idle,omitempty"`   // the promise is not at stake: nothing in the history puts it to the test (nobody nests, no grant has a fence), or the lock does not make it
	Findings []Finding `json:"findings,omitempty"`
	Figures  []Figure  `json:"figures,omitempty"`
}
