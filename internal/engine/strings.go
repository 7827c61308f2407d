package engine

import (
	"slices"
	"strconv"
	"strings"
)

// setting is what the options of SET and GETEX ask for.
type setting struct {
	nx, xx, get, keep, persist bool
	unit                       string // EX, PX, EXAT, PXAT or none
	number                     string // with the unit
}

// parseSetting reads the options of SET, or those of GETEX.
// (parseExtendedStringArgumentsOrReply of Redis.)
func parseSetting(options []string, get bool) (s setting, ok bool) {
	for i := 0; i < len(options); i++ {
		option := strings.ToUpper(options[i])
		switch {
		case option == "NX" && !s.xx && !get:
			s.nx = true
		case option == "XX" && !s.nx && !get:
			s.xx = true
		case option == "GET" && !get:
			s.get = true
		case option == "KEEPTTL" && s.unit == "" && !get:
			s.keep = true
		case option == "PERSIST" && s.unit == "" && get:
			s.persist = true
		case (option == "EX" || option == "PX" || option == "EXAT" || option == "PXAT") &&
			!s.keep && !s.persist && (s.unit == "" || s.unit == option) && i+1 < len(options):
			s.unit, s.number = option, options[i+1]
			i++
		default:
			return s, false
		}
	}
	return s, true
}

// end reads when the key shall end, 0 for never.
func (s setting) end(c *call) (at int64, problem func() bool) {
	if s.unit == "" {
		return 0, nil
	}
	n, ok := integer(s.number)
	if !ok {
		return 0, func() bool { return c.fail(errNotInteger) }
	}
	at, ok = c.deadline(n, s.unit[0] == 'E', !strings.HasSuffix(s.unit, "AT"))
	if n <= 0 || !ok {
		return 0, c.invalidExpire
	}
	return at, nil
}

// set answers SET, SETEX and PSETEX.
func set(c *call) bool {
	key, value := c.args[1], c.args[2]
	var s setting
	switch c.name {
	case "SETEX", "PSETEX":
		s, value = setting{unit: "EX", number: c.args[2]}, c.args[3]
		if c.name == "PSETEX" {
			s.unit = "PX"
		}
	default:
		var ok bool
		if s, ok = parseSetting(c.args[3:], false); !ok {
			return c.fail(errSyntax)
		}
	}
	at, problem := s.end(c)
	if problem != nil {
		return problem()
	}
	kind := c.key()
	old, _ := c.db().Get(key) // the error is what kind says
	if s.get && kind != "" && kind != "string" {
		return c.fail(errWrongType)
	}
	c.unchanged = s.nx && kind != "" || s.xx && kind == ""
	switch {
	case !c.unchanged:
		c.store(key, value, s.keep)
		if at != 0 {
			c.setEnd(key, at)
		}
	case !s.get:
		c.peer.WriteNull()
		return true
	}
	switch {
	case !s.get:
		c.peer.WriteOK()
	case kind == "":
		c.peer.WriteNull()
	default:
		c.peer.WriteBulk(old)
	}
	return true
}

// setNX lets miniredis answer SETNX.
func setNX(c *call) bool {
	c.unchanged = c.key() != ""
	return false
}

// store puts a string into a key, whatever was there.
func (c *call) store(key, value string, keepEnd bool) {
	db := c.db()
	left := db.TTL(key)
	db.Del(key)
	if err := db.Set(key, value); err != nil {
		panic(err) // there is no key of another type
	}
	if keepEnd && left > 0 {
		db.SetTTL(key, left)
	}
}

// getEx answers GETEX.
func getEx(c *call) bool {
	s, ok := parseSetting(c.args[2:], true)
	if !ok {
		return c.fail(errSyntax)
	}
	key := c.args[1]
	switch c.key() {
	case "":
		c.peer.WriteNull()
		return true
	case "string":
	default:
		return c.fail(errWrongType)
	}
	at, problem := s.end(c)
	if problem != nil {
		return problem()
	}
	value, err := c.db().Get(key)
	if err != nil {
		return c.fail("ERR " + err.Error())
	}
	c.peer.WriteBulk(value)
	switch {
	case at != 0:
		c.setEnd(key, at)
	case s.persist:
		twin := mute()
		twin.Ctx = c.peer.Ctx
		c.engine.toMiniredis(twin, []string{"PERSIST", key})
	}
	return true
}

// pairs lets miniredis answer MSET and MSETNX with as many values as keys.
func pairs(c *call) bool {
	if len(c.args)%2 == 0 {
		return c.fail(arityError(c.name))
	}
	return false
}

// randomKey answers RANDOMKEY with the first key, since miniredis would let the
// order of a map decide.
func randomKey(c *call) bool {
	keys := c.db().Keys()
	if len(keys) == 0 {
		c.peer.WriteNull()
		return true
	}
	c.peer.WriteBulk(slices.Min(keys))
	return true
}

// getRange answers GETRANGE.
func getRange(c *call) bool {
	from, ok := integer(c.args[2])
	to, ok2 := integer(c.args[3])
	if !ok || !ok2 {
		return c.fail(errNotInteger)
	}
	switch c.key() {
	case "", "string":
	default:
		return c.fail(errWrongType)
	}
	value, _ := c.db().Get(c.args[1]) // the error says that there is none
	if from < 0 && to < 0 && from > to {
		value = ""
	}
	n := int64(len(value))
	if to < 0 {
		to = max(to+n, 0) // the first letter even then
	}
	c.peer.WriteBulk(string(slice([]byte(value), from, to)))
	return true
}

// longest is how long Redis lets a string become, in bytes (proto-max-bulk-len).
const longest = 512 << 20

// setRange lets miniredis answer SETRANGE with something to write that is not too far
// behind. (setrangeCommand of Redis.)
func setRange(c *call) bool {
	offset, ok := integer(c.args[2])
	switch {
	case !ok:
		return c.fail(errNotInteger)
	case offset < 0:
		return c.fail("ERR offset is out of range")
	}
	switch c.key() {
	case "", "string":
	default:
		return c.fail(errWrongType)
	}
	switch n := int64(len(c.args[3])); {
	case n == 0:
		value, _ := c.db().Get(c.args[1]) // the error says that there is none
		c.peer.WriteInt(len(value))
		return true
	case offset > longest-n:
		return c.fail(errTooLong)
	}
	return false
}

// bit lets miniredis answer SETBIT and GETBIT of a bit that a string may have. It
// would take a string whose bit is set to what it is for one that has changed, and a
// watched key for touched.
func bit(c *call) bool {
	n, ok := integer(c.args[2])
	if ok && n >= 8*longest {
		return c.fail(errBitOffset)
	}
	if !ok || n < 0 || c.name != "SETBIT" || c.key() != "string" {
		return false
	}
	value, err := c.db().Get(c.args[1])
	if err != nil {
		panic(err) // it is a string
	}
	at := int(n / 8)
	if at >= len(value) || strconv.Itoa(int(value[at]>>(7-n%8)&1)) != c.args[3] {
		return false
	}
	c.unchanged = true
	c.peer.WriteInt(int(c.args[3][0] - '0'))
	return true
}
