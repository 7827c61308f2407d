package reference

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// page collects the Markdown of one page.
type page struct{ strings.Builder }

func (p *page) heading(level int, text string) {
	if p.Len() > 0 && !strings.HasSuffix(p.String(), "\n\n") {
		p.WriteString("\n")
	}
	fmt.Fprintf(p, "%s %s\n\n", strings.Repeat("#", level), text)
}

// text writes a paragraph, or nothing when it is empty.
func (p *page) text(format string, args ...any) {
	if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
		p.WriteString(text + "\n\n")
	}
}

// command writes a command that can be copied.
func (p *page) command(line string) { p.WriteString("    " + line + "\n\n") }

func (p *page) table(head []string, rows [][]string) {
	p.row(head)
	p.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		p.row(r)
	}
	p.WriteString("\n")
}

func (p *page) row(cells []string) { p.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

func (p *page) list(items []string) {
	for _, item := range items {
		p.WriteString("- " + item + "\n")
	}
	p.WriteString("\n")
}

// plain keeps a text from being taken for Markdown.
var plain = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "<", `\<`, "[", `\[`, "|", `\|`)

// sentence begins a text with a capital and ends it with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	first, n := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[n:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// link is one to a page that is named like its file. dir is the way there.
func link(dir, name string) string { return fmt.Sprintf("[%s](%s%s.md)", name, dir, name) }

func links(dir string, names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = link(dir, n)
	}
	return strings.Join(out, ", ")
}

// anchor is one to a heading of a page, which is the name itself.
func anchor(page, name string) string { return fmt.Sprintf("[%s](%s#%s)", name, page, name) }

func anchors(page string, names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = anchor(page, n)
	}
	return strings.Join(out, ", ")
}

func code(text string) string { return "`" + text + "`" }

func codes(texts []string, between string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = code(t)
	}
	return strings.Join(out, between)
}

// short is a duration without the zeros at its end: 2m, not 2m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// and joins names as a sentence does.
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
