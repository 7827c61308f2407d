package tap

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// talk is what a connection has said that bears on what comes after. Its zero value
// is a new connection. One that has ended without QUIT is not known to have ended:
// a client that gets its address later, and says nothing of its own, is taken for
// it.
type talk struct {
	resp3   bool
	queues  bool     // it has said MULTI
	replies [][]byte // of what was queued, since EXEC
	unknown bool     // one of them is not
}

// talk returns that of a connection.
func (s *Shadow) talk(from string) *talk {
	if t := s.talks[from]; t != nil {
		return t
	}
	return &talk{}
}

// remember keeps what differs from a new connection.
func (s *Shadow) remember(from string, t *talk) {
	if t.resp3 || t.queues {
		s.talks[from] = t
	} else {
		delete(s.talks, from)
	}
}

// heed takes in what a command does to its connection, and returns the reply of
// those that do nothing else.
func (t *talk) heed(l Line, name string, reply []byte, ok bool) ([]byte, bool) {
	switch name {
	case "MULTI":
		ok = !t.queues
		t.queues = true
		return plainOK, ok
	case "DISCARD":
		ok = t.queues
		*t = talk{resp3: t.resp3}
		return plainOK, ok
	case "EXEC":
		reply, ok = t.executed()
		*t = talk{resp3: t.resp3}
		return reply, ok
	case "WATCH":
		return plainOK, !t.queues
	case "RESET":
		*t = talk{}
		return []byte("+RESET\r\n"), true
	case "QUIT":
		*t = talk{}
		return plainOK, true
	case "HELLO":
		if len(l.Args) > 1 && (l.Args[1] == "2" || l.Args[1] == "3") {
			t.resp3 = l.Args[1] == "3"
		}
	case "UNWATCH":
		reply, ok = plainOK, true
	case "SELECT":
		reply, ok = plainOK, l.Args[1] == strconv.Itoa(l.DB)
	case "CLIENT":
		reply, ok = plainOK, strings.EqualFold(l.Args[1], "SETNAME")
	}
	if t.queues {
		t.replies, t.unknown = append(t.replies, reply), t.unknown || !ok
	}
	return reply, ok
}

// plainOK is the reply to what has succeeded. It is written to by nobody.
var plainOK = []byte("+OK\r\n")

// executed is the reply to EXEC. Without a command that it has executed there may
// have been none, or it was aborted.
func (t *talk) executed() ([]byte, bool) {
	if len(t.replies) == 0 || t.unknown {
		return nil, false
	}
	return append(fmt.Appendf(nil, "*%d\r\n", len(t.replies)), bytes.Join(t.replies, nil)...), true
}
