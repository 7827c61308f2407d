package engine

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// mendLibraries puts functions of Lua 5.1 in the place of those of gopher-lua
// that answer otherwise. What it does inside of an operator, as .. does with
// numbers, cannot be mended.
func (s *scripts) mendLibraries() {
	s.global("tonumber", s.state.NewFunction(toNumber))
	s.global("tostring", s.state.NewFunction(toString))
	s.global("error", s.state.NewFunction(throwAt))
	s.global("pcall", s.state.NewFunction(pcall(s.state.GetGlobal("pcall"))))
	s.library("string", "format", s.state.NewFunction(stringFormat))
	s.library("math", "huge", lua.LNumber(math.Inf(1)))
}

// library sets what a library's name stands for.
func (s *scripts) library(library, name string, v lua.LValue) {
	if t, ok := s.state.G.Global.RawGetString(library).(*lua.LTable); ok {
		t.RawSetString(name, v)
	}
}

// formatNumber writes a number as C's printf does with %.*g.
func formatNumber(n lua.LNumber, digits int) string {
	f := float64(n)
	switch {
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && (f != 0 || !math.Signbit(f)):
		return strconv.FormatInt(int64(f), 10)
	case math.IsNaN(f):
		return "-nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	text := strconv.FormatFloat(f, 'e', digits-1, 64)
	mantissa, power, _ := strings.Cut(text, "e")
	exponent, _ := strconv.Atoi(power)
	if exponent >= -4 && exponent < digits {
		mantissa = strconv.FormatFloat(f, 'f', digits-1-exponent, 64)
		power = ""
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if power != "" {
		mantissa += "e" + power
	}
	return mantissa
}

// luaDigits are the digits of a number that Lua turns into a string.
const luaDigits = 14

func toString(l *lua.LState) int {
	v := l.CheckAny(1)
	if n, ok := v.(lua.LNumber); ok {
		l.Push(lua.LString(formatNumber(n, luaDigits)))
		return 1
	}
	l.Push(l.ToStringMeta(v))
	return 1
}

// toNumber is tonumber. gopher-lua's does not know numbers such as 1e3.
func toNumber(l *lua.LState) int {
	base := l.OptInt(2, 10)
	text, ok := l.CheckAny(1).(lua.LString)
	switch n, is := l.Get(1).(lua.LNumber); {
	case is && base == 10:
		l.Push(n)
		return 1
	case is:
		text = lua.LString(formatNumber(n, luaDigits))
	case !ok:
		l.Push(lua.LNil)
		return 1
	}
	if n, ok := parseNumber(strings.Trim(string(text), " \f\n\r\t\v"), base); ok {
		l.Push(n)
	} else {
		l.Push(lua.LNil)
	}
	return 1
}

func parseNumber(text string, base int) (lua.LNumber, bool) {
	if base != 10 {
		if base == 16 {
			text = strings.TrimPrefix(strings.ToLower(text), "0x")
		}
		n, err := strconv.ParseUint(text, base, 64)
		return lua.LNumber(n), err == nil
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(strings.TrimLeft(text, "+-")), "0x"); ok && !strings.ContainsAny(hex, ".p") {
		n, err := strconv.ParseUint(hex, 16, 64)
		if strings.HasPrefix(text, "-") {
			return -lua.LNumber(n), err == nil
		}
		return lua.LNumber(n), err == nil
	}
	if strings.Contains(text, "_") {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return lua.LNumber(n), err == nil || math.IsInf(n, 0)
}

// throwAt is error, which also says where a number was thrown.
func throwAt(l *lua.LState) int {
	level := l.OptInt(2, 1)
	v := l.Get(1)
	switch v.(type) {
	case lua.LString, lua.LNumber:
		if where := l.Where(level); level > 0 && where != "" {
			v = lua.LString(where + " " + v.String())
		}
	}
	l.Error(v, 0)
	return 0
}

// pcall is pcall as Redis 7 has it: it returns the text of an error that
// redis.call has raised, not its table.
func pcall(original lua.LValue) lua.LGFunction {
	return func(l *lua.LState) int {
		n := l.GetTop()
		l.Insert(original, 1)
		l.Call(n, lua.MultRet)
		if t, ok := l.Get(2).(*lua.LTable); ok && l.Get(1) == lua.LFalse {
			if text, ok := field[lua.LString](t, "err"); ok {
				l.Replace(2, text)
			}
		}
		return l.GetTop()
	}
}
