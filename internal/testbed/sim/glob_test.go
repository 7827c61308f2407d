package sim

import (
	"strings"
	"testing"
	"time"
)

func TestGlobMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"a", "a", true}, {"a", "ab", false}, {"ab", "a", false},
		{"*", "", true}, {"*", "abc", true}, {"**", "abc", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"*b", "abc", false},
		{"a*c", "abbc", true}, {"a*bc", "abbc", true}, {"*a*b*", "xaxbx", true}, {"*a*b*", "xbxax", false}, {"*?", "", false}, {"*?", "a", true},
		{"?", "a", true}, {"?", "", false}, {"??", "a", false}, {"a?c", "abc", true},
		{"[abc]", "b", true}, {"[abc]", "d", false}, {"[a-c]", "b", true}, {"[c-a]", "b", true}, {"[a-c]", "d", false}, {"[^a]", "b", true},
		{"[^a]", "a", false}, {"[^a-c]x", "dx", true}, {"[]", "a", false}, {"[^]", "a", true}, {"[abc", "b", true}, {"[", "a", false}, {"[", "", false},
		{`[\]]`, "]", true}, {`[a\-c]`, "-", true}, {`[a\-c]`, "b", false}, {"[a-]", "-", false}, {"[a-]", "^", true}, // Redis takes the bracket for the end of the range

		{`\*`, "*", true}, {`\*`, "a", false}, {`\`, `\`, true}, {`\\`, `\`, true}, {`\?`, "?", true}, {`\a`, "a", true},
		{"lock:*:wake", "lock:order:123:wake", true}, {"__keyspace@*__:lock", "__keyspace@0__:lock", true}, {"h[ae]llo*", "hello world", true},
	} {
		if got := globMatch(tt.pattern, tt.name); got != tt.want {
			t.Errorf("globMatch(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// naiveGlob is globMatch as Redis had it, which tries every star everywhere.
func naiveGlob(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return naiveGlob(pattern[1:], name) || name != "" && naiveGlob(pattern, name[1:])
	case name == "":
		return false
	}
	ok, rest := globLetter(pattern, name[0])
	return ok && naiveGlob(rest, name[1:])
}

func FuzzGlobMatch(f *testing.F) {
	for _, s := range [][2]string{{"*a*a*a*a*b", "aaaaaaaaaaaa"}, {"[a-", "a"}, {`*[^\]]\`, `]\`}, {"a*?*[b-", "abc"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		began := time.Now()
		got := globMatch(pattern, name)
		if took := time.Since(began); len(pattern)+len(name) < 10_000 && took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if len(pattern) <= 12 && len(name) <= 12 && got != naiveGlob(pattern, name) {
			t.Errorf("globMatch(%q, %q) = %v", pattern, name, got)
		}
		if globMatch(strings.Repeat("*", 3)+pattern, name) != globMatch("*"+pattern, name) {
			t.Errorf("%q, %q: three stars are not as one", pattern, name)
		}
	})
}

// Stars must not multiply: this takes for ever where each is tried everywhere.
func TestGlobMatchEnds(t *testing.T) {
	if globMatch(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 20_000)) {
		t.Error("it matches")
	}
}
