// Package imports holds the module to its import graph and to the few rules of
// its source that no compiler knows, and DEVELOPMENT.md to the source.
//
// It has nothing but tests, and knows packages by their paths alone.
//
// The rule that surprises: a package that is not listed in arrows fails. Whoever
// makes one says here, and in ARCHITECTURE.md, what it may import.
package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's directory as the tests see it.
const root = "../.."

func TestModule(t *testing.T) {
	files := mustParse(t, root)
	if len(files) < 100 {
		t.Fatalf("only %d files were found below %s", len(files), root)
	}
	for _, p := range problems(files) {
		t.Error(p)
	}
}

// DEVELOPMENT.md has the command of every fuzz target.
func TestFuzzTargetsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "DEVELOPMENT.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range mustParse(t, root) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.test() || !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			found++
			if line := fmt.Sprintf("go test ./%s -run '^$' -fuzz '^%s$' -fuzztime 60s\n", s.pkg(), f.Name.Name); !strings.Contains(string(text), line) {
				t.Errorf("DEVELOPMENT.md does not have the line\n%s", line)
			}
		}
	}
	if found == 0 {
		t.Error("there is no fuzz target")
	}
}

// mustParse reads every Go file of the module, whatever it is built for.
func mustParse(t *testing.T, root string) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || strings.HasPrefix(name, ".") || isModule(path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(rel), string(text))
		files = append(files, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// isModule reports whether a directory is a module of its own, which has its own
// rules.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func parse(path, text string) (source, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, text, 0)
	return source{path: path, ast: f, set: set}, err
}

// The rules are tried on files that break them.
func TestRulesCatch(t *testing.T) {
	tests := []struct {
		name, path, text, want string
	}{
		{"an arrow that is not listed", "checker/x.go", `import "lockpick/scenarios"`,
			"checker/x.go:2: checker must not import scenarios"},
		{"a leaf that imports", "faults/x.go", `import "lockpick/impls"`, "faults must not import impls"},
		{"a version that imports another", "impls/mine/x.go", `import "lockpick/impls/watchdog"`,
			"impls/mine must not import impls/watchdog"},
		{"a version that imports the tests' world", "impls/mine/x.go", `import "lockpick/impls/internal/testenv"`,
			"impls/mine must not import impls/internal/testenv"},
		{"a version that imports the tests' store", "impls/mine/x.go", `import "lockpick/impls/internal/storetest"`,
			"impls/mine must not import impls/internal/storetest"},
		{"a helper of versions that imports another", "impls/internal/owned/x.go", `import "lockpick/impls/internal/quorum"`,
			"impls/internal/owned must not import impls/internal/quorum"},
		{"a package that tests alone import", "internal/testbed/sim/x.go", `import "lockpick/internal/redistest"`,
			"internal/testbed/sim must not import internal/redistest"},
		{"a reference that carries out a run of its own", "internal/reference/x.go", `import "lockpick/internal/testbed/sim"`,
			"internal/reference must not import internal/testbed/sim"},
		{"a testbed that imports another", "internal/testbed/local/x.go", `import "lockpick/internal/testbed/sim"`,
			"internal/testbed/local must not import internal/testbed/sim"},
		{"an engine that knows of histories", "internal/engine/x.go", `import "lockpick/checker/history"`,
			"internal/engine must not import checker/history"},
		{"what testbeds share knows one of them", "internal/keyspace/x.go", `import "lockpick/internal/testbed/sim"`,
			"internal/keyspace must not import internal/testbed/sim"},
		{"a report that runs", "reports/x.go", `import "lockpick/internal/harness"`, "reports must not import internal/harness"},
		{"a package that nobody listed", "util/x.go", ``, "util is not listed"},
		{"testing outside of tests", "internal/harness/x.go", `import "testing"`, "internal/harness must not import testing"},
		{"what is below testing", "internal/harness/x.go", `import "testing/synctest"`, "must not import testing/synctest"},
		{"porcupine in another file", "checker/x.go", `import "github.com/anishathalye/porcupine"`, "only checker/porcupine.go"},
		{"init", "checker/x.go", `func init() {}`, "checker/x.go:2: func init"},
		{"init in a test", "checker/x_test.go", `func init() {}`, "func init"},
		{"math/rand", "checker/x_test.go", `import "math/rand"`, "math/rand/v2"},
		{"a global die", "checker/x.go", "import \"math/rand/v2\"\nvar x = rand.IntN(6)", "rand.IntN has no seed"},
		{"a global die by another name", "checker/x.go", "import dice \"math/rand/v2\"\nvar x = dice.Perm(6)", "dice.Perm has no seed"},
		{"an exit", "internal/harness/x.go", "import \"os\"\nfunc f() { os.Exit(1) }", "os.Exit"},
		{"a fatal log", "internal/harness/x.go", "import \"log\"\nfunc f() { log.Fatalf(\"\") }", "log.Fatalf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := problems([]source{mustFake(t, tt.path, tt.text)})
			if len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("problems are %q, want one that says %q", got, tt.want)
			}
		})
	}
}

// The rules accept what comes close to breaking them.
func TestRulesAccept(t *testing.T) {
	tests := []struct{ name, path, text string }{
		{"a listed arrow", "checker/x.go", `import "lockpick/checker/history"`},
		{"a test may import more", "checker/x_test.go", "import (\n\"testing\"\n\"lockpick/scenarios\"\n)"},
		{"bubble imports testing", "internal/testbed/sim/bubble/x.go", `import "testing/synctest"`},
		{"a version's helpers", "impls/mine/x.go", "import (\n\"lockpick/impls\"\n\"lockpick/impls/internal/owned\"\n)"},
		{"a version that is another with parts left out", "impls/redlock-naive/x.go", `import "lockpick/impls/redlock"`},
		{"a quorum's calls in the background", "impls/internal/quorum/x.go", `import "lockpick/impls/internal/background"`},
		{"a testbed's own parts", "internal/testbed/sim/x.go", `import "lockpick/internal/testbed/sim/bubble"`},
		{"what testbeds share", "internal/testbed/local/x.go", "import (\n\"lockpick/internal/live\"\n\"lockpick/internal/redisd\"\n\"lockpick/faults\"\n)"},
		{"a source of chance with a seed", "checker/x.go", "import \"math/rand/v2\"\nvar x = rand.New(rand.NewPCG(1, 2)).IntN(6)"},
		{"a test of what chance does", "checker/x_test.go", "import \"math/rand/v2\"\nvar x = rand.IntN(6)"},
		{"a variable called rand", "checker/x.go", "import _ \"math/rand/v2\"\nfunc f(rand interface{ IntN(int) int }) { rand.IntN(6) }"},
		{"a method called init", "checker/x.go", "type t struct{}\nfunc (t) init() {}"},
		{"main exits", "cmd/lockpick/x.go", "import \"os\"\nfunc f() { os.Exit(1) }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := problems([]source{mustFake(t, tt.path, tt.text)}); len(got) > 0 {
				t.Errorf("problems are %q, want none", got)
			}
		})
	}
}

func mustFake(t *testing.T, path, text string) source {
	t.Helper()
	s, err := parse(path, "package p\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
