package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
)

func TestTimes(t *testing.T) {
	tests := []struct {
		d     time.Duration
		long  string
		clock string
		micro string
	}{
		{0, "0s", "0.000s", "0.000000s"},
		{350 * time.Microsecond, "350µs", "0.000s", "0.000350s"},
		{1412 * time.Microsecond, "1.41ms", "0.001s", "0.001412s"},
		{1406 * time.Millisecond, "1.406s", "1.406s", "1.406000s"}, // 1 + 0.406 is a little more
		{119*time.Second + 999999999, "120s", "119.999s", "119.999999s"},
		{30*time.Second + 999999999, "31s", "30.999s", "30.999999s"},
		{35*time.Second + 2*time.Millisecond, "35.002s", "35.002s", "35.002000s"},
		{90 * time.Second, "90s", "90.000s", "90.000000s"},
		{5 * time.Minute, "5m", "300.000s", "300.000000s"},
		{5*time.Minute + 3*time.Second, "5m3s", "303.000s", "303.000000s"},
		{-time.Second, "-1s", "-1.000s", "-1.000000s"},
	}
	for _, tt := range tests {
		if got := long(tt.d); got != tt.long {
			t.Errorf("long(%d) = %q, want %q", tt.d, got, tt.long)
		}
		if tt.d < 0 {
			continue // no record has such a time
		}
		if got := clock(tt.d, false); got != tt.clock {
			t.Errorf("clock(%d) = %q, want %q", tt.d, got, tt.clock)
		}
		if got := clock(tt.d, true); got != tt.micro {
			t.Errorf("clock(%d, micro) = %q, want %q", tt.d, got, tt.micro)
		}
	}
}

func TestLists(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"one line", lineList([]int{4}), "line 4"},
		{"lines are sorted and joined", lineList([]int{9, 4, 8, 7, 4}), "lines 4, 7–9"},
		{"two in a row are no range", lineList([]int{7, 8}), "lines 7, 8"},
		{"nodes of one name", nodeList([]string{"redis-1", "redis-3", "redis-2"}), "redis-1–3"},
		{"nodes of other names", nodeList([]string{"redis-1", "store"}), "redis-1, store"},
		{"no nodes", nodeList(nil), ""},
		{"a count", figure(checker.Figure{Value: 12}), "12"},
		{"a share", figure(checker.Figure{Value: 12.5, Unit: "%"}), "12.5%"},
		{"seconds", figure(checker.Figure{Value: 35.0021, Unit: "s"}), "35.002s"},
		{"less than a millisecond", figure(checker.Figure{Value: 0.00049, Unit: "s"}), "490µs"},
		{"minutes", figure(checker.Figure{Value: 300, Unit: "s"}), "5m"},
		{"no time", figure(checker.Figure{Unit: "s"}), "0s"},
		{"a small number", figure(checker.Figure{Value: 0.012345}), "0.0123"},
		{"a large number", figure(checker.Figure{Value: 1234567}), "1234567"},
		{"a unit of words", figure(checker.Figure{Value: 0.5, Unit: "keys"}), "0.5 keys"},
		{"a rate", figure(checker.Figure{Value: 0.5, Unit: "per second"}), "0.5/s"},
		{"a whole number that ends in zeros", figure(checker.Figure{Value: 500}), "500"},
		{"the most frequent first", tally{"b": 1, "a": 1, "c": 3}.list(2), "3 c, 1 a, 1 others"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestReasonsSayNothingTwice(t *testing.T) {
	for text, want := range map[string]string{
		`release "order:123": impls: not held`: "not held",
		"impls: not acquired":                  "not acquired",
		"testbed: cut off":                     "cut off",
		`acquire "k": context canceled`:        "context canceled",
		`dial "k": refused`:                    `dial "k": refused`,
	} {
		if got := reason(text); got != want {
			t.Errorf("reason(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCommandsAreShortened(t *testing.T) {
	const script = "if redis.call('get', KEYS[1]) == ARGV[1] then\n  return redis.call('del', KEYS[1])\nend"
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"set", "k", "v", "NX"}, "SET k v NX"},
		{[]string{"EVAL", script, "1", "k", "v"}, "EVAL 1ca0b3f0… k v"},
		{[]string{"evalsha", "0123456789abcdef", "1", "k", "v"}, "EVALSHA 01234567… k v"},
		{[]string{"SCRIPT", "LOAD", script}, "SCRIPT LOAD 1ca0b3f0…"},
		{[]string{"EVAL", script}, "EVAL if redis.call('get', KEYS[1]) =…"},
		{[]string{"SET", "k", "", "a\r\nb"}, `SET k "" a b`},
		{[]string{"SET", "k", strings.Repeat("锁", 40)}, "SET k " + strings.Repeat("锁", 15) + "…"},
		{[]string{"PING"}, "PING"},
	}
	for _, tt := range tests {
		if got := command(tt.args); got != tt.want {
			t.Errorf("command(%q) = %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestLinesBreakBetweenWords(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"a bc  d", []string{"a ", "bc  ", "d"}},
		{"  a", []string{"  ", "a"}},
		{"DEL 会删，再删。", []string{"DEL ", "会", "删，", "再", "删。"}},
		{"（租约）", []string{"（租", "约）"}},
		{solid("two words") + " x", []string{"two\u00a0words ", "x"}},
		{"", nil},
	}
	for _, tt := range tests {
		got := words(tt.text)
		if !slices.Equal(got, tt.want) {
			t.Errorf("words(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTextsAreOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"as it is":                         "as it is",
		" blanks  stay ":                   " blanks  stay ",
		"one\ntwo":                         "one; two",
		"one\r\n\r\n  two\n":               "one; two",
		"two errors:\n\t* a\n\t* b":        "two errors: * a; * b",
		"one,\ntwo;\nthree":                "one, two; three",
		"\n":                               "",
		"\n  one":                          "  one",
		"a\tb":                             "a b",
		"\x1b[31mred\x00 \u0085 it's \x7f": `\x1b[31mred\x00 \u0085 it's \x7f`,
		"锁\n没有":                            "锁; 没有",
	} {
		if got := plainText(text); got != want {
			t.Errorf("plainText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestHistoryFileIsAPlainName(t *testing.T) {
	if got, want := HistoryFile("a-b", "../我的 lock", 7), "a-b.------lock.7.jsonl"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
