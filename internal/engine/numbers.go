package engine

import (
	"math"
	"math/big"
	"strings"
)

// hashIncrement answers HINCRBY.
func hashIncrement(c *call) bool {
	n, ok := integer(c.args[3])
	if !ok {
		return c.fail(errNotInteger)
	}
	was, ok := c.field()
	if !ok {
		return true
	}
	m, ok := integer(was)
	switch {
	case !ok:
		return c.fail("ERR hash value is not an integer")
	case n > 0 && m > math.MaxInt64-n, n < 0 && m < math.MinInt64-n:
		return c.fail("ERR increment or decrement would overflow")
	}
	return false
}

// field returns the number in a field of a hash, 0 when there is none. It is
// false, and has answered, when the key is of another type.
func (c *call) field() (string, bool) {
	key, name := c.args[1], c.args[2]
	switch c.key() {
	case "":
		return "0", true
	case "hash":
	default:
		return "", !c.fail(errWrongType)
	}
	if fields, err := c.db().HKeys(key); err == nil {
		for _, f := range fields {
			if f == name {
				return c.db().HGet(key, name), true
			}
		}
	}
	return "0", true
}

// increment lets miniredis answer INCR and its like of a key with a number.
func increment(c *call) bool {
	if c.name == "DECRBY" {
		if n, ok := integer(c.args[2]); ok && n == math.MinInt64 {
			return c.fail("ERR decrement would overflow")
		}
	}
	if len(c.args) > 2 {
		if _, ok := integer(c.args[2]); !ok {
			return c.fail(errNotInteger)
		}
	}
	if c.key() != "string" {
		return false
	}
	if was, err := c.db().Get(c.args[1]); err == nil {
		if _, ok := integer(was); !ok {
			return c.fail(errNotInteger)
		}
	}
	return false
}

// longDouble is the precision of the numbers that INCRBYFLOAT adds, those of C's
// long double on amd64.
const longDouble = 64

// incrementFloat answers INCRBYFLOAT and HINCRBYFLOAT.
func incrementFloat(c *call) bool {
	hash := c.name[0] == 'H'
	by := c.args[len(c.args)-1]
	inc, ok := bigFloat(by)
	if hash && !ok {
		return c.fail(errNotFloat)
	}
	if hash && inc.IsInf() {
		return c.fail("ERR value is NaN or Infinity")
	}
	was := "0"
	if hash {
		text, ok := c.field()
		if !ok {
			return true
		}
		was = text
	} else {
		switch c.key() {
		case "":
		case "string":
			text, err := c.db().Get(c.args[1])
			if err != nil {
				return c.fail("ERR " + err.Error())
			}
			was = text
		default:
			return c.fail(errWrongType)
		}
	}
	value, isFloat := bigFloat(was)
	switch {
	case hash && !isFloat:
		return c.fail("ERR hash value is not a float")
	case !isFloat || !ok:
		return c.fail(errNotFloat)
	case value.IsInf() || inc.IsInf():
		return c.fail("ERR increment would produce NaN or Infinity")
	}
	text := value.Add(value, inc).Text('f', 17)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		text = "0"
	}
	if hash {
		c.db().HSet(c.args[1], c.args[2], text)
	} else {
		c.store(c.args[1], text, true)
	}
	c.peer.WriteBulk(text)
	return true
}

func bigFloat(s string) (*big.Float, bool) {
	if _, ok := float(s); !ok {
		return nil, false
	}
	f, _, err := big.ParseFloat(s, 0, longDouble, big.ToNearestEven)
	return f, err == nil
}
