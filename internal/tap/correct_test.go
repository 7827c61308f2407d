package tap

import (
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
)

// A key ends when the server says so, to the millisecond.
func TestCorrect(t *testing.T) {
	var expired []time.Time
	s, err := NewShadow(keyspace.NewLabels(), func(at time.Time, r history.Record) {
		if r.Op == history.Expired {
			expired = append(expired, at)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(1767225600000)
	say := func(ms int, args ...string) {
		s.Apply(Line{At: start.Add(time.Duration(ms) * time.Millisecond), From: "a", Args: args}, "client-1")
	}
	say(0, "SET", "k", "v", "PX", "1000")
	say(1, "SET", "other", "v")
	if got := s.Guessed(); !slices.Equal(got, []string{"k"}) || len(s.Guessed()) > 0 {
		t.Errorf("guessed are the ends of %q, and once more", got)
	}
	if got := s.End("k"); !got.Equal(start.Add(time.Second)) || !s.End("other").IsZero() || !s.End("none").IsZero() {
		t.Errorf("k ends at %v, the others at %v and %v", got, s.End("other"), s.End("none"))
	}
	late := start.Add(1007 * time.Millisecond)
	s.Correct("k", late)
	s.Correct("other", late)
	s.Correct("none", late)
	say(1007, "GET", "k")
	if len(expired) > 0 || !s.End("k").Equal(late) || !s.End("other").IsZero() {
		t.Errorf("expired at %v; k ends at %v", expired, s.End("k"))
	}
	s.Advance(late.Add(time.Millisecond))
	if len(expired) != 1 || !expired[0].Equal(late) {
		t.Errorf("expired at %v, want %v", expired, late)
	}
}
