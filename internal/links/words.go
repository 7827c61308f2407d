package links

import (
	"bytes"
	"strconv"
	"strings"
)

// kind is that of a confirmation: which set of channels it changes, and how.
type kind struct {
	group int // channels, patterns or channels of a shard
	adds  bool
}

// kinds are the words that confirmations begin with.
var kinds = map[string]kind{
	"subscribe": {0, true}, "unsubscribe": {0, false},
	"psubscribe": {1, true}, "punsubscribe": {1, false},
	"ssubscribe": {2, true}, "sunsubscribe": {2, false},
}

// published are the words that what is published begins with.
var published = map[string]bool{"message": true, "pmessage": true, "smessage": true}

// subscribes reports whether a command, in capitals, is answered by confirmations.
func subscribes(name string) bool {
	_, is := kinds[strings.ToLower(name)]
	return is
}

// mayWait are commands that the server may leave unanswered for long.
var mayWait = []string{
	"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "XREAD", "XREADGROUP", "WAIT", "WAITAOF",
}

// leavesRESP reports whether the server answers a command with what is no reply,
// or goes on with more or fewer replies than commands.
func leavesRESP(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "MONITOR", "SYNC", "PSYNC":
		return true
	case "CLIENT":
		return len(args) > 1 && strings.EqualFold(args[1], "REPLY")
	}
	return false
}

var lineEnd = []byte("\r\n")

// leading returns the two strings that an array begins with, "" for what is none.
func leading(array []byte) (first, second string) {
	_, rest, _ := bytes.Cut(array, lineEnd)
	first, rest = bulk(rest)
	second, _ = bulk(rest)
	return first, second
}

// bulk returns the string that b begins with, and what comes after it.
func bulk(b []byte) (string, []byte) {
	line, rest, _ := bytes.Cut(b, lineEnd)
	if len(line) == 0 || line[0] != '$' {
		return "", nil
	}
	size, err := strconv.Atoi(string(line[1:]))
	if err != nil || size < 0 || size > len(rest)-len(lineEnd) {
		return "", nil
	}
	return string(rest[:size]), rest[size+len(lineEnd):]
}
