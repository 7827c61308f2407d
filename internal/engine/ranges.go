package engine

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// zrange is what ZRANGE and its like are asked for.
type zrange struct {
	by            string // "", SCORE or LEX
	reverse       bool
	scores        bool
	limited       bool
	offset, count int64
}

// rangeKinds are the forms of ZRANGE that have a name of their own.
var rangeKinds = map[string]zrange{
	"ZRANGE": {}, "ZREVRANGE": {reverse: true},
	"ZRANGEBYSCORE": {by: "SCORE"}, "ZREVRANGEBYSCORE": {by: "SCORE", reverse: true},
	"ZRANGEBYLEX": {by: "LEX"}, "ZREVRANGEBYLEX": {by: "LEX", reverse: true},
}

// parseRange reads the options of a range and returns what is wrong with them.
// (zrangeGenericCommand of Redis.)
func parseRange(name string, options []string) (r zrange, problem string) {
	r = rangeKinds[name]
	any := name == "ZRANGE"
	for i := 0; i < len(options); i++ {
		switch option := strings.ToUpper(options[i]); {
		case option == "WITHSCORES":
			r.scores = true
		case option == "LIMIT" && i+2 < len(options):
			var okOffset, okCount bool
			r.offset, okOffset = integer(options[i+1])
			r.count, okCount = integer(options[i+2])
			if !okOffset || !okCount {
				return r, errNotInteger
			}
			r.limited = true
			i += 2
		case option == "REV" && any:
			r.reverse = true
		case option == "BYSCORE" && any && r.by == "", option == "BYLEX" && any && r.by == "":
			r.by = option[len("BY"):]
		default:
			return r, errSyntax
		}
	}
	switch {
	case r.limited && r.by == "" && r.count != -1:
		return r, "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	case r.scores && r.by == "LEX":
		return r, "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	}
	return r, ""
}

// zRange answers ZRANGE and its like.
func zRange(c *call) bool {
	r, problem := parseRange(c.name, c.args[4:])
	if problem != "" {
		return c.fail(problem)
	}
	low, high := c.args[2], c.args[3]
	if r.reverse && r.by != "" {
		low, high = high, low
	}
	var within func(e scored) bool
	var from, to int64
	switch r.by {
	case "SCORE":
		if within, problem = betweenScores(low, high); problem != "" {
			return c.fail(problem)
		}
	case "LEX":
		if within, problem = betweenNames(low, high); problem != "" {
			return c.fail(problem)
		}
	default:
		var okFrom, okTo bool
		from, okFrom = integer(low)
		to, okTo = integer(high)
		if !okFrom || !okTo {
			return c.fail(errNotInteger)
		}
	}
	all, ok := c.sortedSet()
	if !ok {
		return true
	}
	if r.reverse {
		slices.Reverse(all)
	}
	if within == nil {
		all = slice(all, from, to)
	} else {
		all = slices.DeleteFunc(all, func(e scored) bool { return !within(e) })
		if r.limited {
			all = r.limit(all)
		}
	}
	c.writeScored(all, r.scores, true)
	return true
}

func (r zrange) limit(all []scored) []scored {
	if r.offset < 0 {
		return nil
	}
	all = all[min(r.offset, int64(len(all))):]
	if r.count >= 0 {
		all = all[:min(r.count, int64(len(all)))]
	}
	return all
}

// slice takes the elements from one index to another, both counted from the end
// when they are negative.
func slice[T any](all []T, from, to int64) []T {
	n := int64(len(all))
	if from < 0 {
		from = max(from+n, 0)
	}
	if to < 0 {
		to += n
	}
	to = min(to, n-1)
	if from > to {
		return nil
	}
	return all[from : to+1]
}

const errNotScores = "ERR min or max is not a float"

// betweenScores reads two ends of a range of scores.
func betweenScores(low, high string) (within func(scored) bool, problem string) {
	least, above, ok := scoreEnd(low)
	most, below, ok2 := scoreEnd(high)
	if !ok || !ok2 {
		return nil, errNotScores
	}
	return func(e scored) bool {
		return (e.score > least || !above && e.score == least) && (e.score < most || !below && e.score == most)
	}, ""
}

// scoreEnd reads an end of a range, which a bracket before it leaves out.
func scoreEnd(s string) (score float64, excluded, ok bool) {
	s, excluded = strings.CutPrefix(s, "(")
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s == "" {
		return 0, excluded, true // as strtod reads it
	}
	score, ok = float(s)
	return score, excluded, ok && !math.IsNaN(score)
}

// plainEnd writes an end of a range in a way that miniredis, too, can read.
func plainEnd(s string) string {
	score, excluded, _ := scoreEnd(s)
	text := strconv.FormatFloat(score, 'g', -1, 64)
	if excluded {
		text = "(" + text
	}
	return text
}

// zCount answers ZCOUNT.
func zCount(c *call) bool {
	within, problem := betweenScores(c.args[2], c.args[3])
	if problem != "" {
		return c.fail(problem)
	}
	all, ok := c.sortedSet()
	if !ok {
		return true
	}
	c.peer.WriteInt(len(slices.DeleteFunc(all, func(e scored) bool { return !within(e) })))
	return true
}

const errNotNames = "ERR min or max not valid string range item"

// betweenNames reads two ends of a range of members.
func betweenNames(low, high string) (within func(scored) bool, problem string) {
	least, above, ok := nameEnd(low)
	most, below, ok2 := nameEnd(high)
	if !ok || !ok2 {
		return nil, errNotNames
	}
	return func(e scored) bool {
		l, h := least(e.member), most(e.member)
		return (l > 0 || !above && l == 0) && (h < 0 || !below && h == 0)
	}, ""
}

// nameEnd reads an end of a range, and returns a function that compares a member
// with it.
func nameEnd(s string) (compare func(member string) int, excluded, ok bool) {
	switch {
	case s == "-":
		return func(string) int { return 1 }, false, true
	case s == "+":
		return func(string) int { return -1 }, false, true
	case strings.HasPrefix(s, "["), strings.HasPrefix(s, "("):
		return func(member string) int { return strings.Compare(member, s[1:]) }, s[0] == '(', true
	}
	return nil, false, false
}
