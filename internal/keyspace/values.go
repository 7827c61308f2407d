package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
)

// Value is what a key holds, as the engine keeps it.
type Value struct {
	Kind  string   // as TYPE says it
	Parts []string // the string; or the fields of a hash with their values, the elements of a list or a set, the members of a sorted set with their scores
}

func (v Value) equal(o Value) bool { return v.Kind == o.Kind && slices.Equal(v.Parts, o.Parts) }

// ReadValue takes a key's value out of a database. The errors are for keys of
// another kind, which the switch has ruled out.
func ReadValue(db *miniredis.RedisDB, name string) Value {
	v := Value{Kind: db.Type(name)}
	switch v.Kind {
	case "string":
		text, _ := db.Get(name)
		v.Parts = []string{text}
	case "hash":
		fields, _ := db.HKeys(name)
		for _, f := range fields {
			v.Parts = append(v.Parts, f, db.HGet(name, f))
		}
	case "list":
		v.Parts, _ = db.List(name)
	case "set":
		v.Parts, _ = db.Members(name)
	case "zset":
		scores, _ := db.SortedSet(name)
		v.Parts = ranked(scores)
	}
	return v
}

// ranked returns the members of a sorted set in order, each with its score.
func ranked(scores map[string]float64) []string {
	type scored struct {
		member string
		score  float64
	}
	all := make([]scored, 0, len(scores))
	for m, s := range scores {
		all = append(all, scored{m, s})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.member, b.member))
	})
	parts := make([]string, 0, 2*len(all))
	for _, s := range all {
		parts = append(parts, s.member, decimal(s.score))
	}
	return parts
}

// decimal writes a number without an exponent. Times are whole numbers, which are
// faster to write as such.
func decimal(f float64) string {
	if n := int64(f); n != 0 && float64(n) == f && n < 1<<53 && n > -1<<53 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Write puts the value into a database, in place of what was there, and reports
// whether it is of a kind that it can. The parts of one that was read are as they
// must be.
func (v Value) Write(db *miniredis.RedisDB, name string) bool {
	db.Del(name)
	switch v.Kind {
	case "string":
		_ = db.Set(name, v.Parts[0])
	case "hash":
		db.HSet(name, v.Parts...)
	case "list":
		_, _ = db.Push(name, v.Parts...)
	case "set":
		_, _ = db.SetAdd(name, v.Parts...)
	case "zset":
		for i := 0; i < len(v.Parts); i += 2 {
			score, _ := strconv.ParseFloat(v.Parts[i+1], 64)
			_, _ = db.ZAdd(name, score, v.Parts[i])
		}
	default:
		return false
	}
	return true
}

// render says the value in one line: a hash as field=value, a sorted set as
// member:score.
func (v Value) render(name func(string) string) string {
	switch v.Kind {
	case "string":
		return name(v.Parts[0])
	case "hash", "zset":
		mark := "="
		if v.Kind == "zset" {
			mark = ":"
		}
		pairs := make([]string, 0, len(v.Parts)/2)
		for i := 0; i < len(v.Parts); i += 2 {
			pairs = append(pairs, name(v.Parts[i])+mark+name(v.Parts[i+1]))
		}
		return strings.Join(pairs, " ")
	case "list", "set":
		elements := make([]string, len(v.Parts))
		for i, e := range v.Parts {
			elements[i] = name(e)
		}
		return fmt.Sprintf("[%s]", strings.Join(elements, " "))
	default:
		return v.Kind
	}
}
