package keyspace

import (
	"slices"
	"strings"
	"testing"
)

func TestLabelsAreOneToOne(t *testing.T) {
	l := NewLabels()
	l.KeepKey("a-long-name-of-a-lock-that-is-a-key")
	l.KeepKey("order:12")
	l.Keep("client-1#1")
	token, other := "Zm9vYmFyYmF6cXV4MTIzNA==", "cXV4Zm9vYmFyYmF6MTIzNA=="
	if l.Of("client-1", token) != "client-1~1" || l.Of("client-2", other) != "client-2~1" || l.Of("client-2", token) != "client-1~1" {
		t.Errorf("%q and %q are called %q and %q", token, other, l.Of("client-1", token), l.Of("client-2", other))
	}
	for _, random := range []string{"2e3f9a1c", "1e234567", "1234567890123456789", "with a space 1a", "has#hash~1", "order:12:2e3f9a1c77"} {
		if got := l.Of("client-3", random); !strings.HasPrefix(got, "client-3~") {
			t.Errorf("%q, which may be random, is called %q", random, got)
		}
	}
	for _, same := range []string{"short", "30000", "1764529981123", "client-1#1", "WithScores", "a-long-name-of-a-lock-that-is-a-key", "{a-long-name-of-a-lock-that-is-a-key}:fence", "order:12:subscribers", "lock:order:12:7"} {
		if got := l.Of("client-1", same); got != same {
			t.Errorf("%q is called %q", same, got)
		}
	}
	got := l.Command("client-1", []string{"eval", "return 1", "1", "k", token})
	if want := []string{"EVAL", "return 1", "1", "k", "client-1~1"}; !slices.Equal(got, want) {
		t.Errorf("a script reads %q, want %q", got, want)
	}
}
