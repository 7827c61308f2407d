package tap

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// connections is how many clients a load has.
const connections = 4

// Scripts of the load.
const (
	compareAndDelete = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	compareAndExtend = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
	enter            = `local n = redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return {n, redis.call('PTTL', KEYS[1])}`
	byTheClock       = `local t = redis.call('TIME') redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2], ARGV[1]) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return redis.call('ZCARD', KEYS[1])`
	undone           = `redis.call('SET', KEYS[1], 'never seen') redis.call('DEL', KEYS[1]) return redis.status_reply('done')`
	fails            = `redis.call('SET', KEYS[1], ARGV[1]) redis.pcall('INCR', KEYS[1]) return redis.call('LPUSH', KEYS[1], 'x')`
	elsewhere        = `redis.call('SELECT', 1) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) redis.call('SELECT', 0) return redis.call('EXISTS', KEYS[1])`
	silent           = `return {KEYS[1], 1, false, 'x'}`

	// loaded before the tap begins
	old = `redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return redis.call('INCR', 'counter')`
)

var (
	scripts = []string{compareAndDelete, compareAndExtend, enter, byTheClock, undone, fails, elsewhere, silent}
	stored  = []string{compareAndDelete, compareAndExtend, enter, byTheClock, old}
	keys    = []string{"s1", "s2", "s3", "h1", "l1", "e1", "z1"}
)

// generator makes up a load.
type generator struct {
	rng    *rand.Rand
	now    func() time.Time
	queues [connections]int // commands that a transaction still gets, plus one for its end; 0 without
	sha    map[string]string
	short  int // longest of the short times to live, in milliseconds
}

func (g *generator) pick(of ...string) string { return of[g.rng.IntN(len(of))] }

func (g *generator) key() string { return g.pick(keys...) }

// word is a value, at times one that must be escaped.
func (g *generator) word() string {
	return g.pick("1", "2", "7", "token-1", "token-2", "b0e6dd6f-51a2", "", "a b", "\"\\\n\r\t\a\b\x00\x7f\xff", "é]  \"")
}

// life is a time to live in milliseconds.
func (g *generator) life() string {
	if g.rng.IntN(3) == 0 {
		return g.pick("60000", "90000")
	}
	return strconv.Itoa(1 + g.rng.IntN(g.short))
}

// end is an end in milliseconds.
func (g *generator) end() string {
	return strconv.FormatInt(g.now().UnixMilli()+1+g.rng.Int64N(int64(g.short)), 10)
}

// step returns the next command of a connection.
func (g *generator) step(conn int) []string {
	switch n := g.queues[conn]; {
	case n == 1:
		g.queues[conn] = 0
		return []string{g.pick("EXEC", "EXEC", "EXEC", "DISCARD")}
	case n > 1:
		g.queues[conn]--
		if g.rng.IntN(30) == 0 {
			return [][]string{{"GET"}, {"WATCH", g.key()}, {"MULTI"}, {"SELECT", "1"}, {"SELECT", "0"}}[g.rng.IntN(5)]
		}
		return g.command()
	}
	switch g.rng.IntN(40) {
	case 0, 1, 2:
		g.queues[conn] = 1 + g.rng.IntN(5)
		return []string{"MULTI"}
	case 3:
		return []string{"WATCH", g.key(), g.key()}
	case 4:
		return []string{"SELECT", g.pick("0", "0", "0", "1", "16")}
	case 5:
		return []string{"HELLO", g.pick("2", "3")}
	case 6:
		return [][]string{{"PING"}, {"PUBLISH", "c", "m"}, {"EXEC"}, {"DISCARD"}, {"UNWATCH"}, {"CLIENT", "SETNAME", "x"}, {"TIME"}, {"ECHO", g.word()}, {"DBSIZE"}}[g.rng.IntN(9)]
	case 7:
		if g.rng.IntN(8) == 0 {
			return []string{g.pick("FLUSHDB", "FLUSHALL", "RESET")}
		}
	}
	return g.command()
}

// command returns a command on keys.
func (g *generator) command() []string {
	switch g.rng.IntN(10) {
	case 0, 1, 2:
		return g.onString()
	case 3, 4:
		return g.onEnds()
	case 5, 6, 7:
		return g.onMany()
	default:
		return g.script()
	}
}

