package reports

import (
	"fmt"
	"io"
)

// Text writes one line for every run, for several runs that are not told one by
// one, and one for every pair that was skipped. Lines are not broken: a path can
// be copied. The error is that of w.
func Text(w io.Writer, s Summary, o Options) error {
	o = o.withDefaults()
	p := newPage(w, o)
	head, name := 0, 0
	seeds := map[pair]int{}
	for _, r := range s.Runs {
		head, name = max(head, width(r.headline())), max(name, width(title(r)))
		seeds[pair{r.Scenario, r.Version}]++
	}
	for _, k := range s.Skipped {
		head, name = max(head, width(skipped)), max(name, width(k.title()))
	}
	for _, r := range s.Runs {
		mark, text := span{good, "✓"}, r.broken(o)
		switch r.outcome() {
		case failed:
			mark, text = span{loud, failedMark}, r.surprises(o)
		case drifted:
			mark, text = span{loud, "✗"}, r.surprises(o)
		case unjudged:
			mark, text = span{warn, "?"}, r.surprises(o)
		default: // as expected
		}
		line := []span{mark, {plain, " "}, {mark.ink, r.headline()},
			{plain, pad("", head-width(r.headline())+2) + pad(title(r), name) + "  "}}
		if seeds[pair{r.Scenario, r.Version}] > 1 {
			line = append(line, span{faint, fmt.Sprintf("seed %d  ", r.Seed)})
		}
		line = append(line, span{plain, text})
		if r.History != "" {
			line = append(line, span{faint, "   (" + r.History + ")"})
		}
		p.line(line...)
	}
	for _, k := range s.Skipped {
		p.line(span{faint, "– " + pad(skipped, head) + "  "}, span{plain, pad(k.title(), name) + "  "}, span{faint, k.Reason})
	}
	return p.close()
}

// skipped is the headline of what was not run.
const skipped = "skipped"

func title(r Run) string { return pairTitle(r.Scenario, r.Version) }

func (k Skip) title() string { return pairTitle(k.Scenario, k.Version) }

func pairTitle(scenario, version string) string { return scenario + " × " + version }
