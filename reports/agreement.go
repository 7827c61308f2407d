package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"lockpick/checker"
)

// Agreement compares the verdicts of runs in the simulator with those of the same
// runs on real servers.
type Agreement struct {
	Testbed     string       `json:"testbed"`
	Pairs       int          `json:"pairs"`    // of a scenario and a version
	Verdicts    int          `json:"verdicts"` // that were compared
	Chance      int          `json:"chance"`   // of them those that differ and that the scenario leaves to chance
	Differences []Difference `json:"differences"`
	Skipped     []Skip       `json:"skipped,omitempty"`
}

// Difference is one verdict that is another one on real servers, or a run that
// came to none.
type Difference struct {
	Scenario string `json:"scenario"`
	Version  string `json:"version"`
	Check    string `json:"check,omitempty"` // empty when the whole run is meant
	Sim      string `json:"sim"`
	Real     string `json:"real"`
	Why      string `json:"why,omitempty"` // what the real one says of it
	Again    string `json:"again"`         // the command that shows the real one again
}

// Open reports whether the difference is one of a verdict that was not reached,
// rather than of two that contradict each other.
func (d Difference) Open() bool {
	return d.Check == "" || d.Sim == checker.Unknown.String() || d.Real == checker.Unknown.String()
}

// Agree compares runs of the same pairs in the same order. chance reports whether a
// scenario leaves a verdict to chance.
func Agree(sim, real Summary, chance func(scenario, check, version string) bool) Agreement {
	a := Agreement{Pairs: len(real.Runs), Skipped: real.Skipped, Differences: []Difference{}}
	for i, r := range real.Runs {
		s := sim.Runs[i]
		a.Testbed = r.Testbed
		d := Difference{Scenario: r.Scenario, Version: r.Version, Again: r.command()}
		if why := cmp.Or(r.Failed, r.Undecided, s.Failed, s.Undecided); why != "" {
			d.Sim, d.Real, d.Why = s.headline(), r.headline(), why
			a.Differences = append(a.Differences, d)
			continue
		}
		var checks []string
		for check := range r.Verdicts {
			checks = append(checks, check)
		}
		slices.Sort(checks)
		for _, check := range checks {
			a.Verdicts++
			was, is := s.Verdicts[check], r.Verdicts[check]
			switch {
			case was == is:
			case chance(r.Scenario, check, r.Version) && is != checker.Unknown:
				a.Chance++
			default:
				d.Check, d.Sim, d.Real, d.Why = check, was.String(), is.String(), r.Reasons[check]
				a.Differences = append(a.Differences, d)
			}
		}
	}
	return a
}

// Text writes what differs, a line each, and the totals. The error is that of w.
func (a Agreement) Text(w io.Writer, o Options) error {
	o = o.withDefaults()
	p := newPage(w, o)
	name := 0
	for _, d := range a.Differences {
		name = max(name, width(pairTitle(d.Scenario, d.Version)))
	}
	open := 0
	for _, d := range a.Differences {
		mark := span{loud, "✗ "}
		if d.Open() {
			open++
			mark = span{warn, "? "}
		}
		text := fmt.Sprintf("%s in the simulator, %s on %s", d.Sim, d.Real, a.Testbed)
		if d.Check != "" {
			text = d.Check + " " + text
		}
		if d.Why != "" {
			text += ": " + d.Why
		}
		p.line(mark, span{plain, pad(pairTitle(d.Scenario, d.Version), name) + "  "}, span{plain, text}, span{faint, "   " + d.Again})
	}
	if len(a.Differences) > 0 {
		p.line()
	}
	p.items([][]span{
		{{strong, " " + count(a.Pairs, "pair")}},
		{{plain, count(a.Verdicts, "verdict")}},
		{{plain, fmt.Sprintf("%d differ", len(a.Differences)-open)}},
		{{plain, fmt.Sprintf("%d not reached", open)}},
		{{plain, fmt.Sprintf("%d left to chance", a.Chance)}},
		{{plain, fmt.Sprintf("%d skipped", len(a.Skipped))}},
	})
	return p.close()
}

// JSON writes the agreement for programs. The error is that of w.
func (a Agreement) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(a)
}