func (g *generator) onString() []string {
	k := g.pick("s1", "s2", "s3", g.key())
	all := [][]string{
		{"SET", k, g.word(), "NX", "PX", g.life()}, {"SET", k, g.word(), "PX", g.life()}, {"set", k, g.word(), "xx", "px", g.life(), "get"},
		{"SET", k, g.word(), "PXAT", g.farEnd()}, {"SET", k, g.word(), "KEEPTTL"}, {"SET", k, g.word(), "BOGUS"}, {"SET", k, g.word()},
		{"SETNX", k, g.word()}, {"PSETEX", k, g.life(), g.word()}, {"GETEX", k, "PX", g.life()}, {"GETEX", k, "PERSIST"}, {"GETDEL", k}, {"GETSET", k, g.word()},
		{"GET", k}, {"INCR", k}, {"INCRBY", k, "5"}, {"APPEND", k, g.word()}, {"STRLEN", k}, {"MSET", k, g.word(), "s2", g.word()}, {"MGET", "s1", "s2", k},
	}
	return all[g.rng.IntN(len(all))]
}

func (g *generator) onEnds() []string {
	k := g.key()
	all := [][]string{
		{"PEXPIRE", k, g.life()}, {"PEXPIRE", k, g.life(), g.pick("NX", "XX", "GT", "LT")}, {"PEXPIREAT", k, g.end()}, {"PEXPIRE", k, "0"}, {"EXPIRE", k, "-1"},
		{"EXPIRE", k, "60"}, {"PERSIST", k}, {"PTTL", k}, {"TTL", k}, {"PEXPIRETIME", k}, {"EXISTS", k}, {"TYPE", k}, {"DEL", k}, {"UNLINK", k, g.key()},
		{"RENAME", k, g.key()}, {"COPY", k, g.key()}, {"COPY", k, g.key(), "REPLACE"}, {"MOVE", k, "1"}, {"PEXPIRE", k, "soon"},
	}
	return all[g.rng.IntN(len(all))]
}

func (g *generator) onMany() []string {
	a, b := g.pick("a", "b", "c"), g.word()
	h, l, e, z := g.pick("h1", "h1", g.key()), g.pick("l1", "l1", g.key()), g.pick("e1", "e1", g.key()), g.pick("z1", "z1", g.key())
	all := [][]string{
		{"HSET", h, a, b}, {"HSETNX", h, a, b}, {"HINCRBY", h, "n", "3"}, {"HDEL", h, a, "n"}, {"HGET", h, a}, {"HMGET", h, a, "n"}, {"HLEN", h},
		{"LPUSH", l, a, b}, {"RPUSH", l, b}, {"LPOP", l}, {"RPOP", l}, {"LRANGE", l, "0", "-1"}, {"LREM", l, "0", a}, {"LTRIM", l, "0", "3"}, {"LMOVE", l, "l1", "LEFT", "RIGHT"},
		{"SADD", e, a, b}, {"SREM", e, a}, {"SISMEMBER", e, a}, {"SCARD", e}, {"SMOVE", e, "e1", a},
		{"ZADD", z, "1.5", a, "2", b}, {"ZINCRBY", z, "0.1", a}, {"ZREM", z, a}, {"ZRANGE", z, "0", "-1", "WITHSCORES"}, {"ZREMRANGEBYSCORE", z, "-inf", "2"}, {"ZPOPMIN", z}, {"ZSCORE", z, a},
	}
	return all[g.rng.IntN(len(all))]
}

func (g *generator) script() []string {
	k, rest := g.pick("s1", "s2", "h1", "z1", "e1"), []string{g.word(), g.life()}
	switch g.rng.IntN(8) {
	case 0:
		return []string{"SCRIPT", "LOAD", g.pick(scripts...)}
	case 1, 2, 3:
		return append([]string{"EVALSHA", g.sha[g.pick(stored...)], "1", k}, rest...)
	case 4:
		return [][]string{{"EVAL", "retur 1", "0"}, {"EVAL", "return 1", "5"}, {"EVALSHA", "abc", "0"}, {"EVALSHA", fmt.Sprintf("%040d", 7), "0"}, {"EVAL_RO", "return redis.call('GET', KEYS[1])", "1", k}}[g.rng.IntN(5)]
	default:
		return append([]string{"EVAL", g.pick(scripts...), "1", k}, rest...)
	}
}

// farEnd is an end that does not come while a transaction waits: of SET, the engine
// takes a key that ends in the millisecond that it is for gone.
func (g *generator) farEnd() string {
	return strconv.FormatInt(g.now().Add(time.Minute).UnixMilli(), 10)
}
