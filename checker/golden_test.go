package checker

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/checker/history"
)

var rewrite = flag.Bool("update", false, "rewrite the findings in testdata")

// TestGolden judges the stories in testdata. A file holds several, each with a
// claim in its first line, which begins with "==".
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			golden(t, file)
		})
	}
}

func golden(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for i, part := range strings.Split("\n"+string(raw), "\n== ") {
		if i == 0 {
			if strings.TrimSpace(part) != "" {
				t.Fatalf("%s begins with no claim", file)
			}
			continue
		}
		claim, rest, _ := strings.Cut(part, "\n")
		text, want, _ := strings.Cut(rest, "----\n")
		want = strings.TrimSpace(want)
		s, err := tell(text)
		if err != nil {
			t.Fatalf("%s: %s: %v", file, claim, err)
		}
		var got strings.Builder
		for _, name := range s.checks {
			c, ok := Lookup(name)
			if !ok {
				t.Fatalf("%s: %s: there is no check %q", file, claim, name)
			}
			got.WriteString(s.verdict(c))
		}
		if !*rewrite && strings.TrimSpace(got.String()) != want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", claim, got.String(), want)
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString("== " + claim + "\n" + text + "----\n" + got.String())
		mustSurvive(t, claim, s.h)
	}
	if *rewrite {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mustSurvive cuts a history at every record: no check may panic, say that
// anything holds, or find a violation that the whole history does not have.
func mustSurvive(t *testing.T, claim string, h *history.History) {
	t.Helper()
	whole := map[string]Verdict{}
	for _, c := range All() {
		whole[c.Name] = c.Judge(h).Verdict
	}
	for n := range h.Records {
		cut := &history.History{Header: h.Header, Records: h.Records[:n]}
		for _, c := range All() {
			res := c.Judge(cut)
			if res.Verdict == Holds {
				t.Errorf("%s: %s holds in a history that is cut after %d records", claim, c.Name, n)
			}
			if res.Verdict == Violated && whole[c.Name] != Violated {
				t.Errorf("%s: %s is violated after %d records and %v in the end: %v", claim, c.Name, n, whole[c.Name], res.Findings)
			}
			if strings.HasPrefix(res.Reason, "the check failed") {
				t.Errorf("%s: %s, cut after %d records: %s", claim, c.Name, n, res.Reason)
			}
		}
	}
}
