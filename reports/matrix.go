package reports

import (
	"fmt"
	"io"
	"slices"

	"lockpick/checker"
)

// Matrix draws the table of versions by scenarios, a legend, the totals, and
// every run that needs a look. No line is wider than Options.Width: a table that
// does not fit is split into several, each with some of the versions, and so are
// the strategies from the locks. The error is that of w.
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
	listSkips(p, s, t.grid, o)
	return p.close()
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
	items := [][]span{
		{{good, "·"}, {faint, " all hold"}},
		{{bad, example}, {faint, " violated as expected"}},
		{{loud, "!" + example}, {faint, " violated unexpectedly"}},
		{{loud, "¬" + example}, {faint, " holds unexpectedly"}},
		{{warn, "?" + example}, {faint, " undecided"}},
		{{faint, "– skipped"}},
	}
	if slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Failed != "" }) {
		items = append(items, []span{{loud, failedMark}, {faint, " failed: could not be run"}})
	}
	p.items(items)
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
	if len(s.Runs) == 0 || n["holds"]+n["violated"]+n["failed"] < len(s.Runs) {
		add(good, n["as expected"], "as expected")
		add(loud, n["not as expected"], "drifted")
	}
	if n["holds"]+n["violated"] > 0 { // locks that are not in the catalogue
		add(good, n["holds"], "hold")
		add(loud, n["violated"], "violated")
	}
	add(warn, n["undecided"], "undecided")
	if n["failed"] > 0 {
		add(loud, n["failed"], "failed")
	}
	add(plain, len(s.Skipped), "skipped")
	if o.Wall > 0 {
		line = append(line, span{faint, " · "}, span{plain, long(o.Wall)})
	}
	p.flow(1, line...)
}
