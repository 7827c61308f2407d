package tap

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lua is the From of what a script called.
const Lua = "lua"

// Line is one line of MONITOR.
type Line struct {
	At   time.Time // by the server's clock, in whole microseconds
	DB   int       // the database that was selected once it was executed
	From string    // the client's address, Lua, or "unix:" and the path of the server's socket
	Args []string  // at least one
}

// Parse reads a line without its "+" and without the end of the line. It takes
// nothing that Redis would not print: what it takes, printed again, is the same.
func Parse(s string) (Line, error) {
	head, args, ok := strings.Cut(s, "] ")
	at, from, ok2 := strings.Cut(head, " [")
	number, from, ok3 := strings.Cut(from, " ")
	if !ok || !ok2 || !ok3 || from == "" {
		return Line{}, fmt.Errorf("tap: %.200q is not a line of MONITOR", s)
	}
	l := Line{From: from}
	var err error
	if l.At, err = parseTime(at); err != nil {
		return Line{}, fmt.Errorf("tap: time of %.200q: %w", s, err)
	}
	if l.DB, err = parseNumber(number); err != nil {
		return Line{}, fmt.Errorf("tap: database of %.200q: %w", s, err)
	}
	if l.Args, err = parseWords(args); err != nil {
		return Line{}, fmt.Errorf("tap: words of %.200q: %w", s, err)
	}
	return l, nil
}

// parseTime reads seconds and, after the point, six digits of microseconds.
func parseTime(s string) (time.Time, error) {
	const digits = 6
	whole, micros, ok := strings.Cut(s, ".")
	if !ok || len(micros) != digits || strings.Trim(micros, "0123456789") != "" {
		return time.Time{}, fmt.Errorf("%q has no microseconds", s)
	}
	seconds, err := parseNumber(whole)
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.Atoi(micros)
	return time.Unix(int64(seconds), int64(n)*int64(time.Microsecond)).UTC(), err
}

// parseNumber reads a number that is not negative, as it is printed.
func parseNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 0 || strconv.Itoa(n) != s) {
		err = fmt.Errorf("%q is not a plain number", s)
	}
	return n, err
}

// parseWords reads the quoted words of a command.
func parseWords(s string) ([]string, error) {
	var words []string
	for {
		word, rest, err := parseWord(s)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		if rest == "" {
			return words, nil
		}
		if rest[0] != ' ' {
			return nil, fmt.Errorf("%.20q follows a word", rest)
		}
		s = rest[1:]
	}
}

// escapes are the letters that stand for others after a backslash. (sdscatrepr of
// Redis.)
var escapes = map[byte]byte{'\\': '\\', '"': '"', 'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b'}

// parseWord reads one quoted word and returns what follows it.
func parseWord(s string) (word, rest string, err error) {
	if s == "" || s[0] != '"' {
		return "", "", fmt.Errorf("%.20q does not begin with a quote", s)
	}
	s = s[1:]
	plain := strings.IndexAny(s, `"\`)
	if plain >= 0 && s[plain] == '"' && isPlain(s[:plain]) {
		return s[:plain], s[plain+1:], nil
	}
	var b strings.Builder
	for s != "" {
		c := s[0]
		switch {
		case c == '"':
			return b.String(), s[1:], nil
		case c != '\\' && isPlain(s[:1]):
			b.WriteByte(c)
			s = s[1:]
			continue
		case c != '\\' || len(s) < 2:
			return "", "", fmt.Errorf("%.20q is not escaped", s)
		}
		if letter, ok := escapes[s[1]]; ok {
			b.WriteByte(letter)
			s = s[2:]
			continue
		}
		letter, err := parseHex(s)
		if err != nil {
			return "", "", err
		}
		b.WriteByte(letter)
		s = s[hexLength:]
	}
	return "", "", fmt.Errorf("the last word has no end")
}

const hexLength = len(`\x00`)

// parseHex reads the letter that s begins with, one that has no other way to be
// written.
func parseHex(s string) (byte, error) {
	if len(s) >= hexLength && s[1] == 'x' {
		n, err := strconv.ParseUint(s[2:hexLength], 16, 8)
		if letter := byte(n); err == nil && fmt.Sprintf("%02x", n) == s[2:hexLength] && mustHex(letter) {
			return letter, nil
		}
	}
	return 0, fmt.Errorf("%.20q is no escaped letter", s)
}

// mustHex reports whether a letter is printed as a number.
func mustHex(letter byte) bool {
	for _, l := range escapes {
		if l == letter {
			return false
		}
	}
	return !isPlain(string(rune(letter)))
}

// isPlain reports whether all letters are printed as they are, of those that have
// no escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
