package tap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// printed is a line as Redis does. (replicationFeedMonitors and sdscatrepr.)
func printed(l Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%06d [%d %s]", l.At.Unix(), l.At.Nanosecond()/1000, l.DB, l.From)
	for _, a := range l.Args {
		b.WriteString(` "`)
		for _, c := range []byte(a) {
			switch {
			case c == '\\' || c == '"':
				b.WriteByte('\\')
				b.WriteByte(c)
			case strings.IndexByte("\n\r\t\a\b", c) >= 0:
				b.WriteByte('\\')
				b.WriteByte("nrtab"[strings.IndexByte("\n\r\t\a\b", c)])
			case c >= ' ' && c <= '~':
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}

func TestParse(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, want := range []Line{
		{at, 0, "127.0.0.1:41504", []string{"SET", "k", "v"}},
		{at, 15, "[::1]:6379", []string{""}},
		{at, 0, "lua", []string{"get", `a "quoted] " word`, string(all)}},
		{at, 0, "unix:/tmp/a socket", []string{"PING", "", ""}},
		{time.Unix(0, 0).UTC(), 3, "x", []string{"é"}},
	} {
		got, err := Parse(printed(want))
		if err != nil || got.At != want.At || got.DB != want.DB || got.From != want.From || !slices.Equal(got.Args, want.Args) {
			t.Errorf("%s is read as %v, %v", printed(want), got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		``, `OK`, `1.000000`, `1.000000 [0 a]`, `1.000000 [0 a] `, `1.000000 [0] "x"`, `1.000000 [0 ] "x"`, `1.000000 [-1 a] "x"`, `1.000000 [00 a] "x"`, `1 [0 a] "x"`,
		`1.5 [0 a] "x"`, `1.00000x [0 a] "x"`, `-1.000000 [0 a] "x"`, `1.+00001 [0 a] "x"`, `1.000000 [0 a] x`, `1.000000 [0 a] "x`, `1.000000 [0 a] "x" `, `1.000000 [0 a] "x""y"`,
		`1.000000 [0 a] "\"`, `1.000000 [0 a] "\q"`, `1.000000 [0 a] "\x4"`, `1.000000 [0 a] "\x41"`, `1.000000 [0 a] "\x0A"`, `1.000000 [0 a] "\x0a"`, `1.000000 [0 a] "\xFF"`, "1.000000 [0 a] \"\x01\"", "1.000000 [0 a] \"\xff\"",
	} {
		if l, err := Parse(s); err == nil {
			t.Errorf("%q is read as %v", s, l)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`1796127911.112600 [0 127.0.0.1:41504] "SET" "k" "\x00\"\\\n\xff"`)
	f.Add(`1796127911.112600 [1 lua] "get" ""`)
	f.Fuzz(func(t *testing.T, s string) {
		l, err := Parse(s)
		if err == nil && printed(l) != s {
			t.Fatalf("%q is read as %v, which is printed %q", s, l, printed(l))
		}
		// and whatever there is can be read again
		l = Line{At: epoch, DB: len(s) % 16, From: "a", Args: []string{s, "", s}}
		got, err := Parse(printed(l))
		if err != nil || !slices.Equal(got.Args, l.Args) || got.DB != l.DB || !got.At.Equal(l.At) {
			t.Fatalf("%v comes back as %v, %v", l, got, err)
		}
	})
}
