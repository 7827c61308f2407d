package scenarios

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// known is the world that the files in testdata were written for.
var known = Known{
	Versions:   []string{"conditional-update", "lua-release", "redlock", "redlock-no-elapsed", "setnx-del", "setnx-ex", "watchdog"},
	Variants:   []string{"redlock-no-elapsed"},
	Strategies: []string{"conditional-update"},
	Checks:     []string{"mutual-exclusion", "no-deadlock", "no-lost-update", "no-orphan", "ownership"},
	Traits: map[string][]string{
		"renew":  {"none", "blind", "owned"},
		"quorum": {"true", "false"},
	},
}

func TestValidFiles(t *testing.T) {
	for _, file := range glob(t, "testdata/valid/*.yaml") {
		if _, err := Load(file, known); err != nil {
			t.Error(err)
		}
	}
}

// TestGoldenFiles compares what is said to whole files of mistakes.
func TestGoldenFiles(t *testing.T) {
	for _, file := range glob(t, "testdata/invalid/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Load(file, known)
			checkErrors(t, err)
			golden := strings.TrimSuffix(file, ".yaml") + ".err"
			got := err.Error() + "\n"
			if *update {
				write(t, golden, got)
			}
			if want := read(t, golden); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestGoldenMistakes makes one mistake at a time and compares what is said.
func TestGoldenMistakes(t *testing.T) {
	for _, file := range glob(t, "testdata/mistakes/*.txt") {
		head, mistakes := readMistakes(t, file)
		var again strings.Builder
		again.WriteString(head)
		for _, m := range mistakes {
			_, err := Parse("", []byte(m.apply(t)), known)
			if err == nil {
				t.Fatalf("%s: %s: accepted", file, m.claim)
			}
			checkErrors(t, err)
			got := strings.ReplaceAll("\n"+err.Error(), "\n:", "\n")[1:]
			if !*update && got != m.said {
				t.Errorf("%s: %s:\ngot:\n%s\nwant:\n%s", file, m.claim, got, m.said)
			}
			m.said = got
			again.WriteString(m.String())
		}
		if *update {
			write(t, file, again.String())
		}
	}
}

// checkErrors checks what every refusal promises: places that exist, in order.
func checkErrors(t testing.TB, err error) {
	t.Helper()
	var problems Errors
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("error is %v, want Errors with a problem", err)
	}
	for i, p := range problems {
		if p.Line < 1 || p.Column < 1 || p.Message == "" {
			t.Errorf("problem without a place: %#v", p)
		}
		if i > 0 && (p.Line < problems[i-1].Line || p.Line == problems[i-1].Line && p.Column < problems[i-1].Column) {
			t.Errorf("problems out of order:\n%s\n%s", problems[i-1], p)
		}
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("no files are %s: %v", pattern, err)
	}
	return list
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
