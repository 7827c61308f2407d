package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
)

// maxFindings is how many findings of one check are shown unless Options.Full.
const maxFindings = 10

// shown returns the findings that a report shows, in the order of the checks,
// and how many of each check it leaves out.
func shown(r Run, o Options) (findings []checker.Finding, left map[string]int) {
	left = map[string]int{}
	n := map[string]int{}
	for _, f := range r.Findings {
		if n[f.Check]++; n[f.Check] > maxFindings && !o.Full {
			left[f.Check]++
			continue
		}
		findings = append(findings, f)
	}
	return findings, left
}

// verdict writes what the checks say, whether that was expected, and why.
func verdict(p *page, r Run, o Options, stamp int, micro bool) {
	p.line()
	head := map[outcome]ink{asExpected: good, unjudged: warn, drifted: loud, failed: loud}[r.outcome()]
	why, stack := r.failure()
	p.flow(2, span{strong, o.say("The verdict: ", "结论：")}, span{head, r.headline()}, span{plain, colon(cmp.Or(why, r.Undecided))})
	for frame := range strings.Lines(stack) {
		p.line(span{faint, "  " + strings.TrimSuffix(frame, "\n")})
	}
	findings, left := shown(r, o)
	names := o.order(r.Verdicts)
	widest := 0
	for _, n := range names {
		widest = max(widest, width(n))
	}
	for _, check := range names {
		promise(p, r, o, check, widest)
		for _, f := range findings {
			if f.Check == check {
				finding(p, f, stamp, micro)
			}
		}
		if n := left[check]; n > 0 {
			p.flow(4, span{faint, fmt.Sprintf("    … %d more findings", n)})
		}
	}
	for _, f := range findings { // of a check that gave no verdict: nothing is lost
		if !slices.Contains(names, f.Check) {
			finding(p, f, stamp, micro)
		}
	}
	figures(p, r.Figures, o)
}

// promise writes a check's verdict against its expectation.
func promise(p *page, r Run, o Options, check string, widest int) {
	v := r.Verdicts[check]
	k := map[checker.Verdict]ink{checker.Holds: good, checker.Violated: bad, checker.Unknown: warn}[v]
	line := []span{{plain, "  " + pad(check, widest) + "  "}, {k, v.String()}, {plain, pad("", 10-width(v.String()))}}
	switch want := r.Expected[check]; {
	case r.standing(check) >= spared && want != checker.Unknown:
		line = append(line, span{loud, "expected: " + want.String()})
	case r.standing(check) == undecided && want != checker.Unknown:
		line = append(line, span{warn, "expected: " + want.String()})
	case want != checker.Unknown:
		line = append(line, span{faint, "as expected"})
	}
	if why := r.Reasons[check]; v == checker.Unknown && why != "" && why != r.Undecided {
		line = append(line, span{plain, "  (" + why + ")"})
	}
	if c := o.check(check); v == checker.Violated && c.Promise != "" {
		line = append(line, span{faint, "  (promise: " + strings.TrimSuffix(c.Promise, ".") + ")"})
	}
	p.flow(2+widest+2, line...)
}

func colon(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func finding(p *page, f checker.Finding, stamp int, micro bool) {
	at := clock(f.At, micro)
	text := f.Cause
	if len(f.Who) > 0 && !strings.HasPrefix(text, f.Who[0]) {
		text = strings.Join(f.Who, ", ") + ": " + text
	}
	line := []span{{bad, "► "}, {faint, strings.Repeat(" ", max(stamp-len(at), 0)) + at + "  "}, {plain, text}}
	if len(f.Lines) > 0 {
		line = append(line, span{bad, "  " + solid("["+lineList(f.Lines)+"]")})
	}
	p.flow(2+stamp+2, line...)
}
