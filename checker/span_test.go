package checker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestUnionAndSubtract(t *testing.T) {
	tests := []struct {
		name  string
		s     span
		holes []span
		want  []span
	}{
		{"nothing is taken", span{1, 9}, nil, []span{{1, 9}}},
		{"all is taken", span{1, 9}, []span{{0, 5}, {5, 9}}, nil},
		{"both ends", span{1, 9}, []span{{0, 2}, {7, 12}}, []span{{2, 7}}},
		{"the middle, by two that meet", span{1, 9}, []span{{4, 5}, {3, 4}}, []span{{1, 3}, {5, 9}}},
		{"outside", span{3, 5}, []span{{0, 3}, {5, 9}}, []span{{3, 5}}},
		{"of nothing", span{3, 3}, []span{{0, 9}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := subtract(tt.s, union(tt.holes)); !slices.Equal(got, tt.want) {
				t.Errorf("%v without %v = %v, want %v", tt.s, tt.holes, got, tt.want)
			}
		})
	}
}

func TestUnionJoinsWhatTouches(t *testing.T) {
	if got := union([]span{{2, 4}, {7, 8}, {0, 2}, {3, 3}}); !slices.Equal(got, []span{{0, 4}, {7, 8}}) {
		t.Errorf("union = %v", got)
	}
}

// Instant by instant, the arithmetic of spans is that of sets.
func TestSpansAreSets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	draw := func() span {
		from := time.Duration(rnd.IntN(20))
		return span{from, from + time.Duration(rnd.IntN(8))}
	}
	in := func(spans []span, t time.Duration) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.from <= t && t < s.to })
	}
	for range 5_000 {
		var holes []span
		for range rnd.IntN(5) {
			holes = append(holes, draw())
		}
		s, taken := draw(), union(slices.Clone(holes))
		left := subtract(s, taken)
		longest, run := time.Duration(0), time.Duration(0)
		for now := range time.Duration(40) {
			free := in([]span{s}, now) && !in(holes, now)
			if in(left, now) != free {
				t.Fatalf("%v without %v = %v, wrong at %d", s, holes, left, now)
			}
			if run++; !free {
				run = 0
			}
			longest = max(longest, run)
		}
		if got := longestGap(s, taken).length(); got != longest && !slices.ContainsFunc(holes, func(h span) bool { return h.length() == 0 }) {
			t.Fatalf("the longest gap of %v without %v is %v, want %v", s, holes, got, longest)
		}
	}
}
