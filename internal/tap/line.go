// Package tap tells what a real Redis server has done to its keys: it reads what
// the server's MONITOR prints, and lets an engine of our own execute it once more
// and package keyspace look at the keys, so that the records are those that the
// simulator makes.
//
// It knows nothing of clients but their addresses, and nothing of locks.
//
// What MONITOR of Redis 7.0 prints, and does not: a command when it is executed,
// the parts of a transaction only at EXEC, in their order, between a MULTI that
// was printed when it came and the EXEC; the calls of a script after the script,
// as from "lua"; nothing of commands that the server refuses without executing
// them, since they are unknown, have too few words, or may not be executed now; and
// nothing of AUTH and CONFIG. A key that expires is no command.
//
// The rule that surprises: time is the server's. A line says when its clock stood
// where, and a key ends by that clock, whatever the clock of this machine says.
package tap

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Line is one line of MONITOR.
type Line struct {
	At   time.Time // by the server's clock, to the microsecond
	DB   int       // the number of the database
	From string    // the client's address; "lua" for what a script has called
	Args []string  // at least one
}

// Parse reads a line as MONITOR prints it, without its end. The error says what is
// wrong with it.
func Parse(s string) (Line, error) {
	stamp, rest, ok := strings.Cut(s, " [")
	if !ok {
		return Line{}, fmt.Errorf("tap: %.60q does not begin with a time and a client", s)
	}
	at, err := parseTime(stamp)
	if err != nil {
		return Line{}, err
	}
	// an address with a ] in it, as of IPv6, is followed by a space only at its end
	who, words, ok := strings.Cut(rest, "] ")
	number, from, both := strings.Cut(who, " ")
	db, err := strconv.Atoi(number)
	if !ok || !both || from == "" || err != nil || db < 0 {
		return Line{}, fmt.Errorf("tap: %.60q does not name a database and a client", s)
	}
	l := Line{At: at, DB: db, From: from}
	for words != "" {
		var word string
		if word, words, err = unquote(words); err != nil {
			return Line{}, err
		}
		l.Args = append(l.Args, word)
	}
	if len(l.Args) == 0 {
		return Line{}, fmt.Errorf("tap: %.60q has no command", s)
	}
	return l, nil
}

// parseTime reads seconds with six digits after the point.
func parseTime(s string) (time.Time, error) {
	whole, fraction, ok := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	usec, err2 := strconv.ParseUint(fraction, 10, 32)
	if !ok || err != nil || err2 != nil || len(fraction) != 6 {
		return time.Time{}, fmt.Errorf("tap: %.60q is no time", s)
	}
	return time.Unix(sec, int64(usec)*int64(time.Microsecond)), nil
}

// escapes are the letters that stand for others after a backslash.
var escapes = map[byte]byte{'\\': '\\', '"': '"', 'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b'}

// unquote takes the first word, in double quotes, off a string, and the space
// after it.
func unquote(s string) (word, rest string, err error) {
	bad := fmt.Errorf("tap: %.60q is no word in quotes", s)
	if s[0] != '"' {
		return "", "", bad
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			rest = s[i+1:]
			if rest == "" {
				return b.String(), "", nil
			}
			if rest[0] != ' ' || len(rest) == 1 {
				return "", "", bad
			}
			return b.String(), rest[1:], nil
		case c != '\\':
			b.WriteByte(c)
		case i+3 < len(s) && s[i+1] == 'x':
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				return "", "", bad
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s) && escapes[s[i+1]] != 0:
			b.WriteByte(escapes[s[i+1]])
			i++
		default:
			return "", "", bad
		}
	}
	return "", "", bad
}
