package reference

import (
	"strings"
	"testing"
	"testing/fstest"

	"lockpick/scenarios"
)

func goFile(name, comment, code string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("// Package " + name + " " + comment + "\npackage " + name + "\n" + code)}
}

func TestPackagesOfVersions(t *testing.T) {
	root := fstest.MapFS{
		"impls/a-b/ab.go":              goFile("ab", "is a lock.\n//\n//   - One <mistake>.", `var V = "a-b"`),
		"impls/family/family.go":       goFile("family", "has two locks.", `var V = []string{"f-1", "f-2", "a-b"}`),
		"impls/family/more.go":         {Data: []byte("package family\n")},
		"impls/family/family_test.go":  goFile("family", "is not this.", `var W = "t-1"`),
		"impls/catalog/catalog.go":     goFile("catalog", "is no lock.", `var V = "c-1"`),
		"impls/internal/part/part.go":  goFile("part", "is no lock.", `var V = "p-1"`),
		"impls/other/other.go":         goFile("other", "is one more.", `var V = "other"`),
		"impls/twins/twins.go":         goFile("twins", "has the other's.", `var V = "both"`),
		"impls/twins-two/twins_two.go": goFile("twinstwo", "has it too.", `var V = "both"`),
	}
	got, err := packageComments(root, []string{"a-b", "f-1", "f-2", "other"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ version, dir, want string }{
		{"a-b", "impls/a-b", "`a-b` is a lock.\n\n  - One \\<mistake>.\n"},
		{"f-1", "impls/family", "Package `impls/family` has two locks.\n"},
		{"f-2", "impls/family", "Package `impls/family` has two locks.\n"},
		{"other", "impls/other", "`other` is one more.\n"},
	}
	for _, tt := range tests {
		if c := got[tt.version]; c.dir != tt.dir || c.markdown(tt.version) != tt.want {
			t.Errorf("%s is in %s, %q; want %s, %q", tt.version, c.dir, c.markdown(tt.version), tt.dir, tt.want)
		}
	}
	for version, want := range map[string]string{
		"t-1": "has no package", "c-1": "has no package", "p-1": "has no package", "both": "is in impls/twins and in impls/twins-two",
	} {
		if _, err := packageComments(root, []string{version}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", version, err, want)
		}
	}
}

func TestRemarksAreTheHeadOfTheFile(t *testing.T) {
	root := fstest.MapFS{
		"a.yaml": {Data: []byte("# yaml-language-server: $schema=x\n# Why it is so.\n# And more.\nname: a\n# Not this.\n")},
		"b.yaml": {Data: []byte("name: b\n# Not this.\n")},
	}
	got, err := remarks(root, []*scenarios.Scenario{{Name: "a", File: "a.yaml"}, {Name: "b", File: "b.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if got["a"] != "Why it is so.\nAnd more." || got["b"] != "" {
		t.Errorf("the remarks are %q", got)
	}
}

func TestOtherPagesAreListed(t *testing.T) {
	root := fstest.MapFS{
		"docs/README.md": {Data: []byte("# No\n")}, "docs/checks.md": {Data: []byte("# No\n")},
		"docs/course.md": {Data: []byte("text\n# A course\n# Part\n")}, "docs/bare.md": {Data: []byte("text\n")},
	}
	got, err := otherPages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] != (other{"bare.md", "bare.md"}) || got[1] != (other{"course.md", "A course"}) {
		t.Errorf("the pages are %v", got)
	}
}
