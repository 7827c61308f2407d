package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What the matrix lists below the table unless Options.Full.
const (
	maxListed = 40 // drifts
	maxSkips  = 12 // reasons for skips
)

// listDrifts lists the runs that need a look, the worst first, with the command
// that shows each.
func listDrifts(p *page, s Summary, o Options) {
	var odd []Run
	for _, r := range s.Runs {
		if r.outcome() != asExpected {
			odd = append(odd, r)
		}
	}
	slices.SortStableFunc(odd, func(a, b Run) int { return cmp.Compare(b.outcome(), a.outcome()) })
	if len(odd) > 0 {
		p.line()
	}
	for i, r := range odd {
		if i == maxListed && !o.Full {
			p.line(span{faint, fmt.Sprintf(" … %d more", len(odd)-i)})
			break
		}
		mark := map[outcome]span{failed: {loud, failedMark}, drifted: {loud, "!"}, unjudged: {warn, "?"}}[r.outcome()]
		line := []span{mark, {plain, " " + r.surprises(o) + "   "}}
		command := span{strong, r.command()}
		if spanWidth(line)+width(command.text) <= p.width {
			p.line(append(line, command)...)
			continue
		}
		p.flow(4, line...)
		p.flow(6, span{plain, "    "}, command)
	}
}

// left is why some versions were not run with some scenarios.
type left struct {
	reason              string
	scenarios, versions []string
}

// listSkips lists what was not run: scenarios that were skipped for the same
// reason with the same versions share a line.
func listSkips(p *page, s Summary, g *grid, o Options) {
	type key struct{ scenario, reason string }
	var groups []*left
	of := map[key]*left{}
	for _, k := range s.Skipped {
		at := key{k.Scenario, k.Reason}
		if of[at] == nil {
			of[at] = &left{reason: k.Reason, scenarios: []string{k.Scenario}}
			groups = append(groups, of[at])
		}
		of[at].versions = append(of[at].versions, k.Version)
	}
	var merged []*left
	for _, l := range groups {
		i := slices.IndexFunc(merged, func(m *left) bool { return m.reason == l.reason && slices.Equal(m.versions, l.versions) })
		if i < 0 {
			merged = append(merged, l)
		} else {
			merged[i].scenarios = append(merged[i].scenarios, l.scenarios...)
		}
	}
	if len(merged) > 0 {
		p.line()
	}
	for i, l := range merged {
		if i == maxSkips && !o.Full && len(merged) > maxSkips+1 {
			p.line(span{faint, fmt.Sprintf("– … %d more reasons (--full lists them)", len(merged)-i)})
			break
		}
		p.flow(4, span{faint, "–"}, span{plain, fmt.Sprintf(" %s: %s: ", but(l.scenarios, g.scenarios, anyScenario), l.reason)},
			span{faint, g.versionsLeft(l.versions, o.Strategies)})
	}
}

// kinds of versions and scenarios, as the list of skips names them.
const (
	anyVersion  = "version"
	anyLock     = "lock"
	anyStrategy = "strategy"
	anyScenario = "scenario"
)

// versionsLeft names versions that were skipped, out of all that are like them.
func (g *grid) versionsLeft(names []string, strategies []string) string {
	isStrategy := func(v string) bool { return slices.Contains(strategies, v) }
	isLock := func(v string) bool { return !isStrategy(v) }
	switch {
	case !slices.ContainsFunc(g.versions, isStrategy):
		return but(names, g.versions, anyVersion)
	case !slices.ContainsFunc(names, isStrategy):
		return but(names, slices.DeleteFunc(slices.Clone(g.versions), isStrategy), anyLock)
	case !slices.ContainsFunc(names, isLock):
		return but(names, slices.DeleteFunc(slices.Clone(g.versions), isLock), anyStrategy)
	default:
		return but(names, g.versions, anyVersion)
	}
}

// but names some of all things of a kind, or those that are not among them when
// they are fewer.
func but(names, all []string, kind string) string {
	others := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(names, n) })
	switch {
	case len(names) < 3 || len(others) >= len(names):
		return strings.Join(names, ", ")
	case len(others) == 0:
		return "every " + kind
	default:
		return "every " + kind + " but " + strings.Join(others, ", ")
	}
}
