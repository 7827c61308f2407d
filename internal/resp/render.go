package resp

import (
	"bytes"
	"fmt"
	"strconv"
)

// Render says a whole reply in the words of redis-cli, without its quotes and type
// names, each string through name. Of what is no whole reply it says what it can.
func Render(b []byte, name func(string) string) string {
	text, _ := render(b, name)
	return text
}

func render(b []byte, name func(string) string) (text string, rest []byte) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return "", nil
	}
	body := string(line[1:])
	switch line[0] {
	case '$', '=':
		size, err := strconv.Atoi(body)
		if err != nil || size < 0 || size > len(rest)-2 {
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
			part, rest = render(rest, name)
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
