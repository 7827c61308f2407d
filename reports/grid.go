package reports

import (
	"slices"

	"lockpick/checker"
)

// grid is the matrix before it is drawn.
type grid struct {
	scenarios, versions []string
	cells               map[pair]*cell
}

type pair struct{ scenario, version string }

// cell is what became of a pair, over all its seeds.
type cell struct {
	runs      []Run
	skipped   bool
	standings map[string]standing // by check, the most surprising
}

func newGrid(s Summary, o Options) *grid {
	g := &grid{cells: map[pair]*cell{}}
	at := func(scenario, version string) *cell {
		p := pair{scenario, version}
		if g.cells[p] == nil {
			g.cells[p] = &cell{standings: map[string]standing{}}
		}
		return g.cells[p]
	}
	var scenarios, versions []string
	for _, r := range s.Runs {
		scenarios, versions = append(scenarios, r.Scenario), append(versions, r.Version)
		c := at(r.Scenario, r.Version)
		c.runs = append(c.runs, r)
		for check := range r.Verdicts {
			c.standings[check] = max(c.standings[check], r.standing(check))
		}
	}
	for _, k := range s.Skipped {
		scenarios, versions = append(scenarios, k.Scenario), append(versions, k.Version)
		at(k.Scenario, k.Version).skipped = true
	}
	g.scenarios, g.versions = arrange(scenarios, o.Scenarios), arrange(versions, o.Versions)
	return g
}

// arrange drops doubles and puts the names into the wanted order; the others
// follow as they came.
func arrange(names, wanted []string) []string {
	seen := map[string]bool{}
	for _, n := range names {
		seen[n] = true
	}
	var out []string
	for _, n := range append(slices.Clone(wanted), names...) {
		if seen[n] {
			out = append(out, n)
			seen[n] = false
		}
	}
	return out
}

// marks are the signs that stand before the letters of a standing.
var marks = [...]struct {
	ink  ink
	mark string
}{
	held:      {good, "·"},
	broken:    {bad, ""},
	undecided: {warn, "?"},
	spared:    {loud, "¬"},
	surprise:  {loud, "!"},
}

// failedMark is that of a run that could not be carried out.
const failedMark = "✗"

// draw writes the cell: the letters of the checks, grouped by how they stand,
// what was expected first.
func (c *cell) draw(o Options) []span {
	if c == nil {
		return nil
	}
	if len(c.runs) == 0 {
		return []span{{faint, "–"}}
	}
	verdicts := map[string]checker.Verdict{}
	letters := [len(marks)]string{}
	for check := range c.standings {
		verdicts[check] = 0
	}
	for _, check := range o.order(verdicts) {
		letters[c.standings[check]] += o.check(check).Letter
	}
	unjudgedRun := slices.ContainsFunc(c.runs, func(r Run) bool { return r.Undecided != "" })
	var out []span
	for _, s := range []standing{broken, surprise, spared} {
		if letters[s] != "" {
			out = append(out, span{marks[s].ink, marks[s].mark + letters[s]})
		}
	}
	switch {
	case unjudgedRun || letters[undecided] != "" && len(letters[undecided]) == len(c.standings):
		out = append(out, span{warn, "?"}) // the letters would say nothing more
	case letters[undecided] != "":
		out = append(out, span{warn, "?" + letters[undecided]})
	}
	if c.worst() == failed {
		out = append(out, span{loud, failedMark})
	}
	switch {
	case len(out) > 0:
		return out
	case c.worst() == drifted:
		return []span{{loud, "!"}}
	default:
		return []span{{good, "·"}}
	}
}

func (c *cell) worst() outcome {
	worst := asExpected
	if c != nil {
		for _, r := range c.runs {
			worst = max(worst, r.outcome())
		}
	}
	return worst
}

// margin is the sign before a row: whether anything in it needs a look.
func (g *grid) margin(scenario string, versions []string) span {
	worst := asExpected
	for _, v := range versions {
		worst = max(worst, g.cells[pair{scenario, v}].worst())
	}
	switch worst {
	case failed, drifted:
		return span{loud, "!"}
	case unjudged:
		return span{warn, "?"}
	default:
		return span{plain, " "}
	}
}
