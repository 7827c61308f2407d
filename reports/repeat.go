package reports

import (
	"fmt"
	"time"

	"lockpick/checker/history"
)

// fewest repetitions that are folded into one line.
const minFolded = 3

// maxPattern is how many different things may take turns in a repetition, as a
// refused SET and a clean-up do.
const maxPattern = 3

// item is an entry that may be one of many alike.
type item struct {
	entry
	stream string // repetitions are looked for within a stream, such as a client's commands
	sign   string // equal signs are alike
	label  string // what is counted: "refused SET"
	by     string // whose doing: " by client-1"
}

// streak is a stretch of a stream in which the same few things come again.
type streak struct {
	signs  map[string]bool
	folded []int // the repetitions, by item
	labels tally
	again  bool
}

// fold tells the first of every kind of a repetition and counts the others in
// one line, where the second comes. Cited lines are always told.
func (c *cast) fold(items []item) []entry {
	current := map[string]*streak{}
	of := make([]*streak, len(items)) // the streak that item i repeats
	for i, it := range items {
		s := current[it.stream]
		switch {
		case s != nil && s.signs[it.sign]:
			s.again = true
			if !it.keep && !c.isCited(it.lines) {
				s.folded = append(s.folded, i)
				s.labels[it.label]++
				of[i] = s
			}
		case s != nil && !s.again && len(s.signs) < maxPattern:
			s.signs[it.sign] = true
		default:
			current[it.stream] = &streak{signs: map[string]bool{it.sign: true}, labels: tally{}}
		}
	}
	var out []entry
	for i, it := range items {
		s := of[i]
		switch {
		case s == nil || len(s.folded) < minFolded || c.full:
			out = append(out, it.entry)
		case s.folded[0] == i:
			out = append(out, s.entry(items))
		}
	}
	return out
}

// entry counts the folded items of a streak.
func (s *streak) entry(items []item) entry {
	first, last := items[s.folded[0]], items[s.folded[len(s.folded)-1]]
	e := entry{t: first.t, who: first.who, ink: faint}
	for _, i := range s.folded {
		e.lines = append(e.lines, items[i].lines...)
		if items[i].who != first.who {
			e.who = "…"
		}
	}
	until := " until " + clock(last.t, false)
	switch {
	case len(s.labels) == 1 && first.by != "":
		e.text = fmt.Sprintf("… %d more %s%s%s", len(s.folded), first.label, first.by, until)
	case len(s.labels) == 1:
		e.text = fmt.Sprintf("… %d more times%s: %s", len(s.folded), until, first.label)
	default:
		e.text = fmt.Sprintf("… %d more%s%s: %s", len(s.folded), first.by, until, s.labels.list(maxPattern))
	}
	return e
}

// spread is the same thing on several nodes at about the same time.
type spread struct {
	history.Record
	lines []int
	nodes []string
}

// gather joins records that say the same of different nodes within a tenth of
// the lease, or a second, as a quorum lock brings about.
func (c *cast) gather(indices []int, sign func(int) string) []*spread {
	window := max(c.h.Header.Lock.TTL/10, time.Second)
	latest := map[string]*spread{}
	var out []*spread
	for _, i := range indices {
		r := c.h.Records[i]
		like := sign(i)
		s := latest[like]
		fresh := s == nil || r.T-s.T > window
		for n := 0; !fresh && n < len(s.nodes); n++ {
			fresh = s.nodes[n] == r.Who
		}
		if fresh {
			s = &spread{Record: r}
			latest[like] = s
			out = append(out, s)
		}
		s.nodes = append(s.nodes, r.Who)
		s.lines = append(s.lines, history.Line(i))
	}
	return out
}

// whereAs names the nodes of a spread with the role that they have.
func (c *cast) whereAs(s *spread) string {
	role := c.role(s.nodes[0], s.lines[0]-history.Line(0))
	switch {
	case role == "" || s.Op == history.Role:
		return c.where(s)
	case len(s.nodes) > 1:
		return fmt.Sprintf("%s (%ss)", nodeList(s.nodes), role)
	default:
		return fmt.Sprintf("%s (%s)", s.nodes[0], role)
	}
}

// where names the nodes of a spread, and of how many they are when they are not all.
func (c *cast) where(s *spread) string {
	if c.nodes > 1 && len(s.nodes) == c.nodes {
		return fmt.Sprintf("all %d nodes", c.nodes)
	}
	return nodeList(s.nodes)
}
