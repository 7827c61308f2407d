package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// cjsonTable is what scripts know as cjson. That of miniredis does not raise
// errors and has no null.
func (s *scripts) cjsonTable() *lua.LTable {
	null := s.state.NewUserData()
	meta := s.state.NewTable()
	meta.RawSetString("__tostring", s.state.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString("userdata: (nil)"))
		return 1
	}))
	null.Metatable = meta
	t := s.state.NewTable()
	t.RawSetString("null", null)
	t.RawSetString("encode", s.state.NewFunction(func(l *lua.LState) int {
		var b strings.Builder
		if err := encodeJSON(&b, l.CheckAny(1), null, 0); err != nil {
			l.RaiseError("%s", err.Error())
		}
		l.Push(lua.LString(b.String()))
		return 1
	}))
	t.RawSetString("decode", s.state.NewFunction(func(l *lua.LState) int {
		v, err := decodeJSON(l, l.CheckString(1), null)
		if err != nil {
			l.RaiseError("Expected value but found invalid token: %v", err)
		}
		l.Push(v)
		return 1
	}))
	return t
}

// cannotSerialise is an error in cjson's words.
func cannotSerialise(why string) error { return errors.New("Cannot serialise" + why) }

// deepestJSON is how deep cjson follows tables in tables.
const deepestJSON = 1000

func encodeJSON(b *strings.Builder, v lua.LValue, null *lua.LUserData, depth int) error {
	switch t := v.(type) {
	case lua.LBool:
		fmt.Fprint(b, bool(t))
	case lua.LNumber:
		if f := float64(t); math.IsNaN(f) || math.IsInf(f, 0) {
			return cannotSerialise(" number: must not be NaN or Inf")
		}
		b.WriteString(formatNumber(t, luaDigits))
	case *lua.LNilType:
		b.WriteString("null")
	case lua.LString:
		encodeString(b, string(t))
	case *lua.LTable:
		if depth >= deepestJSON {
			return cannotSerialise(fmt.Sprintf(", excessive depth (%d)", depth+1))
		}
		return encodeTable(b, t, null, depth+1)
	default:
		if v != null {
			return cannotSerialise(fmt.Sprintf(" %s: type not supported", v.Type()))
		}
		b.WriteString("null")
	}
	return nil
}

func encodeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '/':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b':
			b.WriteString(`\b`)
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\f':
			b.WriteString(`\f`)
		case '\r':
			b.WriteString(`\r`)
		default:
			if c < ' ' || c == 0x7f {
				fmt.Fprintf(b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
}

// encodeTable writes an array if the table has only positive whole numbers for
// keys, and an object if not.
func encodeTable(b *strings.Builder, t *lua.LTable, null *lua.LUserData, depth int) error {
	longest, count := 0, 0
	array := true
	for k := range fields(t) {
		n, ok := k.(lua.LNumber)
		if !ok || n < 1 || n != lua.LNumber(int(n)) {
			array = false
			break
		}
		count++
		longest = max(longest, int(n))
	}
	const sparse, safe = 2, 10 // defaults of cjson
	if array && longest > safe && longest > count*sparse {
		return cannotSerialise(" table: excessively sparse array")
	}
	if array && longest > 0 {
		for i := range longest {
			b.WriteByte("[,"[min(i, 1)])
			if err := encodeJSON(b, t.RawGetInt(i+1), null, depth); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	b.WriteByte('{')
	first := true
	for k, v := range fields(t) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		switch k := k.(type) {
		case lua.LNumber:
			b.WriteString(`"` + formatNumber(k, luaDigits) + `"`)
		case lua.LString:
			encodeString(b, string(k))
		default:
			return cannotSerialise(" table: table key must be a number or string")
		}
		b.WriteByte(':')
		if err := encodeJSON(b, v, null, depth); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func decodeJSON(l *lua.LState, text string, null *lua.LUserData) (lua.LValue, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	v, err := decodeValue(l, d, null)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func decodeValue(l *lua.LState, d *json.Decoder, null *lua.LUserData) (lua.LValue, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case bool:
		return lua.LBool(t), nil
	case float64:
		return lua.LNumber(t), nil
	case string:
		return lua.LString(t), nil
	case json.Delim:
		table := l.NewTable()
		for i := 1; d.More(); i++ {
			key := lua.LValue(lua.LNumber(i))
			if t == '{' {
				if key, err = decodeValue(l, d, null); err != nil {
					return nil, err
				}
			}
			v, err := decodeValue(l, d, null)
			if err != nil {
				return nil, err
			}
			table.RawSet(key, v)
		}
		_, err := d.Token()
		return table, err
	}
	return null, nil
}
