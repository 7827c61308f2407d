package resp

import (
	"bytes"
	"errors"
	"strconv"
)

// ErrReply means that a server wrote what is no reply.
var ErrReply = errors.New("resp: what was written is not a reply of Redis")

// Limits of a reply.
const (
	maxLine  = 64 << 10 // bytes of a line
	maxDepth = 64       // arrays in arrays
)

// Replies cuts what a server writes. Its zero value is the beginning. It is used
// by one goroutine at a time.
type Replies struct{ rest []byte }

// Feed takes bytes, which stay the caller's, and returns the replies and pushes
// that are complete with them. With ErrReply it returns those that came before,
// and is of no use any more.
func (r *Replies) Feed(b []byte) ([][]byte, error) {
	buf := append(r.rest, b...)
	var all [][]byte
	for len(buf) > 0 {
		n, err := replyLength(buf, maxDepth)
		if err != nil {
			r.rest = buf
			return all, err
		}
		if n == 0 {
			break
		}
		all = append(all, buf[:n:n])
		buf = buf[n:]
	}
	r.rest = bytes.Clone(buf) // its array belongs to what was returned
	return all, nil
}

// Rest returns what belongs to no reply yet, or after an error to none at all.
func (r *Replies) Rest() []byte { return r.rest }

// IsPush reports whether a reply is none, but a message that nobody asked for, of
// RESP3.
func IsPush(reply []byte) bool { return len(reply) > 0 && reply[0] == '>' }

// replyLength returns the length of the reply at the start of b, 0 when it is not
// complete.
func replyLength(b []byte, depth int) (n int, err error) {
	end := bytes.Index(b, []byte("\r\n"))
	switch {
	case depth == 0, end == 0, end > maxLine, end < 0 && len(b) > maxLine+1: // even if the next byte ended it
		return 0, ErrReply
	case end < 0:
		return 0, nil
	}
	n = end + 2
	switch b[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return n, nil
	case '$', '=', '!':
		size, err := count(b[1:end], maxString)
		switch {
		case err != nil, size < 0:
			return n, err
		case len(b) < n+size+2:
			return 0, nil
		}
		return n + size + 2, nil
	}
	parts, err := count(b[1:end], maxParts)
	if err != nil {
		return 0, err
	}
	switch b[0] {
	case '*', '~', '>':
	case '%':
		parts *= 2
	case '|': // attributes stand before what they belong to
		parts = 2*parts + 1
	default:
		return 0, ErrReply
	}
	for range max(parts, 0) {
		m, err := replyLength(b[n:], depth-1)
		if err != nil || m == 0 {
			return 0, err
		}
		n += m
	}
	return n, nil
}

// count reads how long a string is or how many parts there are: -1 for what is
// not there, at most limit.
func count(digits []byte, limit int) (int, error) {
	n, err := strconv.Atoi(string(digits))
	if err != nil || n < -1 || n > limit {
		return 0, ErrReply
	}
	return n, nil
}
