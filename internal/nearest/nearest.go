// Package nearest finds the name that was meant by one that does not exist.
//
// It knows no list of names of its own; whoever has refused a word hands over
// the ones that would have done.
//
// The rule that surprises: a word that resembles nothing gets no suggestion. A
// far-fetched one sends the reader the wrong way.
package nearest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxNames is how many names are offered at most.
const MaxNames = 3

// minPrefix is the length from which a word's being the beginning of a name
// counts as a resemblance, however long the rest.
const minPrefix = 3

// Names returns the candidates that word may have been meant to be, the nearest
// first and equally near ones in alphabetical order. Capitals do not count.
func Names(word string, candidates []string) []string {
	type near struct {
		name string
		far  int
	}
	var found []near
	folded := strings.ToLower(word)
	length := utf8.RuneCountInString(folded)
	limit := allowance(length)
	for _, name := range candidates {
		other := strings.ToLower(name)
		switch far, ok := within(folded, other, limit); {
		case ok:
			found = append(found, near{name, far})
		case length >= minPrefix && strings.HasPrefix(other, folded):
			found = append(found, near{name, limit + 1})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, f := range found {
		if len(names) < MaxNames && !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// Hint is the question to the reader, such as `did you mean "a" or "b"?`, and
// empty when nothing is near.
func Hint(word string, candidates []string) string {
	names := Names(word, candidates)
	if len(names) == 0 {
		return ""
	}
	for i, name := range names {
		names[i] = strconv.Quote(name)
	}
	last := len(names) - 1
	if last == 0 {
		return "did you mean " + names[0] + "?"
	}
	return "did you mean " + strings.Join(names[:last], ", ") + " or " + names[last] + "?"
}

// allowance is how many slips a word of that length may have: one in three
// letters, and never so many that nothing of the word is left.
func allowance(length int) int {
	if length < 2 {
		return 0
	}
	return max(1, length/3)
}

// within returns the distance of two words, if it is at most limit. Words whose
// lengths alone put them further apart cost nothing, however long they are.
func within(a, b string, limit int) (int, bool) {
	if d := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); d > limit || -d > limit {
		return 0, false
	}
	far := distance([]rune(a), []rune(b))
	return far, far <= limit
}

// distance counts the letters to insert, delete, change or swap with their
// neighbour that turn one word into the other.
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
