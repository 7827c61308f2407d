package engine

import (
	"iter"
	"math"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// write turns a script's answer into a reply (Redis, "Lua to RESP2 type
// conversion" and "Lua to RESP3 type conversion").
func (s *scripts) write(c *server.Peer, v lua.LValue) {
	switch t := v.(type) {
	case lua.LBool:
		switch {
		case s.peer.Resp3 && c.Resp3:
			c.WriteRaw(map[bool]string{true: "#t\r\n", false: "#f\r\n"}[bool(t)])
		case bool(t):
			c.WriteInt(1)
		case s.peer.Resp3:
			c.WriteInt(0)
		default:
			c.WriteNull()
		}
	case lua.LNumber:
		c.WriteInt(truncate(t))
	case lua.LString:
		c.WriteBulk(string(t))
	case *lua.LTable:
		s.writeTable(c, t)
	default:
		c.WriteNull()
	}
}

// truncate is C's conversion of a number, which has no answer for a number that
// is too large, as amd64 does it.
func truncate(n lua.LNumber) int {
	if n != n || n >= 1<<63 || n < -1<<63 {
		return math.MinInt64
	}
	return int(n)
}

func (s *scripts) writeTable(c *server.Peer, t *lua.LTable) {
	if e, ok := field[lua.LString](t, "err"); ok {
		writeError(c, string(e))
	} else if ok, is := field[lua.LString](t, "ok"); is {
		c.WriteInline(string(ok))
	} else if n, ok := field[lua.LNumber](t, "double"); ok {
		writeScore(c, float64(n))
	} else if n, ok := field[lua.LString](t, "big_number"); ok {
		if c.Resp3 {
			c.WriteRaw("(" + oneLine(string(n)) + "\r\n")
		} else {
			c.WriteBulk(oneLine(string(n)))
		}
	} else if m, ok := field[*lua.LTable](t, "map"); ok {
		c.WriteMapLen(size(m))
		for k, v := range fields(m) {
			s.write(c, k)
			s.write(c, v)
		}
	} else if m, ok := field[*lua.LTable](t, "set"); ok {
		c.WriteSetLen(size(m))
		for k := range fields(m) {
			s.write(c, k)
		}
	} else {
		n := 0
		for t.RawGetInt(n+1) != lua.LNil {
			n++
		}
		c.WriteLen(n)
		for i := range n {
			s.write(c, t.RawGetInt(i+1))
		}
	}
}

// field returns a field of a table if it has the type.
func field[T lua.LValue](t *lua.LTable, name string) (T, bool) {
	v, ok := t.RawGetString(name).(T)
	return v, ok
}

func size(t *lua.LTable) int {
	n := 0
	for range fields(t) {
		n++
	}
	return n
}

// fields are the keys and values of a table in the order in which they were put
// into it. The table's own ForEach has none.
func fields(t *lua.LTable) iter.Seq2[lua.LValue, lua.LValue] {
	return func(yield func(k, v lua.LValue) bool) {
		for k, v := t.Next(lua.LNil); k != lua.LNil && yield(k, v); {
			k, v = t.Next(k)
		}
	}
}
