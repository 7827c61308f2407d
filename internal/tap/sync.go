package tap

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Sync makes the shadow's keys those that the server has at the time at, which do
// tells: it sends a command of database 0 and returns the reply. The differences
// are recorded, with the text and as no client's doing. It is for a server that
// may have lost or won keys which no command has touched, as when it comes up
// again. Connections, scripts and a command that could not be followed are forgotten.
func (s *Shadow) Sync(at time.Time, do func(args ...string) ([]byte, error), text string) error {
	s.Advance(at)
	found := map[string]bool{}
	reply, err := do("KEYS", "*")
	if err != nil {
		return err
	}
	names, err := elements(reply)
	if err != nil {
		return err
	}
	s.engine.Advance(at)
	db := s.engine.DB(0)
	for _, name := range names {
		value, err := fetch(do, name)
		if err != nil {
			return fmt.Errorf("tap: read %q: %w", name, err)
		}
		if value == nil {
			continue // it has ended since
		}
		found[name] = true
		db.Del(name)
		c := s.client("")
		s.engine.Execute(c.session, value.create)
		c.session.Reply()
		if value.ends >= 0 {
			db.SetTTL(name, max(time.UnixMilli(value.ends).Sub(at), time.Nanosecond))
		}
	}
	for _, name := range db.Keys() {
		if !found[name] {
			db.Del(name)
		}
	}
	s.keys.Become(text)
	s.clients, s.lost = map[string]*client{}, ""
	s.engine.ForgetScripts()
	return nil
}

// value is a key of a server.
type value struct {
	create []string // the command that makes it
	ends   int64    // in milliseconds, -1 for never
}

// readers are, for each type, how a key is read and made.
var readers = map[string]struct{ read, create []string }{
	"string": {[]string{"GET"}, []string{"SET"}},
	"hash":   {[]string{"HGETALL"}, []string{"HSET"}},
	"list":   {[]string{"LRANGE", "0", "-1"}, []string{"RPUSH"}},
	"set":    {[]string{"SMEMBERS"}, []string{"SADD"}},
	"zset":   {[]string{"ZRANGE", "0", "-1", "WITHSCORES"}, []string{"ZADD"}},
}

// fetch reads a key, nil when it is not there, or not any more.
func fetch(do func(args ...string) ([]byte, error), name string) (*value, error) {
	kind, err := do("TYPE", name)
	if err != nil {
		return nil, err
	}
	if string(kind) == "+none\r\n" {
		return nil, nil
	}
	how, ok := readers[string(bytes.TrimSpace(bytes.TrimPrefix(kind, []byte("+"))))]
	if !ok {
		return nil, fmt.Errorf("it is of a type that is not followed: %q", kind)
	}
	reply, err := do(append([]string{how.read[0], name}, how.read[1:]...)...)
	if err != nil {
		return nil, err
	}
	end, err := do("PEXPIRETIME", name)
	if err != nil {
		return nil, err
	}
	v := &value{create: append([]string{how.create[0]}, name)}
	if v.ends, err = number(end); err != nil {
		return nil, err
	}
	parts, err := elements(reply)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 || v.ends == gone {
		return nil, nil
	}
	if how.create[0] == "ZADD" { // a score stands before its member
		for i := 0; i+1 < len(parts); i += 2 {
			parts[i], parts[i+1] = parts[i+1], parts[i]
		}
	}
	v.create = append(v.create, parts...)
	return v, nil
}

// gone is what PEXPIRETIME says of a key that is not there.
const gone = -2

var errReply = errors.New("the server does not answer as Redis does")

// number reads a reply that is one.
func number(reply []byte) (int64, error) {
	if len(reply) < 4 || reply[0] != ':' {
		return 0, fmt.Errorf("%w: %q", errReply, reply)
	}
	return strconv.ParseInt(string(reply[1:len(reply)-2]), 10, 64)
}

// elements reads a reply that is a string or an array of strings, none for null.
func elements(reply []byte) ([]string, error) {
	bad := fmt.Errorf("%w: %.60q", errReply, reply)
	head, rest, ok := bytes.Cut(reply, []byte("\r\n"))
	if !ok || len(head) < 2 {
		return nil, bad
	}
	n := 1
	switch head[0] {
	case '$':
		rest = reply
	case '*':
		var err error
		if n, err = strconv.Atoi(string(head[1:])); err != nil {
			return nil, bad
		}
	default:
		return nil, bad
	}
	var all []string
	for range n {
		head, body, ok := bytes.Cut(rest, []byte("\r\n"))
		if !ok || len(head) < 2 || head[0] != '$' {
			return nil, bad
		}
		size, err := strconv.Atoi(string(head[1:]))
		switch {
		case err != nil || size > len(body)-2:
			return nil, bad
		case size < 0:
			return all, nil
		}
		all = append(all, string(body[:size]))
		rest = body[size+2:]
	}
	return all, nil
}
