package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"lockpick/scenarios"
)

// Story tells one run the way its bug would be looked for: what the clients saw,
// then what became of the key, then the commands on the wire; then what the
// checks make of it and what there is to learn. The lines that a finding cites
// are marked and never left out.
//
// sc may be nil, and then the story has no title, steps or lesson; so may
// Run.Records, and then it has only the verdict. The error is that of w.
func Story(w io.Writer, r Run, sc *scenarios.Scenario, o Options) error {
	o = o.withDefaults()
	p := newPage(w, o)
	opening(p, r, sc, o)
	stamp, micro := width(clock(0, false)), false
	if r.Records != nil {
		findings, _ := shown(r, o)
		c := newCast(r.Records, findings, o.Full)
		parts := []part{
			{o.say("The clients' story", "客户端的故事"), c.clients()},
			{o.say("The key's life", "键的一生"), c.life()},
			{o.say("The commands on the wire", "线上的命令"), c.wire()},
		}
		last := time.Duration(0)
		for i := range parts {
			parts[i].entries = c.trim(parts[i].entries)
			for _, e := range parts[i].entries {
				last = max(last, e.t)
			}
		}
		micro = needsMicro(parts)
		stamp = len(clock(last, micro))
		for _, pt := range parts {
			if len(pt.entries) == 0 {
				pt.entries = []entry{{still: true, ink: faint, text: o.say("nothing was recorded", "没有记录")}}
			}
			c.print(p, pt, stamp, micro)
		}
	}
	verdict(p, r, o, stamp, micro)
	closingWords(p, r, sc, o)
	return p.close()
}

// opening says what is told: the seed first, so that it is never lost.
func opening(p *page, r Run, sc *scenarios.Scenario, o Options) {
	p.flow(2, span{faint, fmt.Sprintf("seed %d", r.Seed)}, span{plain, "  " + title(r) + " on " + r.Testbed})
	if sc != nil {
		if text := o.say(sc.Title.EN, sc.Title.ZH); text != "" {
			p.flow(0, span{strong, text})
		}
	}
	if text := o.Summaries[r.Version]; text != "" {
		p.flow(2, span{plain, r.Version + ": " + text})
	}
	if r.Records != nil {
		p.flow(2, span{faint, lockLine(r.Records)})
		for _, l := range r.Records.Header.Labels {
			p.flow(2, span{warn, l})
		}
	}
	if sc == nil || len(sc.Steps) == 0 {
		return
	}
	p.line()
	p.line(span{strong, o.say("What goes wrong", "要出的错")})
	for _, st := range sc.Steps {
		p.flow(4, span{warn, "  " + st.String()})
	}
}

// closingWords says what there is to learn, where it was written down, and how
// to see it again. What is to be copied is not broken.
func closingWords(p *page, r Run, sc *scenarios.Scenario, o Options) {
	if sc != nil {
		if text := o.say(sc.Lesson.EN, sc.Lesson.ZH); text != "" {
			p.line()
			p.line(span{strong, o.say("The lesson", "教训")})
			p.flow(2, span{plain, "  " + strings.Join(strings.Fields(text), " ")})
		}
		var places []string
		for _, d := range sc.Documents {
			if d.File != "" {
				places = append(places, strings.TrimSpace(d.File+" "+d.Section))
			}
		}
		if len(places) > 0 {
			p.flow(4, span{faint, o.say("  said in ", "  出处：") + strings.Join(places, "; ")})
		}
	}
	p.line()
	if r.History != "" {
		p.line(span{faint, pad(o.say("history", "历史"), 9)}, span{plain, r.History})
	}
	if r.SHA256 != "" {
		p.line(span{faint, pad("sha256", 9)}, span{plain, r.SHA256})
	}
	p.line(span{faint, pad(o.say("again", "重演"), 9)}, span{strong, r.command()})
}
