package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// redisTable is what scripts know as redis.
func (s *scripts) redisTable() *lua.LTable {
	t := s.state.NewTable()
	for name, f := range map[string]lua.LGFunction{
		"call":               func(l *lua.LState) int { return s.call(l, true) },
		"pcall":              func(l *lua.LState) int { return s.call(l, false) },
		"status_reply":       statusReply,
		"error_reply":        errorReply,
		"sha1hex":            sha1hex,
		"setresp":            s.setResp,
		"log":                func(*lua.LState) int { return 0 },
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		"set_repl":           func(*lua.LState) int { return 0 },
		"acl_check_cmd":      func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		"breakpoint":         func(l *lua.LState) int { l.Push(lua.LFalse); return 1 },
	} {
		t.RawSetString(name, s.state.NewFunction(f))
	}
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		t.RawSetString(name, lua.LNumber(i))
	}
	for name, n := range map[string]int{"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3} {
		t.RawSetString(name, lua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(RedisVersion))
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(redisVersionNumber))
	return t
}

func statusReply(l *lua.LState) int {
	if _, ok := l.Get(1).(lua.LString); !ok || l.GetTop() != 1 {
		l.Push(single(l, "err", errReplyArguments))
		return 1
	}
	l.Push(single(l, "ok", l.CheckString(1)))
	return 1
}

const errReplyArguments = "ERR wrong number or type of arguments"

func errorReply(l *lua.LState) int {
	if _, ok := l.Get(1).(lua.LString); !ok || l.GetTop() != 1 {
		l.Push(single(l, "err", errReplyArguments))
		return 1
	}
	text := strings.TrimPrefix(l.CheckString(1), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	l.Push(single(l, "err", text))
	return 1
}

func sha1hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		throw(l, "ERR wrong number of arguments")
	}
	l.Push(lua.LString(sha1Hex(lua.LVAsString(l.Get(1)))))
	return 1
}

// setResp chooses the protocol of the replies that redis.call turns into values.
func (s *scripts) setResp(l *lua.LState) int {
	n, ok := l.Get(1).(lua.LNumber)
	switch {
	case l.GetTop() != 1:
		throw(l, "ERR redis.setresp() requires one argument.")
	case !ok || n != 2 && n != 3:
		throw(l, "ERR RESP version must be 2 or 3.")
	}
	s.peer.Resp3 = n == 3
	return 0
}

func single(l *lua.LState, field, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(field, lua.LString(text))
	return t
}

// throw raises an error of the kind that redis.call raises.
func throw(l *lua.LState, text string) { l.Error(single(l, "err", text), 1) }

// call is redis.call, or redis.pcall when it must not raise.
func (s *scripts) call(l *lua.LState, raise bool) int {
	fail := func(text string) int {
		if raise {
			throw(l, text)
		}
		l.Push(single(l, "err", text))
		return 1
	}
	n := l.GetTop()
	args := make([]string, n)
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = formatNumber(v, 17)
		default:
			return fail("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if n == 0 {
		return fail("ERR Please specify at least one argument for this redis lib call")
	}
	name := strings.ToUpper(args[0])
	_, forbidden := notFromScripts[name]
	problem := Misuse(name, args)
	switch {
	case strings.HasPrefix(problem, "ERR unknown"):
		return fail("ERR Unknown Redis command called from script")
	case problem != "":
		return fail("ERR Wrong number of args calling Redis command from script")
	case forbidden:
		return fail("ERR This Redis command is not allowed from script")
	}
	args[0] = name // it need not be turned into capitals again
	s.reply.Reset()
	s.dispatch(s.peer, args)
	s.peer.Flush()
	v, _, err := luaValue(l, s.reply.Bytes())
	if err != nil {
		return fail(err.Error())
	}
	l.Push(v)
	return 1
}

// luaValue turns a reply into a script's value (Redis, "RESP2 to Lua type
// conversion" and "RESP3 to Lua type conversion") and returns what follows it.
func luaValue(l *lua.LState, b []byte) (lua.LValue, []byte, error) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	body := string(line[1:])
	switch line[0] {
	case '+':
		return single(l, "ok", body), rest, nil
	case '-':
		return nil, rest, errors.New(body)
	case ':':
		n, err := strconv.ParseInt(body, 10, 64)
		return lua.LNumber(n), rest, err
	case '_':
		return lua.LNil, rest, nil
	case '#':
		return lua.LBool(body == "t"), rest, nil
	case ',':
		n, err := strconv.ParseFloat(body, 64)
		t := l.NewTable()
		t.RawSetString("double", lua.LNumber(n))
		return t, rest, err
	case '$', '*', '~', '%':
		size, err := strconv.Atoi(body)
		switch {
		case err != nil || size < 0:
			return lua.LFalse, rest, err
		case line[0] == '$':
			return lua.LString(rest[:size]), rest[size+2:], nil
		}
		return luaTable(l, line[0], size, rest)
	default:
		return nil, rest, fmt.Errorf("ERR unexpected reply %q", line)
	}
}

// luaTable is luaValue for what has elements.
func luaTable(l *lua.LState, kind byte, size int, rest []byte) (lua.LValue, []byte, error) {
	t := l.CreateTable(size, 0)
	for i := range size {
		var v, element lua.LValue
		var err error
		if v, rest, err = luaElement(l, rest); err != nil {
			return nil, rest, err
		}
		switch kind {
		case '*':
			t.RawSetInt(i+1, v)
			continue
		case '~':
			element = lua.LTrue
		default:
			if element, rest, err = luaElement(l, rest); err != nil {
				return nil, rest, err
			}
		}
		if v != lua.LNil {
			t.RawSet(v, element)
		}
	}
	if kind == '*' {
		return t, rest, nil
	}
	outer := l.CreateTable(0, 1)
	outer.RawSetString(map[byte]string{'~': "set", '%': "map"}[kind], t)
	return outer, rest, nil
}

// luaElement is luaValue for an element, which may be an error.
func luaElement(l *lua.LState, b []byte) (lua.LValue, []byte, error) {
	v, rest, err := luaValue(l, b)
	if err != nil && len(b) > 0 && b[0] == '-' {
		return single(l, "err", err.Error()), rest, nil
	}
	return v, rest, err
}
