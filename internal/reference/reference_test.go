package reference

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/scenarios"
)

var update = flag.Bool("update", false, "write the pages of docs again")

const root = "../.."

func mustPages(t *testing.T) map[string]string {
	t.Helper()
	pages, err := Pages(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// The pages in docs are those that are written from the code now, and none is
// left of something that is gone.
func TestDocsAreUpToDate(t *testing.T) {
	pages := mustPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		file := filepath.Join(root, "docs", filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(pages[name]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != pages[name] {
			t.Errorf("docs/%s is not what the code says: go test ./internal/reference -update writes it again", name)
		}
	}
	for _, dir := range Dirs() {
		for _, name := range mustFiles(t, filepath.Join(root, "docs", dir)) {
			name = dir + "/" + name
			switch _, ok := pages[name]; {
			case ok:
			case *update:
				if err := os.Remove(filepath.Join(root, "docs", filepath.FromSlash(name))); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("docs/%s is of nothing that exists: go test ./internal/reference -update removes it", name)
			}
		}
	}
}

// mustFiles lists the files below dir.
func mustFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPagesAreTheSameEveryTime(t *testing.T) {
	if !maps.Equal(mustPages(t), mustPages(t)) {
		t.Error("two times gave different pages")
	}
}

var (
	linked  = regexp.MustCompile(`\]\(([^)]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Every link of a page leads to a page, a heading of one, or a file that exists.
func TestLinksLead(t *testing.T) {
	pages := mustPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, m := range linked.FindAllStringSubmatch(pages[name], -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.HasPrefix(target, "https://") {
				continue
			}
			to := path.Join("docs", path.Dir(name), target)
			own, below := strings.CutPrefix(to, "docs/")
			text, ours := pages[own]
			if !below || !ours {
				info, err := os.Stat(filepath.Join(root, to))
				if err != nil {
					t.Errorf("%s links to %s, which is not there", name, m[1])
					continue
				}
				if b, err := os.ReadFile(filepath.Join(root, to)); !info.IsDir() && err == nil {
					text = string(b)
				}
			}
			if fragment != "" && !slices.Contains(headings(text), fragment) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

// headings are the anchors of a page's headings, as GitHub makes them of the
// headings that are used here.
func headings(text string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
	}
	return names
}

var command = regexp.MustCompile(`(?m)^    lockpick (.*)$`)

// Every command of a page names a scenario and a version that exist and that are
// run with each other. That the run then comes out as the page says is asserted
// by the harness, for every pair and several seeds.
func TestCommandsWork(t *testing.T) {
	all, err := scenarios.Catalog(scenarios.Known{})
	if err != nil {
		t.Fatal(err)
	}
	pages := mustPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		found := command.FindAllStringSubmatch(pages[name], -1)
		base := path.Base(name)
		if len(found) == 0 && path.Dir(name) != "." && base != indexPage {
			t.Errorf("%s shows no command", name)
		}
		for _, m := range found {
			words := strings.Fields(m[1])
			if len(words) != 4 || words[0] != "run" || words[2] != "--impl" {
				t.Errorf("%s has a command that nobody looks at: lockpick %s", name, m[1])
				continue
			}
			i := slices.IndexFunc(all, func(s *scenarios.Scenario) bool { return s.Name == words[1] })
			v, ok := catalog.Lookup(words[3])
			switch {
			case i < 0 || !ok:
				t.Errorf("%s has a command with names of nothing: lockpick %s", name, m[1])
			case harness.Skip(all[i], v) != "":
				t.Errorf("%s has a command of a pair that is skipped: lockpick %s", name, m[1])
			case !strings.Contains(base, v.Name) && !strings.Contains(base, all[i].Name):
				t.Errorf("%s has a command of something else: lockpick %s", name, m[1])
			}
		}
	}
}

// What breaks a version stands on its page and on the scenario's, under the same
// check.
func TestPagesSayWhatBreaks(t *testing.T) {
	pages := mustPages(t)
	all, err := scenarios.Catalog(scenarios.Known{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all {
		for _, v := range catalog.All() {
			checks := broken(s, v)
			if len(checks) == 0 || harness.Skip(s, v) != "" {
				continue
			}
			n++
			page := pages[versionsDir+"/"+v.Name+".md"]
			_, page, _ = strings.Cut(page, "## What breaks it")
			page, _, _ = strings.Cut(page, "## What does not")
			if !strings.Contains(page, "| ["+s.Name+"](") || !strings.Contains(page, anchors("../checks.md", checks)+" |") {
				t.Errorf("the page of %s does not say that %s breaks %v", v.Name, s.Name, checks)
			}
			page = pages[scenariosDir+"/"+s.Name+".md"]
			_, page, _ = strings.Cut(page, "## What comes out")
			page, _, _ = strings.Cut(page, "## ")
			for row := range strings.Lines(page) {
				if strings.Contains(row, "["+v.Name+"](") && strings.Count(row, "**violated**") != len(checks) {
					t.Errorf("the page of %s has of %s the row %s", s.Name, v.Name, row)
				}
			}
			if !strings.Contains(page, "["+v.Name+"](") {
				t.Errorf("the page of %s does not mention %s", s.Name, v.Name)
			}
		}
	}
	if n == 0 {
		t.Error("nothing breaks anything")
	}
}

// Every trait, value, event, phase and point has its words.
func TestWordsAreThere(t *testing.T) {
	for trait, values := range harness.Traits() {
		if !slices.Contains(traitOrder, trait) {
			t.Errorf("trait %s has no place in traitOrder", trait)
		}
		for _, v := range values {
			if v != "false" && meanings[trait][v] == "" {
				t.Errorf("%s: %s has no meaning", trait, v)
			}
		}
	}
	for _, e := range faults.Events() {
		if events[e] == "" {
			t.Errorf("event %s has no words", e)
		}
	}
	for _, p := range faults.Phases() {
		if phases[p] == "" {
			t.Errorf("phase %s has no words", p)
		}
	}
	for _, p := range faults.Points() {
		if points[p] == "" {
			t.Errorf("point %s has no words", p)
		}
	}
	for _, c := range checker.All() {
		if c.Promise == "" || c.How == "" {
			t.Errorf("check %s has no words", c.Name)
		}
	}
}
