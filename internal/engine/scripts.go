package engine

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// scripts runs Lua for one engine. miniredis makes a Lua state for every script,
// which costs more than all the rest of a command; this keeps one, as Redis
// does.
type scripts struct {
	dispatch func(*server.Peer, []string)
	state    *lua.LState
	known    map[string]string // SHA-1 to script: the script cache
	ids      map[string]string // script to SHA-1
	compiled map[string]*lua.LFunction
	dice     *rand.Rand // of the script that runs: Redis, too, throws the same dice for every script

	peer    *server.Peer // for what scripts call
	db      int          // the database it has selected
	reply   bytes.Buffer
	globals *lua.LTable    // as scripts see them
	locate  *lua.LFunction // is called where a script fails
	line    string         // at which the script failed
	missed  string         // a library that it asked for and that is not here
}

func newScripts(dispatch func(*server.Peer, []string)) (*scripts, error) {
	s := &scripts{dispatch: dispatch, known: map[string]string{}, ids: map[string]string{}, compiled: map[string]*lua.LFunction{}}
	s.peer = server.NewPeer(bufio.NewWriter(&s.reply))
	s.state = lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.CoroutineLibName, lua.OpenCoroutine},
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
		{lua.MathLibName, lua.OpenMath},
	} {
		s.state.Push(s.state.NewFunction(lib.open))
		s.state.Push(lua.LString(lib.name))
		if err := s.state.PCall(1, 0, nil); err != nil {
			return nil, fmt.Errorf("engine: open Lua's %q: %w", lib.name, err)
		}
	}
	s.global("cjson", s.cjsonTable())
	for _, name := range []string{"require", "module", "package", "dofile", "loadfile", "print", "getfenv", "setfenv", "newproxy"} {
		s.global(name, lua.LNil) // Redis has none of these
	}
	s.global("redis", s.protect(s.redisTable()))
	s.locate = s.state.NewFunction(s.noteLine)
	s.mendLibraries()
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

// missing are the libraries that Redis has and that are not here.
var missing = map[string]bool{"bit": true, "struct": true, "cmsgpack": true}

// protectGlobals makes a use of an unknown global, and a change of a known one, an
// error, as in Redis: a script that forgets "local" must fail here too.
func (s *scripts) protectGlobals() {
	meta := s.state.NewTable()
	meta.RawSetString("__index", s.state.NewFunction(func(l *lua.LState) int {
		name := l.Get(2).String()
		if missing[name] {
			s.missed = name
		}
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", name)
		return 0
	}))
	s.state.SetMetatable(s.state.G.Global, meta)
	s.globals = s.protect(s.state.G.Global)
	s.global("_G", s.globals)
}

// protect returns a table that reads as t does and cannot be written.
func (s *scripts) protect(t *lua.LTable) *lua.LTable {
	meta, outside := s.state.NewTable(), s.state.NewTable()
	meta.RawSetString("__index", t)
	meta.RawSetString("__newindex", s.state.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}))
	s.state.SetMetatable(outside, meta)
	return outside
}

// flush forgets every script.
func (s *scripts) flush() { clear(s.known) }

// load puts a script into the cache.
func (s *scripts) load(script, sha string) { s.known[sha] = script }

// id is what Redis names a script by. It is kept: EVAL sends the same script every
// time.
func (s *scripts) id(script string) string {
	id, ok := s.ids[script]
	if !ok {
		id = sha1Hex(script)
		s.ids[script] = id
	}
	return id
}

