package keyspace

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Labels gives the values that clients make up at random names that follow from
// the order in which they appear, so that equal seeds give equal histories. Each
// value has one name and each name one value: nothing is lost but the letters.
// Any goroutine may use it.
type Labels struct {
	mu   sync.Mutex
	keys []string          // the locks'
	name map[string]string // value to name
	made map[string]int    // client to the number of its names
}

// A value counts as made up at random from minRandom letters on, four random
// bytes in hexadecimal; digits alone, which may be a time, only from longNumber
// on.
const (
	minRandom  = 8
	longNumber = 16
)

// spoken are words of Redis' own that are as long as that.
var spoken = []string{"WITHSCORES", "WITHSCORE", "WITHVALUES"}

func isSpoken(value string) bool {
	return slices.ContainsFunc(spoken, func(word string) bool { return strings.EqualFold(word, value) })
}

// NewLabels returns what has named nothing yet.
func NewLabels() *Labels { return &Labels{name: map[string]string{}, made: map[string]int{}} }

// Of returns the name of a value that the client used.
func (l *Labels) Of(client, value string) string {
	if len(value) < minRandom || isSpoken(value) {
		return value
	}
	if len(value) < longNumber && strings.Trim(value, "0123456789") == "" {
		return value
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name, ok := l.name[value]
	if !ok && slices.ContainsFunc(l.keys, func(key string) bool { return madeOf(value, key) }) {
		return value
	}
	if !ok {
		l.made[client]++
		name = fmt.Sprintf("%s~%d", client, l.made[client])
		l.name[value] = name
	}
	return name
}

// madeOf reports whether a value is a name that was made of a key's, such as that
// of a counter beside it, and not a random value with the key in it: those have
// digits.
func madeOf(value, key string) bool {
	before, after, ok := strings.Cut(value, key)
	return ok && (len(before)+len(after) < minRandom || !strings.ContainsAny(before+after, "0123456789"))
}

// KeepKey lets the key of a lock stand for itself.
func (l *Labels) KeepKey(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" && !slices.Contains(l.keys, key) {
		l.keys = append(l.keys, key)
	}
}

// Keep lets a value stand for itself that was not made up at random.
func (l *Labels) Keep(value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name[value] = value
}

// Command returns the arguments as the history shows them: values by name, a
// script and its SHA-1 as they are.
func (l *Labels) Command(client string, args []string) []string {
	shown := make([]string, len(args))
	shown[0] = strings.ToUpper(args[0])
	for i, a := range args[1:] {
		if i == 0 && (shown[0] == "EVAL" || shown[0] == "EVALSHA") {
			shown[1] = a
		} else {
			shown[i+1] = l.Of(client, a)
		}
	}
	return shown
}
