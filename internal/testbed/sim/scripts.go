package sim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// scripts runs Lua for one engine. miniredis makes a Lua state for every script,
// which costs more than all the rest of a command; this keeps one, as Redis
// does. A script in a transaction still goes to miniredis, which alone knows
// what was queued before it.
type scripts struct {
	dispatch func(*server.Peer, []string)
	state    *lua.LState
	known    map[string]string // SHA-1 to script: the script cache
	compiled map[string]*lua.LFunction
	dice     *rand.Rand // of the script that runs: Redis, too, throws the same dice for every script

	peer  *server.Peer // for what scripts call
	reply bytes.Buffer
}

func newScripts(dispatch func(*server.Peer, []string)) (*scripts, error) {
	s := &scripts{dispatch: dispatch, known: map[string]string{}, compiled: map[string]*lua.LFunction{}}
	s.peer = server.NewPeer(bufio.NewWriter(&s.reply))
	s.state = lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
		{lua.MathLibName, lua.OpenMath},
	} {
		s.state.Push(s.state.NewFunction(lib.open))
		s.state.Push(lua.LString(lib.name))
		if err := s.state.PCall(1, 0, nil); err != nil {
			return nil, fmt.Errorf("sim: open Lua's %q: %w", lib.name, err)
		}
	}
	s.state.Push(s.state.NewFunction(luajson.Loader))
	if err := s.state.PCall(0, 1, nil); err != nil {
		return nil, fmt.Errorf("sim: open cjson: %w", err)
	}
	s.global("cjson", s.state.Get(-1))
	s.state.Pop(1)
	for _, name := range []string{"require", "module", "package", "dofile", "loadfile", "print"} {
		s.global(name, lua.LNil) // Redis has none of these
	}
	s.global("redis", s.redisTable())
	s.seedRandom()
	s.protectGlobals()
	return s, nil
}

// global sets a global variable, past the protection of the table.
func (s *scripts) global(name string, v lua.LValue) { s.state.G.Global.RawSetString(name, v) }

// seedRandom lets math.random draw from the script's dice instead of the
// process's. The numbers are not those that Redis would draw.
func (s *scripts) seedRandom() {
	m, ok := s.state.G.Global.RawGetString(lua.MathLibName).(*lua.LTable)
	if !ok {
		return // it was opened just before
	}
	m.RawSetString("randomseed", s.state.NewFunction(func(l *lua.LState) int {
		s.dice = rand.New(rand.NewPCG(uint64(l.CheckInt64(1)), 0))
		return 0
	}))
	m.RawSetString("random", s.state.NewFunction(func(l *lua.LState) int {
		low, high := int64(1), int64(0)
		switch l.GetTop() {
		case 0:
			l.Push(lua.LNumber(s.dice.Float64()))
			return 1
		case 1:
			high = l.CheckInt64(1)
		default:
			low, high = l.CheckInt64(1), l.CheckInt64(2)
		}
		if high < low {
			l.ArgError(l.GetTop(), "interval is empty")
		}
		l.Push(lua.LNumber(low + s.dice.Int64N(high-low+1)))
		return 1
	}))
}

// protectGlobals makes a use of an unknown global an error, as in Redis: a
// script that forgets "local" must fail here too.
func (s *scripts) protectGlobals() {
	meta := s.state.NewTable()
	meta.RawSetString("__newindex", s.state.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}))
	meta.RawSetString("__index", s.state.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.Get(2).String())
		return 0
	}))
	s.state.SetMetatable(s.state.G.Global, meta)
}

// flush forgets every script.
func (s *scripts) flush() { clear(s.known) }

// load puts a script into the cache.
func (s *scripts) load(script, sha string) { s.known[sha] = script }

// exists answers SCRIPT EXISTS.
func (s *scripts) exists(c *server.Peer, ids []string) {
	c.WriteLen(len(ids))
	for _, id := range ids {
		if _, ok := s.known[strings.ToLower(id)]; ok {
			c.WriteInt(1)
		} else {
			c.WriteInt(0)
		}
	}
}

// Errors of EVAL, in the words of Redis 7.
const (
	errNoScript   = "NOSCRIPT No matching script. Please use EVAL."
	errNotInteger = "ERR value is not an integer or out of range"
	errNegative   = "ERR Number of keys can't be negative"
	errTooMany    = "ERR Number of keys can't be greater than number of args"
)

// eval runs EVAL or EVALSHA and writes the reply to c.
func (s *scripts) eval(c *server.Peer, args []string, sha func(string) string) {
	id, script := args[1], args[1]
	if strings.EqualFold(args[0], "EVALSHA") {
		id = strings.ToLower(id)
		known, ok := s.known[id]
		if !ok {
			c.WriteError(errNoScript)
			return
		}
		script = known
	} else {
		id = sha(script)
	}
	count, err := strconv.Atoi(args[2])
	switch {
	case err != nil:
		c.WriteError(errNotInteger)
		return
	case count < 0:
		c.WriteError(errNegative)
		return
	case count > len(args)-3:
		c.WriteError(errTooMany)
		return
	}
	f, err := s.compile(script, id)
	if err != nil {
		c.WriteError("ERR Error compiling script (new function): " + oneLine(err.Error()))
		return
	}
	s.load(script, id)
	s.dice = rand.New(rand.NewPCG(0, 0))
	s.global("KEYS", s.list(args[3:3+count]))
	s.global("ARGV", s.list(args[3+count:]))
	s.state.Push(f)
	if err := s.state.PCall(0, 1, nil); err != nil {
		c.WriteError(scriptError(err, id))
		return
	}
	v := s.state.Get(-1)
	s.state.Pop(1)
	s.write(c, v)
}

