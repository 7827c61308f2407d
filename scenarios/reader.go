package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"lockpick/internal/nearest"
)

// reader walks the nodes of one file and gathers every problem. Its methods
// report what is wrong and return whether there is a value to go on with.
type reader struct {
	file     string
	known    Known
	called   string // what the scenario's name has to be, if not empty
	problems []Problem
	full     bool // there were more than are kept

	checks map[string]*yaml.Node // where each check is listed; empty when that cannot be told
}

// wrong reports a problem where n starts.
func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.fail(n.Line, n.Column, format, args...)
}

func (r *reader) fail(line, column int, format string, args ...any) {
	if r.full = len(r.problems) == maxProblems; !r.full {
		r.problems = append(r.problems, Problem{r.file, line, column, fmt.Sprintf(format, args...)})
	}
}

// field is one field of a mapping of which a T is made.
type field[T any] struct {
	name     string
	required bool
	read     func(r *reader, n *yaml.Node, into *T)
	refused  string // why it must not be there, though it looks as if it could
}

// names lists the fields that the mapping may have.
func names[T any](fields []field[T]) []string {
	var list []string
	for _, f := range fields {
		if f.refused == "" {
			list = append(list, f.name)
		}
	}
	return list
}

// pair is a key of a mapping and its value.
type pair struct{ key, value *yaml.Node }

// mapping reads n, which what names, field by field, in the order of fields:
// later ones can rely on what the earlier ones have put into into. It returns
// the values by key, or nil when n is not a mapping.
func mapping[T any](r *reader, n *yaml.Node, what string, fields []field[T], into *T) map[string]*yaml.Node {
	pairs, ok := r.pairs(n, what, "expected the fields "+enumerate(names(fields), "and"))
	if !ok {
		return nil
	}
	byKey := make(map[string]*yaml.Node, len(pairs))
	for _, p := range pairs {
		byKey[p.key.Value] = p.value
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == p.key.Value })
		switch {
		case i < 0:
			r.wrong(p.key, "unknown field %s in %s; %s", quote(p.key.Value), what, meant(p.key.Value, names(fields)))
		case fields[i].refused != "":
			r.wrong(p.key, "%s", fields[i].refused)
		}
	}
	for _, f := range fields {
		switch value, given := byKey[f.name]; {
		case given && f.refused == "" && !r.full:
			f.read(r, value, into)
		case !given && f.required:
			r.wrong(n, "%s has no %s; expected one", what, f.name)
		}
	}
	return byKey
}

// pairs returns the keys and values of a mapping, without the second of two
// equal keys.
func (r *reader) pairs(n *yaml.Node, what, expected string) ([]pair, bool) {
	if unreadable(n) {
		return nil, false
	}
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "%s is %s; %s", what, describe(n), expected)
		return nil, false
	}
	var list []pair
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && !r.full; i += 2 {
		key := n.Content[i]
		switch {
		case unreadable(key):
			continue
		case key.Kind != yaml.ScalarNode:
			r.wrong(key, "a field of %s is called by %s; expected a name", what, describe(key))
			continue
		}
		if earlier := first[key.Value]; earlier != nil {
			r.wrong(key, "duplicate field %s in %s; the first is in line %d", quote(key.Value), what, earlier.Line)
			continue
		}
		first[key.Value] = key
		list = append(list, pair{key, n.Content[i+1]})
	}
	return list, true
}

// list returns the elements of a list.
func (r *reader) list(n *yaml.Node, what, expected string) ([]*yaml.Node, bool) {
	if unreadable(n) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "%s is %s; expected a list %s", what, describe(n), expected)
		return nil, false
	}
	return n.Content, true
}

// unreadable reports whether n is something that plain has reported.
func unreadable(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Tag == "!!merge" || n.Style&yaml.TaggedStyle != 0
}

// describe says what n is, for the middle of a sentence.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	case n.Tag == "!!str":
		return quote(n.Value)
	default:
		return brief(n.Value)
	}
}

// meant says which name was expected instead of word: the nearest ones, or all
// of them when none is near.
func meant(word string, candidates []string) string {
	if hint := nearest.Hint(word, candidates); hint != "" {
		return hint
	}
	const most = 16
	switch n := len(candidates); {
	case n == 0:
		return "none is known"
	case n > most:
		return fmt.Sprintf("expected one of %s … (%d in all)", strings.Join(candidates[:most], ", "), n)
	}
	return "expected " + enumerate(candidates, "or")
}

// enumerate writes names as a sentence does: a, b and c.
func enumerate(names []string, and string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + and + " " + names[last]
}

func quote(s string) string { return strconv.Quote(brief(s)) }

// brief shortens what somebody wrote to what fits a message.
func brief(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
