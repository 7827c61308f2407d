package tap

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want Line
	}{
		{`1767225600.123456 [0 127.0.0.1:50000] "SET" "k" "v"`, Line{time.Unix(1767225600, 123456000), 0, "127.0.0.1:50000", []string{"SET", "k", "v"}}},
		{`1.000000 [15 lua] "get" ""`, Line{time.Unix(1, 0), 15, "lua", []string{"get", ""}}},
		{`1.000000 [0 [::1]:50000] "a] b"`, Line{time.Unix(1, 0), 0, "[::1]:50000", []string{"a] b"}}},
		{`1.000000 [0 unix:/tmp/s] "\"\\\n\r\t\a\b\x00\xff"`, Line{time.Unix(1, 0), 0, "unix:/tmp/s", []string{"\"\\\n\r\t\a\b\x00\xff"}}},
	}
	for _, tt := range tests {
		got, err := Parse(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestNoLine(t *testing.T) {
	for _, text := range []string{
		"", "OK", `1.000000 [0 a]`, `1.000000 [0 a] `, `1.00000 [0 a] "x"`, `x.000000 [0 a] "x"`, `1.000000 [-1 a] "x"`, `1.000000 [0] "x"`, `1.000000 [0 ] "x"`,
		`1.000000 [0 a] x`, `1.000000 [0 a] "x`, `1.000000 [0 a] "x" `, `1.000000 [0 a] "x""y"`, `1.000000 [0 a] "\x0"`, `1.000000 [0 a] "\xgg"`, `1.000000 [0 a] "\z"`, `1.000000 [0 a] "\`,
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// show prints a line as Redis does (sdscatrepr).
func show(l Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%06d [%d %s]", l.At.Unix(), l.At.Nanosecond()/1000, l.DB, l.From)
	for _, a := range l.Args {
		b.WriteString(` "`)
		for i := range len(a) {
			switch c := a[i]; {
			case c == '\\' || c == '"':
				b.WriteByte('\\')
				b.WriteByte(c)
			case strings.IndexByte("\n\r\t\a\b", c) >= 0:
				b.WriteByte('\\')
				b.WriteByte("nrtab"[strings.IndexByte("\n\r\t\a\b", c)])
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, `\x%02x`, c)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}

// FuzzParse: what is read is what was printed; nothing panics.
func FuzzParse(f *testing.F) {
	f.Add(`1767225600.123456 [0 127.0.0.1:50000] "SET" "k" "\x00\"\\"`, "SET", "a] [b\r\n")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		if l, err := Parse(text); err == nil {
			if again, err := Parse(show(l)); err != nil || !reflect.DeepEqual(again, l) {
				t.Errorf("%+v, printed and read: %+v, %v", l, again, err)
			}
		}
		l := Line{time.Unix(1767225600, 1000), 3, "127.0.0.1:1", []string{one, two}}
		if got, err := Parse(show(l)); err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%+v, printed and read: %+v, %v", l, got, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := `1767225600.123456 [0 127.0.0.1:50000] "SET" "order:123" "client-1-0123456789abcdef" "NX" "PX" "30000"`
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
