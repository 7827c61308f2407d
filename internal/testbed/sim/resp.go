package sim

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// parser takes commands out of the bytes that a client writes.
type parser struct {
	rest string
}

var errNotCommand = errors.New("sim: what was written is not a Redis command")

// feed takes bytes and returns the commands that are complete with them.
func (p *parser) feed(b []byte) ([][]string, error) {
	text := p.rest + string(b)
	var commands [][]string
	for text != "" {
		args, n, err := parseCommand(text)
		if err != nil {
			return commands, err
		}
		if n == 0 {
			break
		}
		commands = append(commands, args)
		text = text[n:]
	}
	p.rest = text
	return commands, nil
}

// Limits of a command, those of Redis.
const (
	maxArgs   = 1 << 20
	maxArg    = 512 << 20
	maxLength = 32 // of the line that says a length
)

// parseCommand returns the command at the start of s and its length in bytes, 0
// when it is not complete.
func parseCommand(s string) (args []string, n int, err error) {
	count, n, err := parseLength(s, '*', maxArgs)
	if err != nil || n == 0 {
		return nil, 0, err
	}
	if count < 1 {
		return nil, 0, errNotCommand
	}
	args = make([]string, 0, min(count, len(s)))
	for range count {
		size, m, err := parseLength(s[n:], '$', maxArg)
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
		return 0, 0, errNotCommand
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' && i < maxLength:
			if value = value*10 + int(c-'0'); value > limit {
				return 0, 0, errNotCommand
			}
		case c == '\r' && i > 1 && i+1 == len(s):
			return 0, 0, nil
		case c == '\r' && i > 1 && s[i+1] == '\n':
			return value, i + 2, nil
		default:
			return 0, 0, errNotCommand
		}
	}
	return 0, 0, nil
}

// renderReply says a reply in the words of redis-cli, without its quotes and
// type names, each string through name.
func renderReply(b []byte, name func(string) string) string {
	text, _ := renderValue(b, name)
	return text
}

func renderValue(b []byte, name func(string) string) (text string, rest []byte) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return "", nil
	}
	body := string(line[1:])
	switch line[0] {
	case '$', '=':
		size, err := strconv.Atoi(body)
		if err != nil || size < 0 || len(rest) < size+2 {
			return "(nil)", rest
		}
		return name(string(rest[:size])), rest[size+2:]
	case '_':
		return "(nil)", rest
	case '-', '!':
		return "(error) " + body, rest
	case '*', '~', '>', '%':
		count, err := strconv.Atoi(body)
		if err != nil || count < 0 {
			return "(nil)", rest
		}
		if line[0] == '%' {
			count *= 2
		}
		parts := make([]byte, 0, 32)
		for i := 0; i < count && len(rest) > 0; i++ {
			var part string
			part, rest = renderValue(rest, name)
			if i > 0 {
				parts = append(parts, ' ')
			}
			parts = append(parts, part...)
		}
		return fmt.Sprintf("[%s]", parts), rest
	default: // + : , # (
		return body, rest
	}
}
