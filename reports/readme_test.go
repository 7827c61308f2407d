package reports_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// README.md has every operation that a record can have, and every field.
func TestReadmeKnowsTheHistory(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## The history\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("README.md has no section on the history")
	}
	words := strings.FieldsFunc(section, func(r rune) bool { return strings.ContainsRune(" `,;:.()\n", r) })
	for _, name := range recordWords(t) {
		if !slices.Contains(words, name) {
			t.Errorf("README.md does not mention %q", name)
		}
	}
}

// recordWords are the texts of the constants of a record that name an operation,
// and the keys of its fields.
func recordWords(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../checker/history/record.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, v := range n.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING && !strings.Contains(lit.Value, " ") {
					words = append(words, strings.Trim(lit.Value, `"`))
				}
			}
		case *ast.Field:
			if n.Tag == nil {
				break
			}
			tag, err := strconv.Unquote(n.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			_, key, _ := strings.Cut(tag, `json:"`)
			key, _, _ = strings.Cut(key, `"`)
			key, _, _ = strings.Cut(key, ",")
			words = append(words, key)
		}
		return true
	})
	if len(words) < 50 {
		t.Fatalf("only %d words were found: %q", len(words), words)
	}
	return words
}
