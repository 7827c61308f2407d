package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock writes a time since the start of the run, in seconds. It cuts and does
// not round, so that no time overtakes another.
func clock(t time.Duration, micro bool) string {
	if micro {
		return fmt.Sprintf("%d.%06ds", t/time.Second, t%time.Second/time.Microsecond)
	}
	return fmt.Sprintf("%d.%03ds", t/time.Second, t%time.Second/time.Millisecond)
}

// long writes how long something took, to three or four digits.
func long(d time.Duration) string {
	if d < 0 {
		return "-" + long(-d)
	}
	switch {
	case d >= 2*time.Minute:
		text := d.Round(time.Millisecond).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		return text
	case d >= time.Second:
		return strconv.FormatFloat(float64(d.Round(time.Millisecond).Milliseconds())/1000, 'f', -1, 64) + "s"
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(time.Microsecond).String()
	}
}

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

// lineList names lines of the history file: "line 4", "lines 4, 7–9".
func lineList(lines []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(lines)))
	if len(sorted) == 1 {
		return fmt.Sprintf("line %d", sorted[0])
	}
	return "lines " + ranges(sorted)
}

// ranges joins ascending numbers, three or more in a row as a range.
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j-i < 2 {
			j = i
			parts = append(parts, strconv.Itoa(n[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d–%d", n[i], n[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// nodeList names nodes shortly: "redis-1", "redis-1, 2, 4", "redis-1–5".
func nodeList(names []string) string {
	prefix, numbers := "", []int{}
	for i, name := range names {
		cut := strings.LastIndexByte(name, '-') + 1
		n, err := strconv.Atoi(name[cut:])
		if err != nil || cut == 0 || i > 0 && name[:cut] != prefix {
			return strings.Join(names, ", ")
		}
		prefix, numbers = name[:cut], append(numbers, n)
	}
	slices.Sort(numbers)
	return prefix + ranges(slices.Compact(numbers))
}

// tally counts words and lists them, the most frequent first.
type tally map[string]int

// list names at most limit words and counts the rest.
func (t tally) list(limit int) string {
	keys := make([]string, 0, len(t))
	for k := range t {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(t[b]-t[a], cmp.Compare(a, b)) })
	var parts []string
	rest := 0
	for i, k := range keys {
		if i < limit {
			parts = append(parts, fmt.Sprintf("%d %s", t[k], k))
		} else {
			rest += t[k]
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d others", rest))
	}
	return strings.Join(parts, ", ")
}
