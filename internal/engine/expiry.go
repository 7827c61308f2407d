package engine

import (
	"math"
	"strings"
	"time"
)

// second is a second in the milliseconds in which Redis counts.
const second = 1000

// deadline turns the number of EXPIRE and its like into the millisecond of a
// key's end. It is false when Redis cannot count so far.
func (c *call) deadline(n int64, seconds, relative bool) (at int64, ok bool) {
	if seconds {
		if n > math.MaxInt64/second || n < math.MinInt64/second {
			return 0, false
		}
		n *= second
	}
	if relative {
		now := c.engine.now.UnixMilli()
		if n > math.MaxInt64-now {
			return 0, false
		}
		n += now
	}
	return n, true
}

// setEnd lets a key end at a millisecond of the engine's clock. A key whose end
// is past ends at once.
func (c *call) setEnd(key string, at int64) {
	now := c.engine.now.UnixMilli()
	switch {
	case at <= now:
		c.db().Del(key)
	case at-now > int64(forever/time.Millisecond):
		c.db().SetTTL(key, forever)
	default:
		c.db().SetTTL(key, time.UnixMilli(at).Sub(c.engine.now))
	}
}

// forever is longer than any test, and short enough for clocks to be set back.
const forever = 200 * 365 * 24 * time.Hour

func (c *call) invalidExpire() bool {
	return c.fail("ERR invalid expire time in '" + strings.ToLower(c.name) + "' command")
}

// copyKey lets miniredis answer COPY, which would keep the end of a key that is
// replaced.
func copyKey(c *call) bool {
	from, to := c.args[1], c.args[2]
	if from == to || c.key() == "" || len(c.args) != 4 || !strings.EqualFold(c.args[3], "REPLACE") {
		return false
	}
	c.db().Del(to)
	return false
}

// expire answers EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. (expireGenericCommand
// of Redis.)
func expire(c *call) bool {
	var nx, xx, gt, lt bool
	for _, option := range c.args[3:] {
		switch strings.ToUpper(option) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GT":
			gt = true
		case "LT":
			lt = true
		default:
			return c.fail("ERR Unsupported option " + option)
		}
	}
	switch {
	case nx && (xx || gt || lt):
		return c.fail("ERR NX and XX, GT or LT options at the same time are not compatible")
	case gt && lt:
		return c.fail("ERR GT and LT options at the same time are not compatible")
	}
	n, ok := integer(c.args[2])
	if !ok {
		return c.fail(errNotInteger)
	}
	at, ok := c.deadline(n, c.name[0] != 'P', !strings.HasSuffix(c.name, "AT"))
	if !ok {
		return c.invalidExpire()
	}
	key := c.args[1]
	if c.key() == "" {
		c.peer.WriteInt(0)
		return true
	}
	end, lives := c.ends(key)
	was := end.UnixMilli()
	if nx && lives || xx && !lives || gt && (!lives || at <= was) || lt && lives && at >= was {
		c.peer.WriteInt(0)
		return true
	}
	c.setEnd(key, at)
	c.peer.WriteInt(1)
	return true
}

// timeToLive answers TTL, PTTL, EXPIRETIME and PEXPIRETIME.
func timeToLive(c *call) bool {
	end, lives := c.ends(c.args[1])
	ms := end.UnixMilli()
	switch {
	case c.key() == "":
		c.peer.WriteInt(-2)
		return true
	case !lives:
		c.peer.WriteInt(-1)
		return true
	}
	if !strings.HasSuffix(c.name, "TIME") {
		ms -= c.engine.now.UnixMilli()
	}
	if c.name[0] != 'P' {
		ms = (ms + second/2) / second
	}
	c.peer.WriteInt(int(ms))
	return true
}
