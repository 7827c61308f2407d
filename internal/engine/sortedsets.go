package engine

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// scored is an element of a sorted set.
type scored struct {
	member string
	score  float64
}

// sortedSet returns the elements of the sorted set that the command is for, the
// least first. It is false, and has answered, when the key is of another type.
func (c *call) sortedSet() ([]scored, bool) {
	switch c.key() {
	case "":
		return nil, true
	case "zset":
	default:
		return nil, !c.fail(errWrongType)
	}
	set, err := c.db().SortedSet(c.args[1])
	if err != nil {
		return nil, !c.fail("ERR " + err.Error())
	}
	all := make([]scored, 0, len(set))
	for member, score := range set {
		all = append(all, scored{member, score})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.member, b.member))
	})
	return all, true
}

// writeScore writes a number as Redis 7.0 does; from 7.2 on it has as few digits
// as will do.
func writeScore(peer *server.Peer, score float64) {
	text := formatNumber(lua.LNumber(score), 17)
	if peer.Resp3 {
		peer.WriteRaw("," + text + "\r\n")
	} else {
		peer.WriteBulk(text)
	}
}

// float reads a number as Redis does.
func float(s string) (float64, bool) {
	if s == "" || unicode.IsSpace(rune(s[0])) || strings.Contains(s, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, (err == nil || math.IsInf(f, 0)) && !math.IsNaN(f)
}

const (
	errNotFloat = "ERR value is not a valid float"
	errNaN      = "ERR resulting score is not a number (NaN)"
)

// addition is what ZADD is asked for.
type addition struct {
	nx, xx, gt, lt, ch, incr bool
	elements                 []scored
}

// parseAddition reads ZADD and returns what is wrong with it. (zaddGenericCommand
// of Redis.)
func parseAddition(args []string) (a addition, problem string) {
	for ; len(args) > 0; args = args[1:] {
		option, known := map[string]*bool{"NX": &a.nx, "XX": &a.xx, "GT": &a.gt, "LT": &a.lt, "CH": &a.ch, "INCR": &a.incr}[strings.ToUpper(args[0])]
		if !known {
			break
		}
		*option = true
	}
	switch {
	case len(args) == 0 || len(args)%2 != 0:
		return a, errSyntax
	case a.nx && a.xx:
		return a, "ERR XX and NX options at the same time are not compatible"
	case a.gt && a.nx || a.lt && a.nx || a.gt && a.lt:
		return a, "ERR GT, LT, and/or NX options at the same time are not compatible"
	case a.incr && len(args) > 2:
		return a, "ERR INCR option supports a single increment-element pair"
	}
	for ; len(args) > 0; args = args[2:] {
		score, ok := float(args[0])
		if !ok {
			return a, errNotFloat
		}
		a.elements = append(a.elements, scored{args[1], score})
	}
	return a, ""
}

// zAdd answers ZADD and ZINCRBY.
func zAdd(c *call) bool {
	var a addition
	problem := ""
	if c.name == "ZINCRBY" {
		score, ok := float(c.args[2])
		if !ok {
			problem = errNotFloat
		}
		a = addition{incr: true, elements: []scored{{c.args[3], score}}}
	} else {
		a, problem = parseAddition(c.args[2:])
	}
	if problem != "" {
		return c.fail(problem)
	}
	if kind := c.key(); kind != "" && kind != "zset" {
		return c.fail(errWrongType)
	}
	added, changed := 0, 0
	for _, e := range a.elements {
		was, exists := c.score(e.member)
		score := e.score + 0 // a negative zero is a zero
		if a.incr && exists {
			if score += was; math.IsNaN(score) {
				return c.fail(errNaN)
			}
		}
		if exists && (a.nx || a.gt && score <= was || a.lt && score >= was) || !exists && a.xx {
			if a.incr {
				c.peer.WriteNull()
				return true
			}
			continue
		}
		switch {
		case !exists:
			added++
		case score != was:
			changed++
		}
		if !exists || score != was {
			if _, err := c.db().ZAdd(c.args[1], score, e.member); err != nil {
				return c.fail("ERR " + err.Error())
			}
		}
		if a.incr {
			writeScore(c.peer, score)
			return true
		}
	}
	if a.ch {
		added += changed
	}
	c.peer.WriteInt(added)
	return true
}

// score returns the score of a member of the sorted set.
func (c *call) score(member string) (float64, bool) {
	if c.key() != "zset" {
		return 0, false
	}
	set, err := c.db().SortedSet(c.args[1])
	if err != nil {
		return 0, false
	}
	score, ok := set[member]
	return score, ok
}

// zScore answers ZSCORE and ZMSCORE.
func zScore(c *call) bool {
	if kind := c.key(); kind != "" && kind != "zset" {
		return c.fail(errWrongType)
	}
	if c.name == "ZMSCORE" {
		c.peer.WriteLen(len(c.args) - 2)
	}
	for _, member := range c.args[2:] {
		if score, ok := c.score(member); ok {
			writeScore(c.peer, score)
		} else {
			c.peer.WriteNull()
		}
	}
	return true
}

// zPop answers ZPOPMIN and ZPOPMAX.
func zPop(c *call) bool {
	count := 1
	if len(c.args) > 3 {
		return c.fail(errSyntax)
	}
	if len(c.args) == 3 {
		n, ok := integer(c.args[2])
		if !ok || n < 0 {
			return c.fail(errPositive)
		}
		count = int(n)
	}
	all, ok := c.sortedSet()
	if !ok {
		return true
	}
	if c.name == "ZPOPMAX" {
		slices.Reverse(all)
	}
	all = all[:min(count, len(all))]
	for _, e := range all {
		if _, err := c.db().ZRem(c.args[1], e.member); err != nil {
			return c.fail("ERR " + err.Error())
		}
	}
	if len(all) > 0 {
		c.touch()
	}
	c.writeScored(all, true, len(c.args) == 3)
	return true
}

// writeScored writes elements, with their scores if they are asked for: in RESP3
// as pairs, unless there can be only one.
func (c *call) writeScored(all []scored, scores, inPairs bool) {
	inPairs = inPairs && scores && c.peer.Resp3
	if scores && !inPairs {
		c.peer.WriteLen(2 * len(all))
	} else {
		c.peer.WriteLen(len(all))
	}
	for _, e := range all {
		if inPairs {
			c.peer.WriteLen(2)
		}
		c.peer.WriteBulk(e.member)
		if scores {
			writeScore(c.peer, e.score)
		}
	}
}
