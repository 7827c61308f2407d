package scenarios

import (
	"strings"
	"testing"
)

// base is the scenario that mistakes are made in.
const base = "testdata/valid/every-field.yaml"

// How a claim says what schema.json can do about its mistake.
const (
	beyondSchema = "[beyond the schema]" // it is valid by the schema
	notYAML      = "[not YAML]"          // no value can be made for the schema to judge
)

// mistake is an entry of a file in testdata/mistakes.
type mistake struct {
	claim    string
	old, new []string
	said     string
}

// String is the entry as it stands in the file.
func (m mistake) String() string {
	var b strings.Builder
	b.WriteString("\n# " + m.claim + "\n")
	for _, line := range m.old {
		b.WriteString(strings.TrimRight("- "+line, " ") + "\n")
	}
	for _, line := range m.new {
		b.WriteString("+ " + line + "\n")
	}
	b.WriteString(m.said + "\n")
	return b.String()
}

// apply makes the mistake.
func (m mistake) apply(t *testing.T) string {
	t.Helper()
	text, old := read(t, base), strings.Join(m.old, "\n")
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%s: %q is %d times in %s, want once", m.claim, old, n, base)
	}
	return strings.Replace(text, old, strings.Join(m.new, "\n"), 1)
}

// readMistakes reads the entries of a file, which are separated by empty lines,
// and what stands above them.
func readMistakes(t *testing.T, file string) (head string, list []mistake) {
	t.Helper()
	entries := strings.Split(strings.TrimRight(read(t, file), "\n"), "\n\n")
	for _, entry := range entries[1:] {
		var m mistake
		var said []string
		for i, line := range strings.Split(entry, "\n") {
			switch mark, rest, _ := strings.Cut(line, " "); {
			case i == 0:
				m.claim = strings.TrimPrefix(line, "# ")
			case mark == "-":
				m.old = append(m.old, rest)
			case mark == "+":
				m.new = append(m.new, rest)
			default:
				said = append(said, line)
			}
		}
		m.said = strings.Join(said, "\n")
		list = append(list, m)
	}
	return entries[0] + "\n", list
}
