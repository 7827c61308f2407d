package engine

import (
	"fmt"
	"math"
	"strings"
)

// RedisVersion is the version of Redis that the engine says it is, whose answers
// it gives.
const RedisVersion = "7.0.15"

// redisVersionNumber is the same as a number, two hexadecimal digits a part.
const redisVersionNumber = 0x07000f

// hello answers HELLO.
func hello(c *call) bool {
	args := c.args[1:]
	resp3 := c.peer.Resp3
	if len(args) > 0 {
		version, ok := integer(args[0])
		switch {
		case !ok:
			return c.fail("ERR Protocol version is not an integer or out of range")
		case version < 2 || version > 3:
			return c.fail("NOPROTO unsupported protocol version")
		}
		resp3, args = version == 3, args[1:]
	}
	name := c.peer.ClientName
	for len(args) > 0 {
		switch option := strings.ToUpper(args[0]); {
		case option == "AUTH" && len(args) > 2:
			args = args[3:] // there are no passwords; the default user has any
		case option == "SETNAME" && len(args) > 1:
			if name = args[1]; !validName(name) {
				return c.fail(errClientName)
			}
			args = args[2:]
		default:
			return c.fail(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", args[0]))
		}
	}
	c.peer.Resp3, c.peer.ClientName = resp3, name
	proto := 2
	if resp3 {
		proto = 3
	}
	c.peer.WriteMapLen(7)
	for _, field := range []struct {
		name  string
		value any
	}{
		{"server", "redis"}, {"version", RedisVersion}, {"proto", proto}, {"id", c.engine.asking.id(c.engine)},
		{"mode", "standalone"}, {"role", "master"},
	} {
		c.peer.WriteBulk(field.name)
		if n, ok := field.value.(int); ok {
			c.peer.WriteInt(n)
		} else {
			c.peer.WriteBulk(fmt.Sprint(field.value))
		}
	}
	c.peer.WriteBulk("modules")
	c.peer.WriteLen(0)
	return true
}

const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

func validName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' })
}

// id is the number of a connection. Redis counts when they are made; here it is
// when they first ask.
func (s *Session) id(e *Engine) int {
	if s.number == 0 {
		e.opened++
		s.number = e.opened
	}
	return s.number
}

// clientCommand answers the parts of CLIENT that a client library uses.
func clientCommand(c *call) bool {
	switch strings.ToUpper(c.args[1]) {
	case "ID":
		c.peer.WriteInt(c.engine.asking.id(c.engine))
	case "GETNAME":
		if c.peer.ClientName == "" {
			c.peer.WriteNull()
		} else {
			c.peer.WriteBulk(c.peer.ClientName)
		}
	case "SETNAME":
		if !validName(c.args[2]) {
			return c.fail(errClientName)
		}
		c.peer.ClientName = c.args[2]
		c.peer.WriteOK()
	default:
		c.engine.refuse(c.peer, "CLIENT "+strings.ToUpper(c.args[1]))
	}
	return true
}

// ping answers PING with a word, even an empty one.
func ping(c *call) bool {
	if len(c.args) > 2 {
		return c.fail(arityError(c.name))
	}
	if len(c.args) < 2 {
		return false
	}
	c.peer.WriteBulk(c.args[1])
	return true
}

// publish answers PUBLISH, or lets miniredis, which knows no subscriber.
func publish(c *call) bool {
	if c.engine.Publish == nil {
		return false
	}
	c.peer.WriteInt(c.engine.Publish(c.args[1], c.args[2]))
	return true
}

// databases is how many databases there are.
const databases = 16

// selectDB answers SELECT.
func selectDB(c *call) bool {
	n, ok := integer(c.args[1])
	switch {
	case !ok:
		return c.fail(errNotInteger)
	case n < math.MinInt32 || n > math.MaxInt32:
		return c.fail("ERR value is out of range, value must between -2147483648 and 2147483647")
	case n < 0 || n >= databases:
		return c.fail("ERR DB index is out of range")
	}
	c.engine.asking.db = int(n)
	return false
}