func (s *scripts) compile(script, id string) (*lua.LFunction, error) {
	if f, ok := s.compiled[id]; ok {
		return f, nil
	}
	chunk, err := parse.Parse(strings.NewReader(script), "user_script")
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err != nil {
		return nil, err
	}
	proto.IsVarArg &^= lua.VarArgNeedsArg // Lua 5.1's old "arg" table, made anew for every call
	f := s.state.NewFunctionFromProto(proto)
	s.compiled[id] = f
	return f, nil
}

func (s *scripts) list(values []string) *lua.LTable {
	t := s.state.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

// scriptError says what went wrong in a script as Redis 7 does.
func scriptError(err error, id string) string {
	text := err.Error()
	var api *lua.ApiError
	if errors.As(err, &api) {
		if t, ok := api.Object.(*lua.LTable); ok { // an error of redis.call
			return fmt.Sprintf("%s script: %s, on @user_script:1.", t.RawGetString("err"), id)
		}
		text = api.Object.String()
	}
	return fmt.Sprintf("ERR %s script: %s, on @user_script:1.", oneLine(text), id)
}

func oneLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(strings.TrimRight(line, "\r"))
}

// write turns a script's answer into a reply (Redis, "Lua to RESP2 type conversion").
func (s *scripts) write(c *server.Peer, v lua.LValue) {
	switch t := v.(type) {
	case lua.LBool:
		if t {
			c.WriteInt(1)
		} else {
			c.WriteNull()
		}
	case lua.LNumber:
		c.WriteInt(int(t))
	case lua.LString:
		c.WriteBulk(string(t))
	case *lua.LTable:
		if e := t.RawGetString("err"); e != lua.LNil {
			c.WriteError(e.String())
			return
		}
		if ok := t.RawGetString("ok"); ok != lua.LNil {
			c.WriteInline(ok.String())
			return
		}
		n := 0
		for t.RawGetInt(n+1) != lua.LNil {
			n++
		}
		c.WriteLen(n)
		for i := range n {
			s.write(c, t.RawGetInt(i+1))
		}
	default:
		c.WriteNull()
	}
}

// redisTable is what scripts know as redis.
func (s *scripts) redisTable() *lua.LTable {
	t := s.state.NewTable()
	for name, f := range map[string]lua.LGFunction{
		"call":  func(l *lua.LState) int { return s.call(l, true) },
		"pcall": func(l *lua.LState) int { return s.call(l, false) },
		"status_reply": func(l *lua.LState) int {
			l.Push(single(l, "ok", l.CheckString(1)))
			return 1
		},
		"error_reply": func(l *lua.LState) int {
			text := strings.TrimPrefix(l.CheckString(1), "-")
			if !strings.Contains(text, " ") {
				text = "ERR " + text
			}
			l.Push(single(l, "err", text))
			return 1
		},
		"sha1hex": func(l *lua.LState) int {
			l.Push(lua.LString(sha1Hex(l.CheckString(1))))
			return 1
		},
		"log": func(*lua.LState) int { return 0 },
	} {
		t.RawSetString(name, s.state.NewFunction(f))
	}
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		t.RawSetString(name, lua.LNumber(i))
	}
	return t
}

func single(l *lua.LState, field, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(field, lua.LString(text))
	return t
}

// notFromScripts are the commands that Redis refuses in a script and that
// miniredis would carry out, not knowing that a script asks.
var notFromScripts = map[string]bool{
	"EVAL": true, "EVALSHA": true, "EVAL_RO": true, "EVALSHA_RO": true, "SCRIPT": true,
	"MULTI": true, "EXEC": true, "DISCARD": true, "WATCH": true, "UNWATCH": true,
	"SUBSCRIBE": true, "UNSUBSCRIBE": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true,
	"AUTH": true, "HELLO": true, "CLIENT": true, "QUIT": true, "WAIT": true,
	"BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BLMOVE": true, "BZPOPMIN": true, "BZPOPMAX": true,
}

// call is redis.call, or redis.pcall when it must not raise.
func (s *scripts) call(l *lua.LState, raise bool) int {
	n := l.GetTop()
	args := make([]string, n)
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = v.String()
		default:
			return s.fail(l, raise, "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	switch {
	case n == 0:
		return s.fail(l, raise, "ERR Please specify at least one argument for this redis.call")
	case notFromScripts[strings.ToUpper(args[0])]:
		return s.fail(l, raise, "ERR This Redis command is not allowed from script")
	}
	s.reply.Reset()
	s.dispatch(s.peer, args)
	s.peer.Flush()
	v, _, err := luaValue(l, s.reply.Bytes())
	if err != nil {
		return s.fail(l, raise, err.Error())
	}
	l.Push(v)
	return 1
}

func (s *scripts) fail(l *lua.LState, raise bool, text string) int {
	if strings.HasPrefix(text, "ERR unknown command") {
		text = "ERR Unknown Redis command called from script"
	}
	t := single(l, "err", text)
	if raise {
		l.Error(t, 1)
	}
	l.Push(t)
	return 1
}

// luaValue turns a reply into a script's value (Redis, "RESP2 to Lua type
// conversion") and returns what follows it.
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
	case '$':
		size, err := strconv.Atoi(body)
		if err != nil || size < 0 {
			return lua.LFalse, rest, err
		}
		return lua.LString(rest[:size]), rest[size+2:], nil
	case '*':
		size, err := strconv.Atoi(body)
		if err != nil || size < 0 {
			return lua.LFalse, rest, err
		}
		t := l.CreateTable(size, 0)
		for range size {
			var v lua.LValue
			if v, rest, err = luaValue(l, rest); err != nil {
				return nil, rest, err
			}
			t.Append(v)
		}
		return t, rest, nil
	default:
		return nil, rest, fmt.Errorf("ERR unexpected reply %q", line)
	}
}
