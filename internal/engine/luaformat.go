package engine

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// stringFormat is string.format, which in gopher-lua is that of Go.
// (str_format of Lua 5.1.)
func stringFormat(l *lua.LState) int {
	pattern := l.CheckString(1)
	var out strings.Builder
	arg := 1
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			out.WriteByte(pattern[i])
			continue
		}
		if i++; i < len(pattern) && pattern[i] == '%' {
			out.WriteByte('%')
			continue
		}
		start := i
		for i < len(pattern) && strings.IndexByte("-+ #0123456789.", pattern[i]) >= 0 {
			i++
		}
		if i == len(pattern) {
			l.RaiseError("invalid option '%%' to 'format'")
		}
		arg++
		out.WriteString(formatOne(l, arg, pattern[start:i], pattern[i]))
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// formatOne formats one argument. flags are what stands between % and the verb.
func formatOne(l *lua.LState, arg int, flags string, verb byte) string {
	switch verb {
	case 'd', 'i', 'u':
		return fmt.Sprintf("%"+flags+"d", truncate(formatted(l, arg)))
	case 'o', 'x', 'X':
		return fmt.Sprintf("%"+flags+string(verb), uint64(truncate(formatted(l, arg))))
	case 'c':
		return string([]byte{byte(truncate(formatted(l, arg)))})
	case 'e', 'E', 'f':
		return fmt.Sprintf("%"+flags+string(verb), float64(formatted(l, arg)))
	case 'g', 'G':
		width, precision, found := strings.Cut(flags, ".")
		digits := 6
		if found {
			digits, _ = strconv.Atoi(precision) //nolint:errcheck // without a number it is 0
			digits = max(digits, 1)
		}
		return fmt.Sprintf("%"+width+"s", formatNumber(formatted(l, arg), digits))
	case 'q':
		return quoted(l.CheckString(arg))
	case 's':
		s := text(l, arg)
		if len(s) < 100 || strings.Contains(flags, ".") { // others Lua does not give to C
			s, _, _ = strings.Cut(s, "\x00")
		}
		return fmt.Sprintf("%"+flags+"s", s)
	}
	l.RaiseError("invalid option '%%%c' to 'format'", verb)
	return ""
}

// formatted returns an argument that must be a number.
func formatted(l *lua.LState, arg int) lua.LNumber {
	if s, ok := l.Get(arg).(lua.LString); ok {
		if n, ok := parseNumber(strings.TrimSpace(string(s)), 10); ok {
			return n
		}
	}
	n, ok := l.Get(arg).(lua.LNumber)
	if !ok {
		badArgument(l, arg, "number")
	}
	return n
}

// text returns an argument that must be a string or a number.
func text(l *lua.LState, arg int) string {
	switch v := l.Get(arg).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatNumber(v, luaDigits)
	}
	badArgument(l, arg, "string")
	return ""
}

func badArgument(l *lua.LState, arg int, want string) {
	got := "no value"
	if arg <= l.GetTop() {
		got = l.Get(arg).Type().String()
	}
	l.RaiseError("bad argument #%d to 'format' (%s expected, got %s)", arg, want, got)
}

// quoted is %q.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(s) {
		switch s[i] {
		case '"', '\\', '\n':
			out.WriteByte('\\')
			out.WriteByte(s[i])
		case '\r':
			out.WriteString("\\r")
		case 0:
			out.WriteString("\\000")
		default:
			out.WriteByte(s[i])
		}
	}
	out.WriteByte('"')
	return out.String()
}
