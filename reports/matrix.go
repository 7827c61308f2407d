package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"lockpick/checker"
)

// gaps between the columns of the matrix: as wide as they can be without
// splitting the table further.
const (
	narrowGap = 2
	wideGap   = 4
)

// maxListed is how many drifts the matrix lists unless Options.Full.
const maxListed = 40

// Matrix draws the table of versions by scenarios, a legend, the totals, and
// every run that needs a look. No line is wider than Options.Width: a table that
// does not fit is split into several, each with some of the versions. The error
// is that of w.
func Matrix(w io.Writer, s Summary, o Options) error {
	o = o.withDefaults()
	p := newPage(w, o)
	t := &table{page: p, grid: newGrid(s, o), o: o}
	if len(t.scenarios) > 0 {
		t.draw()
		p.line()
		legend(p, s, o)
		p.line()
	}
	totals(p, s, o)
	listDrifts(p, s, o)
	listSkips(p, s)
	return p.close()
}

// table draws a grid on a page.
type table struct {
	*page
	*grid
	o Options
}

// column is a version's place in the table.
type column struct {
	version string
	cells   [][]span // by scenario
	width   int      // of the widest cell
}

func (t *table) draw() {
	label := 0
	for _, s := range t.scenarios {
		label = max(label, width(s))
	}
	label = min(label, t.page.width/2)
	columns := make([]column, len(t.versions))
	for i, v := range t.versions {
		c := column{version: v, width: 1}
		for _, s := range t.scenarios {
			cell := t.cells[pair{s, v}].draw(t.o)
			c.cells = append(c.cells, cell)
			c.width = max(c.width, spanWidth(cell))
		}
		columns[i] = c
	}
	blocks, gap := t.split(columns, 1+label, narrowGap), narrowGap
	for g := wideGap; g > narrowGap; g-- {
		if wider := t.split(columns, 1+label, g); len(wider) == len(blocks) {
			blocks, gap = wider, g
			break
		}
	}
	for i, b := range blocks {
		if i > 0 {
			t.line()
		}
		t.block(b, label, gap)
	}
}

// split cuts the columns into as few blocks as fit the page, of about equal
// length. A column's name reaches to the right of it and must fit as well.
func (t *table) split(columns []column, left, gap int) [][]column {
	fill := func(limit int) [][]column {
		var blocks [][]column
		at, start := left, 0
		for i, c := range columns {
			end := at + gap + max(c.width, 2+min(width(c.version), t.page.width/3))
			if i > start && (end > t.page.width || i-start >= limit) {
				blocks = append(blocks, columns[start:i])
				at, start = left, i
			}
			at += gap + c.width
		}
		return append(blocks, columns[start:])
	}
	fewest := fill(len(columns))
	even := fill((len(columns) + len(fewest) - 1) / len(fewest))
	if len(even) == len(fewest) {
		return even
	}
	return fewest
}

// block draws the staircase of names and the rows below it.
func (t *table) block(columns []column, label, gap int) {
	space := strings.Repeat(" ", gap)
	versions := make([]string, len(columns))
	for i, c := range columns {
		versions[i] = c.version
		line := []span{{plain, strings.Repeat(" ", 1+label)}}
		at := 1 + label
		for _, before := range columns[:i] {
			line = append(line, span{faint, pad(space+"│", gap+before.width)})
			at += gap + before.width
		}
		name := clip(c.version, t.page.width-at-gap-2)
		t.line(append(line, span{faint, space + "┌ "}, span{strong, name})...)
	}
	for i, s := range t.scenarios {
		line := []span{t.margin(s, versions), {plain, pad(clip(s, label), label)}}
		for _, c := range columns {
			cell := c.cells[i]
			line = append(line, span{plain, space})
			line = append(line, cell...)
			line = append(line, span{plain, strings.Repeat(" ", c.width-spanWidth(cell))})
		}
		t.line(line...)
	}
}

