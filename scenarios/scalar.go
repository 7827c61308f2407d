package scenarios

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// span is the range of a duration, both ends included.
type span struct{ low, high time.Duration }

// The ranges of durations.
var (
	anyTime   = span{0, MaxHours * time.Hour}
	someTime  = span{1, MaxHours * time.Hour}
	leaseTime = span{time.Millisecond, MaxHours * time.Hour} // Redis expires in no finer steps
	eitherWay = span{-MaxHours * time.Hour, MaxHours * time.Hour}
)

func (s span) String() string {
	if s.low == 1 {
		return "more than 0s, up to " + short(s.high)
	}
	return short(s.low) + " to " + short(s.high)
}

// short writes a duration without the units that are 0 at its end.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// durationText is a duration as Go writes it, with a unit even for 0.
var durationText = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

func (r *reader) duration(n *yaml.Node, what string, within span) (time.Duration, bool) {
	const example = "expected a duration such as 30s, 1m30s or 500ms"
	if unreadable(n) {
		return 0, false
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Tag == "!!bool" {
		r.wrong(n, "%s is %s; %s", what, describe(n), example)
		return 0, false
	}
	if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
		r.wrong(n, "%s is %s, without a unit; %s", what, brief(n.Value), example)
		return 0, false
	}
	if !durationText.MatchString(n.Value) {
		r.wrong(n, "%s is %s; %s", what, quote(n.Value), example)
		return 0, false
	}
	d, err := time.ParseDuration(n.Value)
	minus := within.low >= 0 && strings.HasPrefix(n.Value, "-") // even of 0
	if err != nil || minus || d < within.low || d > within.high {
		r.wrong(n, "%s is %s; expected %s", what, brief(n.Value), within)
		return 0, false
	}
	if within == leaseTime && d%time.Millisecond != 0 {
		r.wrong(n, "%s is %s, and Redis expires in whole milliseconds; expected such a duration", what, n.Value)
		return 0, false
	}
	return d, true
}

// wholeText is a whole number as everybody reads it. YAML has taken 010 for 8 in
// one version and for 10 in the next.
var wholeText = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)

// decimal reports a whole number that is not written as wholeText.
func (r *reader) decimal(n *yaml.Node, what string) bool {
	if n.Tag == "!!int" && !wholeText.MatchString(n.Value) {
		r.wrong(n, "%s is %s, which not everybody reads alike; expected decimal digits, not starting with 0", what, brief(n.Value))
		return false
	}
	return true
}

// integer reads a whole number.
func (r *reader) integer(n *yaml.Node, what string, low, high int64) (int64, bool) {
	if unreadable(n) || !r.decimal(n, what) {
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < low || v > high {
		r.wrong(n, "%s is %s; expected a whole number from %d to %d", what, describe(n), low, high)
		return 0, false
	}
	return v, true
}

// maxCount bounds whatever is counted and has no closer bound.
const maxCount = 1_000_000

// number reads a number that fits; expected says which do.
func (r *reader) number(n *yaml.Node, what string, fits func(float64) bool, expected string) (float64, bool) {
	if unreadable(n) || !r.decimal(n, what) {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	numeric := err == nil && (n.Tag == "!!int" || n.Tag == "!!float")
	if !numeric || !fits(v) {
		r.wrong(n, "%s is %s; expected %s", what, describe(n), expected)
		return 0, false
	}
	return v, true
}

// aboveZero fits what has no closer bound; it is false for not-a-number.
func aboveZero(v float64) bool { return v > 0 && v <= maxCount }

// flag reads true or false.
func (r *reader) flag(n *yaml.Node, what string) (value, ok bool) {
	if unreadable(n) {
		return false, false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.wrong(n, "%s is %s; expected true or false", what, describe(n))
		return false, false
	}
	return strings.EqualFold(n.Value, "true"), true
}

// text reads a text that is not empty. It does not take a number for one: YAML
// has already taken the text 3.10 for the number 3.1 in somebody's editor.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	switch {
	case unreadable(n):
		return "", false
	case n.Kind != yaml.ScalarNode, n.Tag == "!!null":
		r.wrong(n, "%s is %s; expected text", what, describe(n))
		return "", false
	case n.Tag != "!!str":
		r.wrong(n, "%s is %s, which YAML does not take for text; expected quotes around it", what, describe(n))
		return "", false
	case strings.TrimSpace(n.Value) == "":
		r.wrong(n, "%s is empty; expected text", what)
		return "", false
	}
	return n.Value, true
}

// choice reads one of a few words.
func choice[T ~string](r *reader, n *yaml.Node, what string, words []T) (T, bool) {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	if unreadable(n) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(list, n.Value) {
		word := ""
		if n.Kind == yaml.ScalarNode {
			word = n.Value
		}
		r.wrong(n, "%s is %s; %s", what, describe(n), meant(word, list))
		return "", false
	}
	return T(n.Value), true
}

// nameText is how scenarios, versions and checks are called.
var nameText = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName is the length of a name, which is also a file's.
const maxName = 64

// name reads a name in lower case with hyphens.
func (r *reader) name(n *yaml.Node, what string) (string, bool) {
	s, ok := r.text(n, what)
	if ok && (!nameText.MatchString(s) || len(s) > maxName) {
		r.wrong(n, "%s is %s; expected a name in lower case with hyphens, such as gc-pause, of up to %d characters",
			what, quote(s), maxName)
		return "", false
	}
	return s, ok
}
