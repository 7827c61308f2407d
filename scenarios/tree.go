package scenarios

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// tree makes nodes of the text, or reports why it is no scenario's text and
// returns nil. Nodes are not decoded any further by the YAML library, which
// knows no positions from there on and would expand aliases.
func (r *reader) tree(data []byte) *yaml.Node {
	if len(data) > MaxFile {
		r.fail(1, 1, "the file is larger than %d KiB; expected one scenario", MaxFile>>10)
		return nil
	}
	if !r.characters(data) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		r.fail(1, 1, "the file is empty; expected a scenario, which starts with name:")
		return nil
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.syntax(data, err)
		return nil
	default:
		r.fail(second.Line, second.Column, "a second document starts here; expected one scenario in a file")
	}
	return first.Content[0]
}

// characters reports the first thing in the file that is not text. The YAML
// library would say that there is one, and not where.
func (r *reader) characters(data []byte) bool {
	line, column := 1, 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r.fail(line, column, "the byte 0x%02x is not UTF-8; expected a text file in UTF-8", data[i])
			return false
		case c == '\uFEFF' && i == 0:
			column-- // the mark of an encoding is not a character of the text
		case !printable(c):
			r.fail(line, column, "the character %U cannot stand in a scenario; in a quoted text, write it as an escape", c)
			return false
		}
		i += size
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return true
}

// printable reports whether YAML takes c as it is. It does take U+0085, U+2028
// and U+2029, but as ends of lines, which no editor counts.
func printable(c rune) bool {
	switch {
	case c == '\t' || c == '\n' || c == '\r':
		return true
	case c < ' ' || c >= 0x7F && c < 0xA0 || c == 0x2028 || c == 0x2029:
		return false
	}
	return c != '\uFEFF' && c != 0xFFFE && c != 0xFFFF
}

var (
	yamlError     = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	indentingTab  = regexp.MustCompile(`(?m)^ *\t`)
)

// syntax reports what keeps data from being YAML: tabs that indent, each of
// them, and what the YAML library complained about.
func (r *reader) syntax(data []byte, err error) {
	line, message := 1, err.Error()
	if m := yamlError.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n + lineShift(message)
		}
	}
	lines := bytes.Split(bytes.TrimRight(data, "\r\n"), []byte("\n"))
	line = min(line, len(lines))
	column := 1 + len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " "))
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		if at := bytes.Index(data, []byte("*"+m[1])); at >= 0 {
			line, column = place(data, at)
		}
		r.fail(line, column, "alias *%s has no anchor; expected the value itself", brief(m[1]))
		return
	}
	var tabs []int // lines
	for _, at := range indentingTab.FindAllIndex(data, maxProblems) {
		l, c := place(data, at[1]-1)
		r.fail(l, c, "a tab indents this line; expected spaces")
		tabs = append(tabs, l)
	}
	if !slices.Contains(tabs, line) {
		r.fail(line, column, "this is not YAML: %s", message)
	}
}

// place is the line and column of the byte at offset at.
func place(data []byte, at int) (line, column int) {
	before := data[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

// parserMessages are the ends of the complaints whose line the YAML library
// counts from 0. It counts those of its scanner from 1.
var parserMessages = []string{
	"expected <stream-start>", "expected <document start>", "expected node content",
	"expected '-' indicator", "expected key", "expected ',' or ']'", "expected ',' or '}'",
	"undefined tag handle", "duplicate %YAML directive", "duplicate %TAG directive", "incompatible YAML document",
}

func lineShift(message string) int {
	if slices.ContainsFunc(parserMessages, func(end string) bool { return strings.HasSuffix(message, end) }) {
		return 1
	}
	return 0
}

// plain reports every use of what YAML offers beyond plain values: anchors,
// aliases, merge keys and tags. A scenario is short enough to say everything
// where it is meant, and what is not repeated by reference cannot explode.
func (r *reader) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.wrong(n, "alias *%s is not supported; expected the value itself", brief(n.Value))
		return
	case n.Tag == "!!merge":
		r.wrong(n, "merge key << is not supported; expected the fields themselves")
	case n.Anchor != "":
		r.wrong(n, "anchor &%s is not supported; expected the value alone", brief(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		r.wrong(n, "tag %s is not supported; expected the value alone", brief(n.ShortTag()))
	}
	for _, c := range n.Content {
		r.plain(c)
	}
}