func spanWidth(spans []span) int {
	w := 0
	for _, s := range spans {
		w += width(s.text)
	}
	return w
}

// legend says what the letters and the marks of the table mean.
func legend(p *page, s Summary, o Options) {
	judged := map[string]checker.Verdict{}
	for _, r := range s.Runs {
		for check := range r.Verdicts {
			judged[check] = 0
		}
	}
	names, widest := o.order(judged), 0
	for _, n := range names {
		widest = max(widest, width(n))
	}
	example := "M"
	for i, n := range names {
		c := o.check(n)
		if i == 0 {
			example = c.Letter
		}
		p.flow(widest+5, span{bad, " " + pad(c.Letter, 2)}, span{plain, pad(n, widest) + "  "}, span{faint, c.Promise})
	}
	p.items([][]span{
		{{good, "·"}, {faint, " all hold"}},
		{{bad, example}, {faint, " violated as expected"}},
		{{loud, "!" + example}, {faint, " violated unexpectedly"}},
		{{loud, "¬" + example}, {faint, " holds unexpectedly"}},
		{{warn, "?" + example}, {faint, " undecided"}},
		{{faint, "– skipped"}},
	})
}

// items writes as many items on a line as fit, none of them broken.
func (p *page) items(list [][]span) {
	var line []span
	for _, item := range list {
		if len(line) > 0 && spanWidth(line)+3+spanWidth(item) > p.width {
			p.line(line...)
			line = nil
		}
		blank := "   "
		if len(line) == 0 {
			blank = " "
		}
		line = append(append(line, span{plain, blank}), item...)
	}
	p.line(line...)
}

// totals counts the runs by how they came out.
func totals(p *page, s Summary, o Options) {
	n := map[string]int{}
	for _, r := range s.Runs {
		n[r.headline()]++
	}
	line := []span{{strong, " " + count(len(s.Runs), "run")}}
	add := func(k ink, n int, what string) {
		if n == 0 {
			k = plain
		}
		line = append(line, span{faint, " · "}, span{k, fmt.Sprintf("%d %s", n, what)})
	}
	if len(s.Runs) == 0 || n["holds"]+n["violated"] < len(s.Runs) {
		add(good, n["as expected"], "as expected")
		add(loud, n["not as expected"], "drifted")
	}
	if n["holds"]+n["violated"] > 0 { // locks that are not in the catalogue
		add(good, n["holds"], "hold")
		add(loud, n["violated"], "violated")
	}
	add(warn, n["undecided"], "undecided")
	add(plain, len(s.Skipped), "skipped")
	if o.Wall > 0 {
		line = append(line, span{faint, " · "}, span{plain, long(o.Wall)})
	}
	p.flow(1, line...)
}

// listDrifts lists the runs that need a look, drifts first, with the command
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
		mark := span{loud, "!"}
		if r.outcome() == unjudged {
			mark = span{warn, "?"}
		}
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

// listSkips lists what was not run: scenarios that were skipped for the same
// reason by the same versions share a line.
func listSkips(p *page, s Summary) {
	type group struct{ scenario, reason, versions string }
	var groups []*group
	for _, k := range s.Skipped {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.scenario == k.Scenario && g.reason == k.Reason })
		if i < 0 {
			groups = append(groups, &group{k.Scenario, k.Reason, k.Version})
		} else {
			groups[i].versions += ", " + k.Version
		}
	}
	var merged []*group
	for _, g := range groups {
		i := slices.IndexFunc(merged, func(m *group) bool { return m.reason == g.reason && m.versions == g.versions })
		if i < 0 {
			merged = append(merged, g)
		} else {
			merged[i].scenario += ", " + g.scenario
		}
	}
	if len(merged) > 0 {
		p.line()
	}
	for _, g := range merged {
		p.flow(4, span{faint, "–"}, span{plain, fmt.Sprintf(" %s: %s: ", g.scenario, g.reason)}, span{faint, g.versions})
	}
}
