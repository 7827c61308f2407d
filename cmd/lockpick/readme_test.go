package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// documented are those whose commands are run.
var documented = []string{"README.md", "DEVELOPMENT.md", "scenarios/README.md", "reports/README.md", "impls/README.md"}

// The commands of the documentation work, and print what is shown.
//
// Of every block that is marked sh or console, the lines that call lockpick are
// run, in the order of the document and in one directory. They exit 0 unless a
// comment at the end of the line says "exit status N". In a console block a
// command stands after "$ ", and what follows up to the next one is what it
// prints. A yaml block whose first line is a comment with a file's name is that
// file. The flag -update puts in what is printed now.
func TestDocumentation(t *testing.T) {
	if raceEnabled {
		t.Skip("the whole matrix takes a minute with the race detector, and the scripts have its parts")
	}
	for _, name := range documented {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("../..", name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := &walk{t: t, dir: t.TempDir()}
			repository, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(repository, "scenarios"), filepath.Join(d.dir, "scenarios")); err != nil {
				t.Fatal(err)
			}
			got := d.run(string(text))
			if *update && got != string(text) {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// walk is a document that is being run.
type walk struct {
	t   *testing.T
	dir string
	out []string // the document as it should be
}

// run runs the commands of a text and returns it with what they print.
func (d *walk) run(text string) string {
	block := "" // the kind of the one we are in
	var inside []string
	for _, line := range strings.Split(text, "\n") {
		mark, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && block == "":
			d.out = append(d.out, line)
			block, inside = "```"+mark, nil
		case fence:
			d.block(strings.TrimPrefix(block, "```"), inside)
			d.out = append(d.out, line)
			block = ""
		case block != "":
			inside = append(inside, line)
		default:
			d.out = append(d.out, line)
		}
	}
	if block != "" {
		d.t.Fatalf("a block of kind %q never ends", block)
	}
	return strings.Join(d.out, "\n")
}

func (d *walk) block(kind string, lines []string) {
	switch kind {
	case "yaml":
		if name, ok := fileName(lines); ok {
			if err := os.WriteFile(filepath.Join(d.dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
				d.t.Fatal(err)
			}
		}
	case "sh":
		for _, line := range lines {
			switch {
			case strings.Contains(line, "--testbed local") && noRedis(d.t):
				d.t.Logf("not run, for want of redis-server: %s", line)
			case ours(line):
				d.command(line)
			}
		}
	case "console":
		d.console(lines)
		return
	}
	d.out = append(d.out, lines...)
}

func fileName(lines []string) (string, bool) {
	if len(lines) == 0 {
		return "", false
	}
	name, ok := strings.CutPrefix(lines[0], "# ")
	return name, ok && strings.HasSuffix(name, ".yaml") && !strings.ContainsAny(name, " /")
}

func (d *walk) console(lines []string) {
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		d.out = append(d.out, lines[i])
		i++
		if !ok {
			d.t.Fatalf("%q is no command in a console block", lines[i-1])
		}
		end := i
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") {
			end++
		}
		shown := lines[i:end]
		i = end
		if ours(command) {
			printed := d.command(command)
			if want := strings.Join(shown, "\n"); steady(printed) != steady(want) {
				if !*update {
					d.t.Errorf("%s\nprints\n%s\nand what is shown is\n%s\n(-update puts it in)", command, printed, want)
				}
				shown = strings.Split(printed, "\n")
			}
		}
		d.out = append(d.out, shown...)
	}
}

// ours reports whether a line of a document calls lockpick.
func ours(line string) bool {
	return strings.HasPrefix(line, "lockpick ") || strings.HasPrefix(line, goRun)
}

const goRun = "go run ./cmd/lockpick "

var exitComment = regexp.MustCompile(`# exit status (\d)$`)

// command runs a line and returns what it prints.
func (d *walk) command(line string) string {
	want := 0
	if m := exitComment.FindStringSubmatch(line); m != nil {
		want, _ = strconv.Atoi(m[1]) // it is a digit
	}
	c := exec.Command("sh", "-c", strings.Replace(line, goRun, "lockpick ", 1))
	c.Dir = d.dir
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	if got := c.ProcessState.ExitCode(); got != want {
		d.t.Errorf("%s\nexits %d, want %d:\n%s", line, got, want, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

var (
	runTime  = regexp.MustCompile(`reports/runs/\d{8}-\d{6}(-\d+)?`)
	sums     = regexp.MustCompile(`\b[0-9a-f]{64}\b`) // a history names the version of Go
	wallTime = regexp.MustCompile(`( skipped · )[\dhm.]*s`)
)

// steady is an output without what differs from one time to the next.
func steady(text string) string {
	text = runTime.ReplaceAllString(text, "reports/runs/TIME")
	text = sums.ReplaceAllString(text, "SUM")
	return wallTime.ReplaceAllString(text, "${1}TIME")
}

// The test above finds what it is for.
func TestDocumentationIsRead(t *testing.T) {
	d := &walk{t: t, dir: t.TempDir()}
	text := "# Title\n```yaml\n# mine.yaml\nname: mine\n```\nText.\n" +
		"```sh\ngo test ./...\nlockpick list versions\nlockpick run none   # exit status 2\n```\n" +
		"```console\n$ lockpick list checks | head -n 1 | cut -d ' ' -f 1\nmutual-exclusion\n$ ls\nanything\n```\nEnd.\n"
	if got := d.run(text); got != text {
		t.Errorf("it is now\n%s", got)
	}
	if b, err := os.ReadFile(filepath.Join(d.dir, "mine.yaml")); err != nil || string(b) != "# mine.yaml\nname: mine\n" {
		t.Errorf("mine.yaml is %q, %v", b, err)
	}
	a := fmt.Sprintf(" 2 skipped · %s\n in reports/runs/20260102-030405-2\n", "9.766s")
	b := fmt.Sprintf(" 2 skipped · %s\n in reports/runs/20270102-030405\n", "80ms")
	if steady(a) != steady(b) {
		t.Errorf("%q and %q count as different", steady(a), steady(b))
	}
}

// The lock that README.md adds can be added in that way, and is caught. Nothing
// is written into the module: the two files are laid over it.
func TestOwnLock(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\n")
	code, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !ended || !strings.Contains(code, "package mylock") {
		t.Fatal("README.md has no code of a lock")
	}
	catalog, err := os.ReadFile("../../impls/catalog/catalog.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Replace(string(catalog), "import (\n", "import (\n\tmylock \"lockpick/impls/my-lock\"\n", 1)
	listed = strings.Replace(listed, "return []impls.Version{\n", "return []impls.Version{\n\t\tmylock.Version,\n", 1)
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {
		mustAbs(t, "../../impls/my-lock/mylock.go"):  mustWrite(t, dir, "mylock.go", code+"\n"),
		mustAbs(t, "../../impls/catalog/catalog.go"): mustWrite(t, dir, "catalog.go", listed),
	}}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "lockpick")
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", mustWrite(t, dir, "overlay.json", string(list)), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.Command(binary, "run", "delete-other", "--impl", "my-lock", "--out", dir)
	out, err := run.CombinedOutput()
	if got := run.ProcessState.ExitCode(); got != statusViolated || !strings.Contains(string(out), "client-1 deleted the key of client-3") {
		t.Errorf("%v: exit status %d, want %d:\n%s", err, got, statusViolated, out)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func mustWrite(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
