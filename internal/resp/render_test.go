package resp

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
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
		"$9223372036854775807\r\n":      "(nil)",
		"*99999999\r\n":                 "[]",
	} {
		if got := Render([]byte(reply), func(s string) string { return "<" + s + ">" }); got != want {
			t.Errorf("%q reads %q, want %q", reply, got, want)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n*1\r\n:7\r\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { Render(b, strings.ToUpper) })
}
