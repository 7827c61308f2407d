package reports

import (
	"fmt"
	"slices"
	"strings"
)

// gaps between the columns of the matrix: as wide as they can be without
// splitting the table further.
const (
	narrowGap = 2
	wideGap   = 4
)

// tall is how many rows a table may have until its names are repeated below it.
const tall = 30

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
	var locks, strategies []column
	for _, v := range t.versions {
		c := column{version: v, width: 1}
		for _, s := range t.scenarios {
			cell := t.cells[pair{s, v}].draw(t.o)
			c.cells = append(c.cells, cell)
			c.width = max(c.width, spanWidth(cell))
		}
		if slices.Contains(t.o.Strategies, v) {
			strategies = append(strategies, c)
		} else {
			locks = append(locks, c)
		}
	}
	first := true
	for _, columns := range [][]column{locks, strategies} {
		if len(columns) == 0 {
			continue
		}
		blocks, gap := t.layOut(columns, 1+label)
		for _, b := range blocks {
			if !first {
				t.line()
			}
			first = false
			t.block(b, label, gap)
		}
	}
}

// layOut cuts the columns into blocks with the widest gap that makes no more of
// them.
func (t *table) layOut(columns []column, left int) (blocks [][]column, gap int) {
	blocks, gap = t.split(columns, left, narrowGap), narrowGap
	for g := wideGap; g > narrowGap; g-- {
		if wider := t.split(columns, left, g); len(wider) == len(blocks) {
			return wider, g
		}
	}
	return blocks, gap
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

// block draws the staircase of names and the rows below it, and after many rows
// the staircase again, upside down.
func (t *table) block(columns []column, label, gap int) {
	versions := make([]string, len(columns))
	for i, c := range columns {
		versions[i] = c.version
		t.stair(columns, i, label, gap, "┌ ")
	}
	space, rows := strings.Repeat(" ", gap), 0
	for i, s := range t.scenarios {
		if t.idle(s, versions) {
			continue
		}
		rows++
		line := []span{t.margin(s, versions), {plain, pad(clip(s, label), label)}}
		for _, c := range columns {
			cell := c.cells[i]
			line = append(line, span{plain, space})
			line = append(line, cell...)
			line = append(line, span{plain, strings.Repeat(" ", c.width-spanWidth(cell))})
		}
		t.line(line...)
	}
	if rows > tall {
		for i := len(columns) - 1; i >= 0; i-- {
			t.stair(columns, i, label, gap, "└ ")
		}
	}
	if n := len(t.scenarios) - rows; n > 0 {
		t.line(span{faint, clip(fmt.Sprintf(" – %s skipped with all of these", count(n, "scenario")), t.page.width)})
	}
}

// stair draws one step of the staircase: the name of column i, behind the edges
// of those before it.
func (t *table) stair(columns []column, i, label, gap int, corner string) {
	space := strings.Repeat(" ", gap)
	line := []span{{plain, strings.Repeat(" ", 1+label)}}
	at := 1 + label
	for _, before := range columns[:i] {
		line = append(line, span{faint, pad(space+"│", gap+before.width)})
		at += gap + before.width
	}
	t.line(append(line, span{faint, space + corner}, span{strong, clip(columns[i].version, t.page.width-at-gap-2)})...)
}

// idle reports whether a scenario has nothing to say of these versions: all of
// them were skipped, and others were not.
func (t *table) idle(scenario string, versions []string) bool {
	for _, v := range versions {
		if c := t.cells[pair{scenario, v}]; c == nil || len(c.runs) > 0 {
			return false
		}
	}
	return slices.ContainsFunc(t.versions, func(v string) bool {
		c := t.cells[pair{scenario, v}]
		return c != nil && len(c.runs) > 0
	})
}

func spanWidth(spans []span) int {
	w := 0
	for _, s := range spans {
		w += width(s.text)
	}
	return w
}