func sha1Hex(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

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

// eval answers EVAL and EVALSHA.
func eval(c *call) bool {
	s, args := c.engine.scripts, c.args
	id, script := args[1], args[1]
	known := true
	if c.name == "EVALSHA" {
		id = strings.ToLower(id)
		script, known = s.known[id]
	} else {
		id = s.id(script)
	}
	count, ok := integer(args[2])
	switch {
	case c.name == "EVALSHA" && len(id) != sha1.Size*2:
		return c.fail(errNoScript)
	case !ok:
		return c.fail(errNotInteger)
	case count > int64(len(args)-3):
		return c.fail("ERR Number of keys can't be greater than number of args")
	case count < 0:
		return c.fail("ERR Number of keys can't be negative")
	case !known:
		return c.fail(errNoScript)
	}
	f, err := s.compile(script, id)
	if err != nil {
		return c.fail(compileError(err))
	}
	s.load(script, id)
	c.inDatabase(func() { s.run(c.peer, f, id, args[3:3+count], args[3+count:]) })
	if s.missed != "" {
		c.engine.refused = "Lua's library " + s.missed
	}
	return true
}

// inDatabase runs a script in the database that the connection has selected. One
// that the script selects is the script's alone.
func (c *call) inDatabase(run func()) {
	e, s := c.engine, c.engine.scripts
	selected := e.asking.db
	if s.db != selected {
		e.toMiniredis(s.peer, []string{"SELECT", strconv.Itoa(selected)})
		s.peer.Flush()
	}
	run()
	s.db, e.asking.db = e.asking.db, selected
}

const errNoScript = "NOSCRIPT No matching script. Please use EVAL."

func compileError(err error) string {
	if errors.Is(err, errShebang) {
		return "ERR " + err.Error()
	}
	return "ERR Error compiling script (new function): " + oneLine(err.Error())
}

// script answers SCRIPT.
func script(c *call) bool {
	s, args := c.engine.scripts, c.args
	switch what := strings.ToUpper(args[1]); what {
	case "LOAD":
		id := s.id(args[2])
		if _, err := s.compile(args[2], id); err != nil {
			return c.fail(compileError(err))
		}
		s.load(args[2], id)
		c.peer.WriteBulk(id)
	case "EXISTS":
		s.exists(c.peer, args[2:])
	case "FLUSH":
		if len(args) > 3 || len(args) == 3 && !strings.EqualFold(args[2], "SYNC") && !strings.EqualFold(args[2], "ASYNC") {
			return c.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		}
		s.flush()
		c.peer.WriteOK()
	case "KILL":
		return c.fail("NOTBUSY No scripts in execution right now.")
	default:
		c.engine.refuse(c.peer, "SCRIPT "+what)
	}
	return true
}

// run calls a compiled script and writes its reply to peer.
func (s *scripts) run(peer *server.Peer, f *lua.LFunction, id string, keys, args []string) {
	s.dice = rand.New(rand.NewPCG(0, 0))
	s.global("KEYS", s.list(keys))
	s.global("ARGV", s.list(args))
	s.peer.Resp3, s.line, s.missed = false, "", ""
	s.state.Push(f)
	if err := s.state.PCall(0, 1, s.locate); err != nil {
		writeError(peer, s.failure(err, id))
		return
	}
	v := s.state.Get(-1)
	s.state.Pop(1)
	s.write(peer, v)
}

func (s *scripts) compile(script, id string) (*lua.LFunction, error) {
	if f, ok := s.compiled[id]; ok {
		return f, nil
	}
	script, err := withoutShebang(script)
	if err != nil {
		return nil, err
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
	f.Env = s.globals
	s.compiled[id] = f
	return f, nil
}

// errShebang is an error in the first line of a script that begins with #!.
var errShebang = errors.New("")

// withoutShebang empties the first line of a script that begins with #!. Its only
// option are flags, which say what the script may not do.
func withoutShebang(script string) (string, error) {
	if !strings.HasPrefix(script, "#!") {
		return script, nil
	}
	line, rest, _ := strings.Cut(script, "\n")
	words := strings.Fields(line)
	if words[0] != "#!lua" {
		return "", fmt.Errorf("%wUnexpected engine in script shebang: %s", errShebang, words[0])
	}
	for _, option := range words[1:] {
		if !strings.HasPrefix(option, "flags=") {
			return "", fmt.Errorf("%wUnknown lua shebang option: %s", errShebang, option)
		}
	}
	return "\n" + rest, nil
}

func (s *scripts) list(values []string) *lua.LTable {
	t := s.state.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

// noteLine is called where a script fails, while it still stands there, and notes
// the line.
func (s *scripts) noteLine(l *lua.LState) int {
	for level := 1; level <= 2 && s.line == ""; level++ { // 1 may be a function of Go's, such as error
		_, line, _ := strings.Cut(strings.TrimSuffix(l.Where(level), ":"), ":")
		s.line = strings.TrimSuffix(strings.TrimSpace(line), ":")
	}
	return 1
}

// failure says what went wrong in a script as Redis 7 does.
func (s *scripts) failure(err error, id string) string {
	text := "ERR " + oneLine(err.Error())
	var api *lua.ApiError
	if errors.As(err, &api) {
		switch v := api.Object.(type) {
		case *lua.LTable: // an error of redis.call, or of a script that throws such a one
			text = v.RawGetString("err").String()
		case nil:
		default:
			text = "ERR " + oneLine(v.String())
		}
	}
	return fmt.Sprintf("%s script: %s, on @user_script:%s.", text, id, s.line)
}

func oneLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(strings.TrimRight(line, "\r"))
}
