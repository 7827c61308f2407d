package reports

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/mattn/go-runewidth"
)

// ink is the meaning that a colour has in a report.
type ink uint8

const (
	plain  ink = iota
	strong     // a heading
	faint      // what can be skipped
	good       // a promise that holds
	bad        // a promise that is broken
	warn       // what is undecided, and faults
	loud       // what differs from the expectation
	inks
)

// palette paints for one writer. Its colours are switched on or off one by one,
// so that the package color's global switch is left to its owner.
type palette [inks]*color.Color

func newPalette(on bool) palette {
	p := palette{
		strong: color.New(color.Bold),
		faint:  color.New(color.Faint),
		good:   color.New(color.FgGreen),
		bad:    color.New(color.FgRed, color.Bold),
		warn:   color.New(color.FgYellow),
		loud:   color.New(color.FgBlack, color.BgYellow),
	}
	for _, c := range p[strong:] {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

func (p palette) paint(s span) string {
	text := strings.ReplaceAll(s.text, fixed, " ")
	if s.ink == plain || text == "" {
		return text
	}
	return p[s.ink].Sprint(text)
}

// fixed is a blank at which no line is broken; it is written as any other.
const fixed = "\u00a0"

// solid keeps a text together on one line, if it can be.
func solid(text string) string { return strings.ReplaceAll(text, " ", fixed) }

// plainText makes one line of a text that may be anything, such as the error of a
// lock: line breaks become semicolons, and other control characters, which a
// terminal would obey, are spelled out.
func plainText(text string) string {
	if strings.IndexFunc(text, unicode.IsControl) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range joined(text) {
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// joined writes the lines of a text one behind the other.
func joined(text string) string {
	out := ""
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		before, after := strings.TrimRight(out, " \t"), strings.TrimLeft(line, " \t")
		switch {
		case before == "":
			out += line
		case after == "":
		case strings.ContainsAny(before[len(before)-1:], ":;,"):
			out = before + " " + after
		default:
			out = before + "; " + after
		}
	}
	return out
}

// span is a text in one ink.
type span struct {
	ink  ink
	text string
}

// terminal measures texts in columns. A character that only East Asian fonts
// draw wide, such as “·” and “│”, counts as one column on every machine, so that
// equal runs give equal reports.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

func width(text string) int { return terminal.StringWidth(text) }

func pad(text string, to int) string {
	return text + strings.Repeat(" ", max(to-width(text), 0))
}

func clip(text string, to int) string {
	if width(text) <= to {
		return text
	}
	return terminal.Truncate(text, to, "…")
}

// page writes lines of a bounded width. Its errors are those of the writer and
// are returned by close.
type page struct {
	out   *bufio.Writer
	width int
	palette
}

func newPage(w io.Writer, o Options) *page {
	return &page{bufio.NewWriter(w), o.Width, newPalette(o.Color)}
}

func (p *page) close() error { return p.out.Flush() }

// line writes the spans as one line, without the blanks at their end.
func (p *page) line(spans ...span) {
	last := len(spans) - 1
	for last >= 0 && strings.TrimRight(spans[last].text, " ") == "" {
		last--
	}
	for i := 0; i <= last; i++ {
		s := spans[i]
		s.text = plainText(s.text)
		if i == last {
			s.text = strings.TrimRight(s.text, " ")
		}
		p.out.WriteString(p.paint(s))
	}
	p.out.WriteByte('\n')
}

// flow writes the spans and breaks lines at blanks, and between Chinese
// characters, so that none is wider than the page. Every line after the first
// is indented by hang columns, at most half the page.
func (p *page) flow(hang int, spans ...span) {
	hang = min(hang, p.width/2)
	var line []span
	at, fresh := 0, true // fresh: nothing but the indent is on the line
	put := func(k ink, text string) {
		if n := len(line); n > 0 && line[n-1].ink == k {
			line[n-1].text += text
		} else {
			line = append(line, span{k, text})
		}
		at += width(text)
		fresh = false
	}
	next := func() {
		p.line(line...)
		line, at, fresh = []span{{plain, strings.Repeat(" ", hang)}}, hang, true
	}
	for _, s := range spans {
		for _, word := range words(plainText(s.text)) {
			bare := strings.TrimRight(word, " ")
			if !fresh && at+width(bare) > p.width {
				next()
			}
			for at+width(bare) > p.width {
				head := terminal.Truncate(bare, p.width-at, "")
				put(s.ink, head)
				next()
				bare, word = bare[len(head):], word[len(head):]
			}
			if bare == "" && fresh && hang > 0 && at == hang {
				continue // a blank at the break
			}
			put(s.ink, word)
			at = min(at, p.width) // the blanks at the end of a line do not count
		}
	}
	p.line(line...)
}

// closing marks may not begin a line.
const closing = "，。、；：？！）」』”》…,.;:?!)"

// words cuts a text where lines may break; each piece keeps its trailing blanks.
func words(text string) []string {
	var out []string
	start := 0
	for i, r := range text {
		if i == start {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		blank := before == ' ' && r != ' '
		wide := (terminal.RuneWidth(r) == 2 || terminal.RuneWidth(before) == 2) &&
			r != ' ' && !strings.ContainsRune(closing, r) && !strings.ContainsRune("（「『“《", before)
		if blank || wide {
			out = append(out, text[start:i])
			start = i
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
