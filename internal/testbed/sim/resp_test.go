package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func wire(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func TestParserTakesWhatIsThere(t *testing.T) {
	text := wire("SET", "k", "a\r\nb") + wire("GET", "k")
	for cut := range len(text) {
		var p parser
		first, err := p.feed([]byte(text[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		second, err := p.feed([]byte(text[cut:]))
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(first, second)
		if len(all) != 2 || !slices.Equal(all[0], []string{"SET", "k", "a\r\nb"}) || !slices.Equal(all[1], []string{"GET", "k"}) {
			t.Fatalf("cut at %d: %q", cut, all)
		}
	}
}

func TestParserRefuses(t *testing.T) {
	for _, text := range []string{"GET k\r\n", "*x\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*99999999999999999999\r\n", "*1\r\n$" + strings.Repeat("9", 40)} {
		var p parser
		if commands, err := p.feed([]byte(text)); err == nil {
			t.Errorf("%q gave %q and no error", text, commands)
		}
	}
}

func FuzzParser(f *testing.F) {
	f.Add([]byte(wire("SET", "k", "v", "NX")), 3)
	f.Add([]byte("*1\r\n$3\r\nGE"), 1)
	f.Add([]byte("*7\r\n$00"), 6) // as many words as there are bytes, or more
	f.Add([]byte("*1\r\n$000000000000000000000000000000000000\r\n"), 38)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var whole, parts parser
		want, wantErr := whole.feed(b)
		cut = min(max(cut, 0), len(b))
		got, err := parts.feed(b[:cut])
		if err == nil {
			var more [][]string
			more, err = parts.feed(b[cut:])
			got = append(got, more...)
		}
		if (err == nil) != (wantErr == nil) || len(got) != len(want) {
			t.Fatalf("in one piece %q, %v; in two %q, %v", want, wantErr, got, err)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("in one piece %q; in two %q", want, got)
			}
		}
	})
}

func TestRenderReply(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n":                       "OK",
		":1\r\n":                        "1",
		"$-1\r\n":                       "(nil)",
		"_\r\n":                         "(nil)",
		"*-1\r\n":                       "(nil)",
		"$3\r\nabc\r\n":                 "<abc>",
		"-ERR no\r\n":                   "(error) ERR no",
		"*2\r\n$1\r\na\r\n*1\r\n:7\r\n": "[<a> [7]]",
		"%1\r\n$1\r\na\r\n$1\r\nb\r\n":  "[<a> <b>]",
		"*3\r\n$1\r\na\r\n":             "[<a>]",
		"":                              "",
		"$5\r\nab\r\n":                  "(nil)",
		"*99999999\r\n":                 "[]",
	} {
		if got := renderReply([]byte(reply), func(s string) string { return "<" + s + ">" }); got != want {
			t.Errorf("%q reads %q, want %q", reply, got, want)
		}
	}
}

func FuzzRenderReply(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n*1\r\n:7\r\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { renderReply(b, strings.ToUpper) })
}

func TestLabelsAreOneToOne(t *testing.T) {
	var l labels
	l.init()
	l.keepKey("a-long-name-of-a-lock-that-is-a-key")
	l.keepKey("order:12")
	l.keep("client-1#1")
	token, other := "Zm9vYmFyYmF6cXV4MTIzNA==", "cXV4Zm9vYmFyYmF6MTIzNA=="
	if l.of("client-1", token) != "client-1~1" || l.of("client-2", other) != "client-2~1" || l.of("client-2", token) != "client-1~1" {
		t.Errorf("%q and %q are called %q and %q", token, other, l.of("client-1", token), l.of("client-2", other))
	}
	for _, random := range []string{"2e3f9a1c", "1e234567", "1234567890123456789", "with a space 1a", "has#hash~1", "order:12:2e3f9a1c77"} {
		if got := l.of("client-3", random); !strings.HasPrefix(got, "client-3~") {
			t.Errorf("%q, which may be random, is called %q", random, got)
		}
	}
	for _, same := range []string{"short", "30000", "1764529981123", "client-1#1", "WithScores", "a-long-name-of-a-lock-that-is-a-key", "{a-long-name-of-a-lock-that-is-a-key}:fence", "order:12:subscribers", "lock:order:12:7"} {
		if got := l.of("client-1", same); got != same {
			t.Errorf("%q is called %q", same, got)
		}
	}
	got := l.command("client-1", []string{"eval", "return 1", "1", "k", token})
	if want := []string{"EVAL", "return 1", "1", "k", "client-1~1"}; !slices.Equal(got, want) {
		t.Errorf("a script reads %q, want %q", got, want)
	}
}
