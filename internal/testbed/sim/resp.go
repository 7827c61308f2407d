package sim

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// parser takes commands out of the bytes that a client writes.
type parser struct {
	rest []byte
}

var errNotCommand = errors.New("sim: what was written is not a Redis command")

// feed takes bytes and returns the commands that are complete with them.
func (p *parser) feed(b []byte) ([][]string, error) {
	buf := b
	if len(p.rest) > 0 {
		buf = append(p.rest, b...)
	}
	var commands [][]string
	for len(buf) > 0 {
		args, n, err := parseCommand(buf)
		if err != nil {
			return commands, err
		}
		if n == 0 {
			break
		}
		commands = append(commands, args)
		buf = buf[n:]
	}
	p.rest = append(p.rest[:0:0], buf...)
	return commands, nil
}

// Limits of a command, those of Redis.
const (
	maxArgs   = 1 << 20
	maxArg    = 512 << 20
	maxLength = 32 // of the line that says a length
)

// parseCommand returns the command at the start of b and its length in bytes, 0
// when it is not complete.
func parseCommand(b []byte) (args []string, n int, err error) {
	count, n, err := parseLength(b, '*')
	if err != nil || n == 0 {
		return nil, 0, err
	}
	if count < 1 || count > maxArgs {
		return nil, 0, errNotCommand
	}
	for range count {
		size, m, err := parseLength(b[n:], '$')
		if err != nil || m == 0 {
			return nil, 0, err
		}
		if n += m; size < 0 || size > maxArg {
			return nil, 0, errNotCommand
		}
		if len(b)-n < size+2 {
			return nil, 0, nil
		}
		args = append(args, string(b[n:n+size]))
		n += size + 2
	}
	return args, n, nil
}

func parseLength(b []byte, mark byte) (value, n int, err error) {
	if len(b) == 0 {
		return 0, 0, nil
	}
	if b[0] != mark {
		return 0, 0, errNotCommand
	}
	end := bytes.Index(b, []byte("\r\n"))
	switch {
	case end > maxLength, end < 0 && len(b) > maxLength+1: // even if the next byte ended it
		return 0, 0, errNotCommand
	case end < 0:
		return 0, 0, nil
	}
	value, err = strconv.Atoi(string(b[1:end]))
	if err != nil {
		return 0, 0, errNotCommand
	}
	return value, end + 2, nil
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
