package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"lockpick/reports"
)

func TestGoldenText(t *testing.T) {
	for _, tt := range []struct {
		name  string
		color bool
	}{{"several.text", false}, {"several-color.text", true}} {
		var b bytes.Buffer
		if err := reports.Text(&b, several(), reports.Options{Checks: checks, Color: tt.color}); err != nil {
			t.Fatal(err)
		}
		golden(t, tt.name, b.Bytes())
	}
}

// A skipped pair has the columns of the runs, whichever are wider.
func TestTextIsAligned(t *testing.T) {
	for name, s := range map[string]reports.Summary{
		"the runs are wider": several(),
		"what is skipped is wider": {
			Runs:    []reports.Run{run("s", "v", 1, nil, verdicts{"ownership": holds})},
			Skipped: []reports.Skip{{Scenario: "longer", Version: "version", Reason: "reason"}},
		},
		"all is skipped": {
			Skipped: []reports.Skip{{Scenario: "s", Version: "v", Reason: "reason"}, {Scenario: "longer", Version: "version", Reason: "reason"}},
		},
	} {
		var b bytes.Buffer
		if err := reports.Text(&b, s, reports.Options{Checks: checks}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != len(s.Runs)+len(s.Skipped) {
			t.Errorf("%s: %d lines for %d runs and %d skipped pairs", name, len(lines), len(s.Runs), len(s.Skipped))
		}
		title, text := -1, -1
		for i, line := range lines {
			r, pair, reason := []rune(line), "", ""
			if i < len(s.Runs) {
				pair = s.Runs[i].Scenario + " × " + s.Runs[i].Version
			} else {
				pair, reason = s.Skipped[i-len(s.Runs)].Scenario+" × "+s.Skipped[i-len(s.Runs)].Version, s.Skipped[i-len(s.Runs)].Reason
			}
			at := len([]rune(line[:strings.Index(line, pair)]))
			if title >= 0 && at != title {
				t.Errorf("%s: the pairs are not in one column:\n%s", name, b.String())
			}
			title = at
			rest := at + len([]rune(pair))
			for rest < len(r) && r[rest] == ' ' {
				rest++
			}
			if text >= 0 && rest != text || reason != "" && !strings.HasPrefix(string(r[rest:]), reason) {
				t.Errorf("%s: what is said of the pairs is not in one column:\n%s", name, b.String())
			}
			text = rest
		}
	}
}
