package main

import (
	"bytes"
	"testing"

	"lockpick/checker"
	"lockpick/reports"
)

func TestWarnOfRunsThatDiffer(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name string
		runs []reports.Run
		want string
	}{
		{"run once", []reports.Run{{Scenario: "a", Version: "v", Seed: 1}}, ""},
		{"the same twice", []reports.Run{{Scenario: "a", Version: "v", Seed: 1, Deterministic: &yes}}, ""},
		{"two differ", []reports.Run{
			{Scenario: "a", Version: "v", Seed: 1, Deterministic: &no},
			{Scenario: "b", Version: "v", Seed: 1, Deterministic: &yes},
			{Scenario: "c", Version: "w", Seed: 9, Deterministic: &no},
		}, "\n! NOT DETERMINISTIC: a second run with the same seed gave another history: a × v (seed 1), c × w (seed 9)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{out: &out}
			a.warn(reports.Summary{Runs: tt.runs})
			if got := out.String(); got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	type verdicts = map[string]checker.Verdict
	expected := reports.Run{AsExpected: true, Verdicts: verdicts{"a": checker.Violated}, Expected: verdicts{"a": checker.Violated}}
	violated := reports.Run{Verdicts: verdicts{"a": checker.Violated}}
	spared := reports.Run{Verdicts: verdicts{"a": checker.Holds}, Expected: verdicts{"a": checker.Violated}}
	unknown := reports.Run{Verdicts: verdicts{"a": checker.Unknown}}
	cut := reports.Run{Undecided: "the history is cut short", Verdicts: verdicts{"a": checker.Unknown}}
	cutViolated := reports.Run{Undecided: "the history is cut short", Verdicts: verdicts{"a": checker.Violated, "b": checker.Unknown}}
	never := reports.Run{Undecided: "this step never happened", Verdicts: verdicts{"a": checker.Violated}, Expected: verdicts{"a": checker.Violated}}
	failed := reports.Run{Failed: "the lock cannot be made"}
	tests := []struct {
		name string
		runs []reports.Run
		want int
	}{
		{"as expected", []reports.Run{expected}, statusOK},
		{"nothing was run", nil, statusUndecided},
		{"violated", []reports.Run{expected, violated, expected}, statusViolated},
		{"holds unexpectedly", []reports.Run{spared}, statusViolated},
		{"a check cannot say", []reports.Run{expected, unknown, expected}, statusUndecided},
		{"cut short", []reports.Run{cut}, statusUndecided},
		{"cut short after a violation", []reports.Run{cutViolated}, statusViolated},
		{"a step never happened", []reports.Run{never}, statusUndecided},
		{"not carried out is worse than violated", []reports.Run{violated, failed, unknown}, statusFailed},
		{"violated is worse than undecided", []reports.Run{cut, violated, unknown}, statusViolated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := status(reports.Summary{Runs: tt.runs}); got != tt.want {
				t.Errorf("status = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"dir/a-b_c.yaml": "dir/a-b_c.yaml",
		"":               "''",
		"my dir":         "'my dir'",
		"it's":           `'it'\''s'`,
		"$HOME":          "'$HOME'",
	} {
		if got := quote(path); got != want {
			t.Errorf("quote(%q) = %s, want %s", path, got, want)
		}
	}
}
