package tap

import (
	"bytes"
	"fmt"
	"strconv"
)

// reader takes a reply of nested arrays apart. After an error it returns zero
// values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("the server answers %.200q", r.rest)
	}
}

// line takes a line that begins with the mark.
func (r *reader) line(mark byte) string {
	if r.err != nil {
		return ""
	}
	line, rest, ok := bytes.Cut(r.rest, []byte("\r\n"))
	if !ok || len(line) == 0 || line[0] != mark {
		r.fail()
		return ""
	}
	r.rest = rest
	return string(line[1:])
}

// number takes a line with a number.
func (r *reader) number(mark byte) int64 {
	text := r.line(mark)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) integer() int64 { return r.number(':') }

// length takes a length, which no more than what follows can have.
func (r *reader) length(mark byte) int {
	n := r.number(mark)
	if n < 0 || n > int64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

// text takes a string.
func (r *reader) text() string {
	n := r.length('$')
	if r.err != nil || !bytes.HasPrefix(r.rest[n:], []byte("\r\n")) {
		r.fail()
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n+2:]
	return s
}
