package resp

import (
	"errors"
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

func same(a, b []Command) bool {
	return slices.EqualFunc(a, b, func(a, b Command) bool { return a.Raw == b.Raw && slices.Equal(a.Args, b.Args) })
}

func TestCommandsInPieces(t *testing.T) {
	set, get := wire("SET", "k", "a\r\nb"), wire("GET", "k")
	want := []Command{{[]string{"SET", "k", "a\r\nb"}, set}, {[]string{"GET", "k"}, get}}
	text := set + get
	for size := 1; size <= len(text); size++ {
		var c Commands
		var got []Command
		for piece := range slices.Chunk([]byte(text), size) {
			some, err := c.Feed(piece)
			if err != nil {
				t.Fatalf("in pieces of %d: %v", size, err)
			}
			got = append(got, some...)
			clear(piece) // they are the caller's
		}
		if !same(got, want) || c.Rest() != "" {
			t.Fatalf("in pieces of %d: %q, and %q is left", size, got, c.Rest())
		}
	}
}

// What is written is what the tests take for the wire, and is cut again.
func TestAppendCommand(t *testing.T) {
	args := []string{"SET", "k", "", "a\r\n$1\r\nb"}
	if got := string(AppendCommand([]byte("+OK\r\n"), args...)); got != "+OK\r\n"+wire(args...) {
		t.Errorf("it is %q", got)
	}
	var c Commands
	if got, err := c.Feed(AppendCommand(nil, args...)); err != nil || len(got) != 1 || !slices.Equal(got[0].Args, args) {
		t.Errorf("cut again: %q, %v", got, err)
	}
}

func TestNoCommand(t *testing.T) {
	for _, text := range []string{"GET k\r\n", "*x\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*99999999999999999999\r\n", "*1\r\n$" + strings.Repeat("9", 40)} {
		var c Commands
		got, err := c.Feed([]byte(wire("PING") + text))
		if !errors.Is(err, ErrCommand) || len(got) != 1 || c.Rest() != text {
			t.Errorf("%q after a PING gave %q and %v, and %q is left", text, got, err, c.Rest())
		}
	}
}

func FuzzCommands(f *testing.F) {
	f.Add([]byte(wire("SET", "k", "v", "NX")), 3)
	f.Add([]byte("*1\r\n$3\r\nGE"), 1)
	f.Add([]byte("*7\r\n$00"), 6) // as many words as there are bytes, or more
	f.Add([]byte("*1\r\n$000000000000000000000000000000000000\r\n"), 38)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var whole, parts Commands
		want, wantErr := whole.Feed(b)
		cut = min(max(cut, 0), len(b))
		got, err := parts.Feed(b[:cut])
		if err == nil {
			var more []Command
			more, err = parts.Feed(b[cut:])
			got = append(got, more...)
		}
		if !errors.Is(err, wantErr) || !same(got, want) {
			t.Fatalf("in one piece %q, %v; in two %q, %v", want, wantErr, got, err)
		}
		raw := ""
		for _, c := range want {
			raw += c.Raw
		}
		if raw+whole.Rest() != string(b) {
			t.Fatalf("of %q there are %q, and %q is left", b, want, whole.Rest())
		}
	})
}

// BenchmarkCommands is the one allocation of a command's words, and that of its
// bytes.
func BenchmarkCommands(b *testing.B) {
	text := []byte(wire("SET", "lock:order:12", "0123456789abcdef", "NX", "PX", "30000"))
	var c Commands
	b.ReportAllocs()
	for b.Loop() {
		if all, err := c.Feed(text); len(all) != 1 || err != nil {
			b.Fatal(all, err)
		}
	}
}
