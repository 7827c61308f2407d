package tap

import (
	"strconv"

	"github.com/alicebob/miniredis/v2"
)

// value is what a key holds.
type value struct {
	kind  string
	parts []string // the string; or the fields of a hash with their values, the elements of a list or a set, the members of a sorted set with their scores
}

// read takes a value out of a database. The errors are for keys of another kind,
// which the switch has ruled out.
func read(db *miniredis.RedisDB, key string) value {
	v := value{kind: db.Type(key)}
	switch v.kind {
	case "string":
		text, _ := db.Get(key)
		v.parts = []string{text}
	case "hash":
		fields, _ := db.HKeys(key)
		for _, f := range fields {
			v.parts = append(v.parts, f, db.HGet(key, f))
		}
	case "list":
		v.parts, _ = db.List(key)
	case "set":
		v.parts, _ = db.Members(key)
	case "zset":
		scores, _ := db.SortedSet(key)
		for m, score := range scores {
			v.parts = append(v.parts, m, strconv.FormatFloat(score, 'g', -1, 64))
		}
	}
	return v
}

// put puts a value into a database, in place of what was there, and reports whether
// it can. The errors are for keys of another kind, and there is none.
func put(db *miniredis.RedisDB, key string, v value) bool {
	db.Del(key)
	switch v.kind {
	case "string":
		_ = db.Set(key, v.parts[0])
	case "hash":
		db.HSet(key, v.parts...)
	case "list":
		_, _ = db.Push(key, v.parts...)
	case "set":
		_, _ = db.SetAdd(key, v.parts...)
	case "zset":
		for i := 0; i < len(v.parts); i += 2 {
			score, err := strconv.ParseFloat(v.parts[i+1], 64)
			if err != nil {
				return false
			}
			_, _ = db.ZAdd(key, score, v.parts[i])
		}
	default:
		return false
	}
	return true
}
