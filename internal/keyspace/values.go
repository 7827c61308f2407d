package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
)

// data is a key's value as the engine keeps it.
type data struct {
	kind  string
	parts []string // the string; or the fields of a hash with their values, the elements of a list or a set, the members of a sorted set with their scores
}

func (d data) equal(o data) bool { return d.kind == o.kind && slices.Equal(d.parts, o.parts) }

// readData takes a key's value out of the database. The errors are for keys of
// another kind, which the switch has ruled out.
func readData(db *miniredis.RedisDB, name string) data {
	d := data{kind: db.Type(name)}
	switch d.kind {
	case "string":
		v, _ := db.Get(name)
		d.parts = []string{v}
	case "hash":
		fields, _ := db.HKeys(name)
		for _, f := range fields {
			d.parts = append(d.parts, f, db.HGet(name, f))
		}
	case "list":
		d.parts, _ = db.List(name)
	case "set":
		d.parts, _ = db.Members(name)
	case "zset":
		scores, _ := db.SortedSet(name)
		d.parts = ranked(scores)
	}
	return d
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

// write puts the value into the database, in place of what was there.
func (d data) write(db *miniredis.RedisDB, name string) {
	db.Del(name)
	switch d.kind {
	case "string":
		_ = db.Set(name, d.parts[0])
	case "hash":
		db.HSet(name, d.parts...)
	case "list":
		_, _ = db.Push(name, d.parts...)
	case "set":
		_, _ = db.SetAdd(name, d.parts...)
	case "zset":
		for i := 0; i < len(d.parts); i += 2 {
			score, _ := strconv.ParseFloat(d.parts[i+1], 64)
			_, _ = db.ZAdd(name, score, d.parts[i])
		}
	}
}

// render says the value in one line: a hash as field=value, a sorted set as
// member:score.
func (d data) render(name func(string) string) string {
	switch d.kind {
	case "string":
		return name(d.parts[0])
	case "hash", "zset":
		mark := "="
		if d.kind == "zset" {
			mark = ":"
		}
		pairs := make([]string, 0, len(d.parts)/2)
		for i := 0; i < len(d.parts); i += 2 {
			pairs = append(pairs, name(d.parts[i])+mark+name(d.parts[i+1]))
		}
		return strings.Join(pairs, " ")
	case "list", "set":
		elements := make([]string, len(d.parts))
		for i, e := range d.parts {
			elements[i] = name(e)
		}
		return fmt.Sprintf("[%s]", strings.Join(elements, " "))
	default:
		return d.kind
	}
}
