package reports

import (
	"fmt"
	"strings"
	"time"

	"lockpick/checker/history"
)

// maxPart is how many lines a part of a story has at most, unless Options.Full
// or unless findings cite more.
const maxPart = 40

// around is how many lines before and after a cited one are kept with it.
const around = 2

// entry is one line of a part of a story.
type entry struct {
	t     time.Duration
	lines []int // of the history file, that it tells
	who   string
	ink   ink
	text  string
	aside string // what can be skipped
	keep  bool   // never left out
	still bool   // it has no time: a remark on the part
}

func line(i int) []int { return []int{history.Line(i)} }

// part is a titled piece of a story.
type part struct {
	title   string
	entries []entry
}

// trim leaves lines out until about maxPart are left: those that are cited or to
// be kept stay, then their neighbours, then the first ones. What is left out is
// counted in its place.
func (c *cast) trim(entries []entry) []entry {
	if len(entries) <= maxPart || c.full {
		return entries
	}
	keep := make([]bool, len(entries))
	left := maxPart
	take := func(i int) {
		if i >= 0 && i < len(entries) && !keep[i] {
			keep[i] = true
			left--
		}
	}
	for i, e := range entries {
		if e.keep || e.still || c.isCited(e.lines) {
			take(i)
		}
	}
	for i, e := range entries {
		for d := -around; d <= around && left > 0 && c.isCited(e.lines); d++ {
			take(i + d)
		}
	}
	for i := 0; i < len(entries) && left > 0; i++ {
		take(i)
	}
	var out []entry
	for i := 0; i < len(entries); i++ {
		if keep[i] {
			out = append(out, entries[i])
			continue
		}
		first, n := i, 0
		var lines []int
		for ; i < len(entries) && !keep[i]; i++ {
			n++
			lines = append(lines, entries[i].lines...)
		}
		i--
		if n == 1 {
			out = append(out, entries[first])
			continue
		}
		gap := entry{t: entries[first].t, still: true, ink: faint, text: fmt.Sprintf("… %d more (see the history file)", n)}
		if len(lines) > 0 {
			lo, hi := lines[0], lines[0]
			for _, l := range lines {
				lo, hi = min(lo, l), max(hi, l)
			}
			gap.text = fmt.Sprintf("… %d more (see the history file, lines %d to %d)", n, lo, hi)
		}
		out = append(out, gap)
	}
	return out
}

// needsMicro reports whether two lines that follow one another would show the
// same millisecond for different times.
func needsMicro(parts []part) bool {
	for _, p := range parts {
		last := time.Duration(-1)
		for _, e := range p.entries {
			if e.still {
				continue
			}
			if last >= 0 && e.t != last && clock(e.t, false) == clock(last, false) {
				return true
			}
			last = e.t
		}
	}
	return false
}

// print writes a part: a mark for what the findings cite, the time, who, what.
func (c *cast) print(p *page, pt part, stamp int, micro bool) {
	p.line()
	p.line(span{strong, pt.title})
	who := 0
	for _, e := range pt.entries {
		if !e.still {
			who = max(who, min(width(e.who), p.width/3))
		}
	}
	hang := 2 + stamp + 2 + who + 2
	for _, e := range pt.entries {
		if e.still {
			p.flow(2+stamp+4, span{plain, strings.Repeat(" ", 2+stamp+2)}, span{e.ink, e.text}, span{faint, e.aside})
			continue
		}
		mark, cited := span{plain, "  "}, span{}
		if c.isCited(e.lines) {
			var named []int
			for _, l := range e.lines {
				if c.cited[l] {
					named = append(named, l)
				}
			}
			mark, cited = span{bad, "► "}, span{bad, "  " + solid("["+lineList(named)+"]")}
		}
		at := clock(e.t, micro)
		p.flow(hang, mark, span{faint, strings.Repeat(" ", max(stamp-len(at), 0)) + at + "  "},
			span{plain, pad(clip(e.who, who), who) + "  "}, span{e.ink, e.text}, span{faint, e.aside}, cited)
	}
}
