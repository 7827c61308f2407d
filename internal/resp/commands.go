// Package resp reads what a Redis client and a server say to each other: it cuts
// bytes into whole commands and replies, says a reply in words, and writes commands.
//
// It knows the framing of RESP2 and RESP3 and not what a message means.
//
// The rule that surprises: bytes arrive in pieces that have nothing to do with
// messages, so whoever cuts keeps what is not complete until the rest comes.
package resp

import (
	"errors"
	"fmt"
)

// ErrCommand means that a client wrote what is no command.
var ErrCommand = errors.New("resp: what was written is not a Redis command")

// Limits of a message, those that Redis has for commands.
const (
	maxParts  = 1 << 20
	maxString = 512 << 20
	maxLength = 32 // of the line that says a length
)

// Command is one command.
type Command struct {
	Args []string // at least one
	Raw  string   // the bytes that it came in
}

// Commands cuts what a client writes. Its zero value is the beginning. It is used
// by one goroutine at a time.
type Commands struct{ rest string }

// Feed takes bytes, which stay the caller's, and returns the commands that are
// complete with them. With ErrCommand it returns those that came before, and is
// of no use any more.
func (c *Commands) Feed(b []byte) ([]Command, error) {
	text := c.rest + string(b)
	var all []Command
	for text != "" {
		args, n, err := parseCommand(text)
		if err != nil {
			c.rest = text
			return all, err
		}
		if n == 0 {
			break
		}
		all = append(all, Command{args, text[:n]})
		text = text[n:]
	}
	c.rest = text
	return all, nil
}

// AppendCommand appends the bytes of a command to b.
func AppendCommand(b []byte, args ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// Rest returns what belongs to no command yet, or after an error to none at all.
func (c *Commands) Rest() string { return c.rest }

// parseCommand returns the command at the start of s and its length in bytes, 0
// when it is not complete.
func parseCommand(s string) (args []string, n int, err error) {
	count, n, err := parseLength(s, '*', maxParts)
	if err != nil || n == 0 {
		return nil, 0, err
	}
	if count < 1 {
		return nil, 0, ErrCommand
	}
	args = make([]string, 0, min(count, len(s)))
	for range count {
		size, m, err := parseLength(s[n:], '$', maxString)
		if err != nil || m == 0 {
			return nil, 0, err
		}
		if n += m; len(s)-n < size+2 {
			return nil, 0, nil
		}
		args = append(args, s[n:n+size])
		n += size + 2
	}
	return args, n, nil
}

// parseLength returns the number, at most limit, of the line that s begins with,
// and the line's length in bytes, 0 when it is not complete.
func parseLength(s string, mark byte, limit int) (value, n int, err error) {
	if s != "" && s[0] != mark {
		return 0, 0, ErrCommand
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' && i < maxLength:
			if value = value*10 + int(c-'0'); value > limit {
				return 0, 0, ErrCommand
			}
		case c == '\r' && i > 1 && i+1 == len(s):
			return 0, 0, nil
		case c == '\r' && i > 1 && s[i+1] == '\n':
			return value, i + 2, nil
		default:
			return 0, 0, ErrCommand
		}
	}
	return 0, 0, nil
}
