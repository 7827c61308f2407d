package imports

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// module is the path that our own imports begin with.
const module = "lockpick/"

// arrow says what the packages that match from may import of this module. The
// first one that matches a package counts.
type arrow struct {
	from string
	to   []string
}

// arrows is the import graph, as in ARCHITECTURE.md. A * is one element of a path.
var arrows = []arrow{
	{"impls", nil},
	{"faults", nil},
	{"checker/history", nil},
	{"internal/child", nil},
	{"internal/nearest", nil},
	{"internal/imports", nil},
	{"internal/require", nil},
	{"internal/engine", nil},
	{"internal/resp", nil},
	{"internal/redisd", []string{"internal/child", "internal/resp"}},
	{"internal/links", []string{"faults", "internal/resp"}},
	{"internal/testbed/sim/bubble", nil},

	{"checker", []string{"checker/history"}},
	{"scenarios", []string{"faults", "internal/nearest"}},
	{"reports", []string{"checker", "checker/history", "scenarios"}},

	{"impls/catalog", []string{"impls", "impls/*"}},
	{"impls/internal/quorum", []string{"impls", "impls/internal/background"}},
	{"impls/internal/*", []string{"impls"}},
	{"impls/external", []string{"impls", "internal/child"}},
	{"impls/redlock-naive", []string{"impls", "impls/redlock"}}, // the same code with parts left out
	{"impls/*", []string{
		"impls", "impls/internal/owned", "impls/internal/background", "impls/internal/quorum", "impls/internal/fencing",
		"impls/internal/stored", "impls/internal/wakeup",
	}},

	{"internal/keyspace", []string{"checker/history", "internal/engine"}},
	{"internal/resource", []string{"internal/testbed", "impls", "checker/history"}},
	{"internal/testbed", []string{"impls", "faults", "checker/history"}},
	{"internal/tap", []string{"checker/history", "internal/engine", "internal/keyspace"}},
	{"internal/live", []string{
		"internal/testbed", "impls", "impls/external", "faults", "checker/history",
		"internal/engine", "internal/keyspace", "internal/links", "internal/resource", "internal/resp", "internal/tap",
	}},
	{"internal/testbed/local", []string{"internal/testbed", "faults", "internal/live", "internal/redisd"}},
	{"internal/testbed/sim", []string{
		"internal/testbed", "internal/testbed/sim/bubble", "impls", "faults", "checker/history", "internal/engine", "internal/keyspace", "internal/resource", "internal/resp",
	}},
	{"internal/harness", []string{"internal/testbed", "impls", "faults", "scenarios", "checker", "checker/history"}},

	{"internal/redistest", []string{"internal/child", "internal/redisd", "internal/require", "internal/resp"}},
	{"internal/reference", []string{"impls", "impls/catalog", "scenarios", "faults", "checker", "internal/harness"}},

	{"cmd/lockpick", []string{
		"reports", "internal/harness", "internal/testbed", "internal/testbed/*", "internal/testbed/sim/bubble", "internal/redisd",
		"impls", "impls/catalog", "impls/external", "scenarios", "faults", "checker", "checker/history", "internal/nearest",
	}},
}

// Who may do what nobody else may.
const (
	porcupine     = "github.com/anishathalye/porcupine"
	porcupineFile = "checker/porcupine.go"
)

var (
	mayImportTesting = []string{"locktest", "internal/testbed/sim/bubble", "internal/require", "internal/redistest"}
	mayExit          = []string{"cmd/lockpick", "internal/testbed/sim/bubble"}
)

// seeded are the functions of math/rand/v2 that make a source of chance.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf"}

// source is one file of the module.
type source struct {
	path string // from the module's root, with slashes
	ast  *ast.File
	set  *token.FileSet
}

func (s source) pkg() string { return path.Dir(s.path) }

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

// problems says where the files break the rules.
func problems(files []source) []string {
	var all []string
	for _, s := range files {
		all = append(all, imports(s)...)
		all = append(all, declarations(s)...)
		all = append(all, calls(s)...)
	}
	return all
}

// imports holds a file to the graph. Tests may import what they like of ours.
func imports(s source) []string {
	allowed, listed := may(s.pkg())
	if !listed {
		return []string{fmt.Sprintf("%s: package %s is not listed in internal/imports and ARCHITECTURE.md", s.path, s.pkg())}
	}
	var wrong []string
	for _, spec := range s.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return append(wrong, fmt.Sprintf("%s: %v", s.at(spec), err))
		}
		ours, own := strings.CutPrefix(name, module)
		switch {
		case name == "math/rand":
			wrong = append(wrong, fmt.Sprintf("%s: math/rand has a global source; math/rand/v2 has one from a seed", s.at(spec)))
		case name == porcupine && s.path != porcupineFile && !s.test():
			wrong = append(wrong, fmt.Sprintf("%s: only %s imports porcupine", s.at(spec), porcupineFile))
		case s.test():
		case (name == "testing" || strings.HasPrefix(name, "testing/")) && !matches(s.pkg(), mayImportTesting):
			wrong = append(wrong, fmt.Sprintf("%s: %s must not import %s", s.at(spec), s.pkg(), name))
		case own && !matches(ours, allowed):
			wrong = append(wrong, fmt.Sprintf("%s: %s must not import %s", s.at(spec), s.pkg(), ours))
		}
	}
	return wrong
}

// declarations finds what happens before main.
func declarations(s source) []string {
	var wrong []string
	for _, d := range s.ast.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			wrong = append(wrong, fmt.Sprintf("%s: func init: nothing registers itself", s.at(f)))
		}
	}
	return wrong
}

// calls finds chance without a seed, and exits where nobody may exit. Tests may
// do both, to try what happens then.
func calls(s source) []string {
	names := map[string]string{} // as the file says, to the path
	for _, spec := range s.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			names[localName(spec, p)] = p
		}
	}
	var wrong []string
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := sel.X.(*ast.Ident)
		if !ok || from.Obj != nil { // a variable, not a package
			return true
		}
		text := from.Name + "." + sel.Sel.Name
		exits := names[from.Name] == "os" && sel.Sel.Name == "Exit" || names[from.Name] == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal")
		switch {
		case names[from.Name] == "math/rand/v2" && !s.test() && !matches(sel.Sel.Name, seeded):
			wrong = append(wrong, fmt.Sprintf("%s: %s has no seed", s.at(call), text))
		case exits && !s.test() && !matches(s.pkg(), mayExit):
			wrong = append(wrong, fmt.Sprintf("%s: %s: only %s exit", s.at(call), text, strings.Join(mayExit, " and ")))
		}
		return true
	})
	return wrong
}

func localName(spec *ast.ImportSpec, p string) string {
	switch {
	case spec.Name != nil:
		return spec.Name.Name
	case p == "math/rand/v2":
		return "rand"
	default:
		return path.Base(p)
	}
}

// may returns what a package may import, and whether it is listed at all.
func may(pkg string) (to []string, listed bool) {
	for _, a := range arrows {
		if matches(pkg, []string{a.from}) {
			return a.to, true
		}
	}
	return nil, false
}

func matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}
