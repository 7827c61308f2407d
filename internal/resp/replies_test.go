package resp

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRepliesInPieces(t *testing.T) {
	replies := []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*-1\r\n", "*0\r\n", "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
		"_\r\n", "#t\r\n", ",1.5\r\n", "(12345678901234567890\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR x\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n+a\r\n",
		">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n", "|1\r\n+ttl\r\n:3\r\n+OK\r\n",
	}
	text := strings.Join(replies, "")
	for size := 1; size <= len(text); size++ {
		var r Replies
		var got []string
		for piece := range slices.Chunk([]byte(text), size) {
			some, err := r.Feed(piece)
			if err != nil {
				t.Fatalf("in pieces of %d: %v", size, err)
			}
			for _, one := range some {
				got = append(got, string(one))
			}
		}
		if !slices.Equal(got, replies) || len(r.Rest()) > 0 {
			t.Fatalf("in pieces of %d: %q, and %q is left", size, got, r.Rest())
		}
	}
}

func TestNoReply(t *testing.T) {
	for _, text := range []string{
		"OK\r\n", "\r\n", "$x\r\n", "$-2\r\n", "$536870913\r\n", "*-2\r\n", "*x\r\n", "*1048577\r\n",
		strings.Repeat("*1\r\n", maxDepth) + ":1\r\n", strings.Repeat("+", maxLine+2), "+" + strings.Repeat("x", maxLine) + "\r\n",
	} {
		var r Replies
		got, err := r.Feed([]byte(":1\r\n" + text))
		if !errors.Is(err, ErrReply) || len(got) != 1 || string(r.Rest()) != text {
			t.Errorf("%.40q after a reply gave %q and %v", text, got, err)
		}
	}
}

func TestIsPush(t *testing.T) {
	for reply, want := range map[string]bool{">1\r\n+a\r\n": true, "*1\r\n+a\r\n": false, "": false} {
		if got := IsPush([]byte(reply)); got != want {
			t.Errorf("IsPush(%q) = %v", reply, got)
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add([]byte("+OK\r\n$4\r\nPING\r\n"), 3)
	f.Add([]byte("*2\r\n:1\r\n+OK\r\n|1\r\n+a\r\n+b\r\n:1\r\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var whole, parts Replies
		want, wantErr := whole.Feed(b)
		cut = min(max(cut, 0), len(b))
		got, err := parts.Feed(b[:cut])
		if err == nil {
			var more [][]byte
			more, err = parts.Feed(b[cut:])
			got = append(got, more...)
		}
		if !errors.Is(err, wantErr) || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("in one piece %q, %v; in two %q, %v", want, wantErr, got, err)
		}
		if all := append(bytes.Join(want, nil), whole.Rest()...); !bytes.Equal(all, b) {
			t.Fatalf("of %q there are %q, and %q is left", b, want, whole.Rest())
		}
	})
}
