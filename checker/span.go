package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// forever is the end of what never ended.
const forever = time.Duration(math.MaxInt64)

// span is a stretch of time.
type span struct{ from, to time.Duration }

func (s span) length() time.Duration { return s.to - s.from }

// meets reports whether the spans have an instant in common. Spans that only
// touch do.
func (s span) meets(o span) bool { return s.from <= o.to && o.from <= s.to }

// covers reports whether t is in s.
func (s span) covers(t time.Duration) bool { return s.from <= t && t <= s.to }

// union sorts spans in place and returns what they cover, in order and with
// nothing in common. Spans that touch become one.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// firstAfter returns the index of the first span of a union that ends at t or
// later.
func firstAfter(spans []span, t time.Duration) int {
	return sort.Search(len(spans), func(i int) bool { return spans[i].to >= t })
}

// subtract returns what is left of s without holes, which are a union.
func subtract(s span, holes []span) []span {
	var out []span
	for _, h := range holes[firstAfter(holes, s.from):] {
		if h.from >= s.to {
			break
		}
		if h.from > s.from {
			out = append(out, span{s.from, h.from})
		}
		s.from = max(s.from, h.to)
	}
	if s.from < s.to {
		out = append(out, s)
	}
	return out
}

// longestGap returns the longest stretch of s that a union leaves free; the
// first of them when there are several, and an empty span when there is none.
func longestGap(s span, taken []span) span {
	longest := span{s.from, s.from}
	for _, g := range subtract(s, taken) {
		if g.length() > longest.length() {
			longest = g
		}
	}
	return longest
}

// meetsAny reports whether s has an instant in common with a union.
func meetsAny(s span, spans []span) bool {
	i := firstAfter(spans, s.from)
	return i < len(spans) && spans[i].meets(s)
}
