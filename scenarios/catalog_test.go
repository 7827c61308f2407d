package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCatalog(t *testing.T) {
	all, err := Catalog(Known{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, s.Name)
		checkAccepted(t, s)
	}
	if want := Names(); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("Catalog has %q, Names %q", got, want)
	}
}

func TestCatalogTellsEveryProblemOfEveryFile(t *testing.T) {
	_, err := Catalog(Known{Checks: []string{"none-of-them"}})
	checkErrorsOfMany(t, err, len(Names()))
}

func checkErrorsOfMany(t *testing.T, err error, files int) {
	t.Helper()
	var problems Errors
	if !errors.As(err, &problems) {
		t.Fatalf("error is %v, want Errors", err)
	}
	seen := map[string]bool{}
	for _, p := range problems {
		seen[p.File] = true
	}
	if len(seen) != files {
		t.Errorf("problems of %d files, want of %d", len(seen), files)
	}
}

func TestLookup(t *testing.T) {
	s, err := Lookup("crash-no-ttl", Known{})
	if err != nil || s.Name != "crash-no-ttl" || s.File != "scenarios/catalog/crash-no-ttl.yaml" {
		t.Errorf("Lookup = %+v, %v", s, err)
	}
	for name, want := range map[string]string{
		"crash-no-tll":    `scenarios: no scenario is called "crash-no-tll"; did you mean "crash-no-ttl"?`,
		"../catalog/none": `scenarios: no scenario is called "../catalog/none"`,
	} {
		if _, err := Lookup(name, Known{}); err == nil || err.Error() != want {
			t.Errorf("Lookup(%q): error is %v, want %s", name, err, want)
		}
	}
}

func TestNameIsThatOfTheFile(t *testing.T) {
	data := []byte(read(t, base))
	if _, err := parse("f", data, known, "every-field"); err != nil {
		t.Error(err)
	}
	want := `f:2:7: name is "every-field"; expected "some-field", as the file is called`
	if _, err := parse("f", data, known, "some-field"); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestExpectedAndUncovered(t *testing.T) {
	s, err := Load(base, known)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		version                      string
		exclusion, update, ownership string // the verdicts that are expected, or ""
		uncovered                    string
	}{
		{"setnx-ex", Violated, Violated, Holds, ""},
		{"lua-release", "", Violated, Holds, "mutual-exclusion"},
		{"watchdog", "", Holds, Holds, "mutual-exclusion"},
		{"redlock", "", "", Holds, "mutual-exclusion no-lost-update"},
		{"setnx-del", "", "", Violated, "mutual-exclusion no-lost-update"},
		{"conditional-update", "", "", "", "no-lost-update"},
	}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			for check, want := range map[string]string{
				"mutual-exclusion": tt.exclusion, "no-lost-update": tt.update, "ownership": tt.ownership, "fairness": "",
			} {
				got, ok := s.Expected(check, tt.version)
				if got != want || ok != (want != "") {
					t.Errorf("Expected(%s) = %q, %v, want %q", check, got, ok, want)
				}
			}
			if got := strings.Join(s.Uncovered(tt.version), " "); got != tt.uncovered {
				t.Errorf("Uncovered = %q, want %q", got, tt.uncovered)
			}
		})
	}
}

// TestOthers reads the word in place of a list, for one verdict and the other.
func TestOthers(t *testing.T) {
	least := read(t, "testdata/valid/least.yaml")
	tests := []struct{ expect, listed, others string }{
		{"{violated: [setnx-ex], holds: others}", Violated, Holds},
		{"{violated: others, holds: [setnx-ex]}", Holds, Violated},
		{"{holds: others}", Holds, Holds},
		{"{violated: others}", Violated, Violated},
		{"{violated: others, holds: []}", Violated, Violated},
	}
	for _, tt := range tests {
		t.Run(tt.expect, func(t *testing.T) {
			text := strings.NewReplacer("{holds: [lua-release]}", tt.expect, "mutual-exclusion", "no-lost-update").Replace(least)
			s, err := Parse("f", []byte(text), known)
			if err != nil {
				t.Fatal(err)
			}
			for version, want := range map[string]string{"setnx-ex": tt.listed, "watchdog": tt.others, "conditional-update": tt.others} {
				if got, ok := s.Expected("no-lost-update", version); got != want || !ok {
					t.Errorf("Expected(%s) = %q, %v, want %q", version, got, ok, want)
				}
				if left := s.Uncovered(version); left != nil {
					t.Errorf("Uncovered(%s) = %q", version, left)
				}
			}
		})
	}
}

// What is left to chance is stated, and nothing is expected of it.
func TestEither(t *testing.T) {
	text := strings.Replace(read(t, "testdata/valid/least.yaml"), "{holds: [lua-release]}", "{either: [setnx-ex], holds: others}", 1)
	s, err := Parse("f", []byte(text), known)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"setnx-ex": "", "watchdog": Holds} {
		got, ok := s.Expected("mutual-exclusion", version)
		if got != want || ok != (want != "") || s.EitherWay("mutual-exclusion", version) == ok {
			t.Errorf("Expected(%s) = %q, %v, want %q", version, got, ok, want)
		}
		if left := s.Uncovered(version); left != nil {
			t.Errorf("Uncovered(%s) = %q", version, left)
		}
	}
}

func TestOrderNamesEveryScenario(t *testing.T) {
	if got := Names(); !slices.Equal(got, order) {
		t.Errorf("the catalogue is\n%q, and its order names\n%q", got, order)
	}
}
