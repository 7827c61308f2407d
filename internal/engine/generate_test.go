package engine

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// step is one command of a differential test.
type step struct {
	conn int
	wait time.Duration // before it, on both clocks
	args []string
}

// String says the step as one could type it.
func (s step) String() string {
	var b strings.Builder
	if s.wait > 0 {
		fmt.Fprintf(&b, "(%v later) ", s.wait)
	}
	fmt.Fprintf(&b, "%d>", s.conn)
	for _, a := range s.args {
		fmt.Fprintf(&b, " %q", a)
	}
	return b.String()
}

// connections is how many connections a sequence uses.
const connections = 3

// generator makes commands at random. A word of a pattern in braces stands for
// something that is drawn; what stands in square brackets is there or not.
type generator struct {
	rng     *rand.Rand
	now     time.Time // at which the sequence began
	narrow  bool      // one key of each type
	pending [connections][][]string
}

// patterns are the commands of locks and their neighbours. Each is as likely as
// it is listed often.
var patterns = strings.Split(strings.TrimSpace(`
SET {s} {v}
SET {s} {v} NX PX {ms}
SET {s} {v} NX EX {sec}
SET {s} {v} [NX] [XX] [GET] [KEEPTTL] [EX {sec}] [PX {ms}] [EXAT {at}] [PXAT {atms}]
SET {s} {v} [NX] [XX] [GET] [KEEPTTL]
SET {s} {v} [GET] [PXAT {atms}]
SET {s} {n}
GET {s}
GET {k}
GETDEL {s}
GETEX {s} [PERSIST] [EX {sec}] [PX {ms}] [EXAT {at}] [PXAT {atms}]
GETEX {s} PX {ms}
SETNX {s} {v}
SETEX {s} {sec} {v}
PSETEX {s} {ms} {v}
GETSET {s} {v}
APPEND {s} {v}
STRLEN {s}
GETRANGE {s} {i} {i}
SETRANGE {s} {off} {v}
SETBIT {s} {off} 1
GETBIT {s} {off}
INCR {s}
DECR {s}
INCRBY {s} {n}
DECRBY {s} {n}
INCRBYFLOAT {s} {f}
MGET {k} [{k}] [{s}]
MSET {s} {v} [{s} {v}]
MSETNX {s} {v} [{s} {v}]
DEL {k} [{k}] [{k}]
DEL {s}
UNLINK {k} [{k}]
EXISTS {k} [{k}] [{k}]
TOUCH {k} [{k}]
TYPE {k}
EXPIRE {k} {sec} [NX] [XX] [GT] [LT]
PEXPIRE {k} {ms} [NX] [XX] [GT] [LT]
PEXPIRE {k} {ms}
EXPIREAT {k} {at} [NX] [XX] [GT] [LT]
PEXPIREAT {k} {atms} [NX] [XX] [GT] [LT]
TTL {k}
PTTL {k}
TTL {s}
PTTL {s}
PEXPIRE {s} {ms}
EXPIRETIME {s}
EXPIRETIME {k}
PEXPIRETIME {k}
PERSIST {k}
RENAME {k} {k}
RENAMENX {k} {k}
COPY {k} {k} [REPLACE]
RANDOMKEY
KEYS {glob}
DBSIZE
SCAN 0
HSET {h} {m} {v} [{m} {v}] [{m} {v}]
HSET {h} {m} {n}
HMSET {h} {m} {v} [{m} {v}]
HSETNX {h} {m} {v}
HGET {h} {m}
HMGET {h} {m} [{m}]
HDEL {h} {m} [{m}]
HINCRBY {h} {m} {n}
HINCRBY {h} {m} 1
HINCRBYFLOAT {h} {m} {f}
HEXISTS {h} {m}
HGETALL {h}
HLEN {h}
HKEYS {h}
HVALS {h}
HSTRLEN {h} {m}
LPUSH {l} {m} [{m}] [{v}]
RPUSH {l} {m} [{m}] [{v}]
LPUSHX {l} {m} [{m}]
RPUSHX {l} {m}
LPOP {l} [{cnt}]
RPOP {l} [{cnt}]
LRANGE {l} {i} {i}
LRANGE {l} 0 -1
LREM {l} {i} {m}
LLEN {l}
LINDEX {l} {i}
LSET {l} {i} {m}
LTRIM {l} {i} {i}
LINSERT {l} {side} {m} {m}
LMOVE {l} {l} {end} {end}
RPOPLPUSH {l} {l}
LPOS {l} {m} [RANK {i}] [COUNT {i}] [MAXLEN {i}]
SADD {e} {m} [{m}] [{m}]
SREM {e} {m} [{m}]
SISMEMBER {e} {m}
SMISMEMBER {e} {m} [{m}]
SMEMBERS {e}
SCARD {e}
SMOVE {e} {e} {m}
SINTER {e} {e}
SUNION {e} {e}
SDIFF {e} {e}
ZADD {z} [NX] [XX] [GT] [LT] [CH] [INCR] {sc} {m} [{sc} {m}]
ZADD {z} {sc} {m} [{sc} {m}] [{sc} {m}]
ZADD {z} {sc} {m}
ZREM {z} {m} [{m}]
ZSCORE {z} {m}
ZMSCORE {z} {m} [{m}]
ZCARD {z}
ZCOUNT {z} {lim} {lim}
ZINCRBY {z} {sc} {m}
ZRANK {z} {m}
ZREVRANK {z} {m}
ZRANGE {z} {i} {i} [REV] [WITHSCORES]
ZRANGE {z} {lim} {lim} BYSCORE [REV] [LIMIT {i} {i}] [WITHSCORES]
ZRANGE {z} {lim} {lim} [BYSCORE] [REV] [LIMIT {i} {i}] [WITHSCORES]
ZRANGE {z} 0 -1 WITHSCORES
ZREVRANGE {z} {i} {i} [WITHSCORES]
ZRANGEBYSCORE {z} {lim} {lim} [WITHSCORES] [LIMIT {i} {i}]
ZREVRANGEBYSCORE {z} {lim} {lim} [WITHSCORES] [LIMIT {i} {i}]
ZPOPMIN {z} [{cnt}]
ZPOPMAX {z} [{cnt}]
ZREMRANGEBYSCORE {z} {lim} {lim}
ZREMRANGEBYRANK {z} {i} {i}
PING [{v}]
ECHO {v}
FLUSHALL [{flush}]
TIME
SELECT {db}
HELLO [{proto}] [SETNAME {name}]
CLIENT SETNAME {name}
CLIENT GETNAME
CLIENT ID
SCRIPT LOAD {body}
SCRIPT EXISTS {sha} [{sha}]
SCRIPT FLUSH [{flush}]
EVAL {body} {keys}
EVAL {body} {keys}
EVAL {body} {keys}
EVAL {body} {keys}
EVAL {body} {keys}
EVALSHA {sha} {keys}
EVALSHA {sha} {keys}
EVAL {relay} 0 {command}
EVAL {relay} 0 {command}
EVAL {relay} 0 {command}
EVAL {relay} 0 {command}
EVAL {relay} 0 {command}
EVAL {relay} 0 {command}
WATCH {k} [{k}]
UNWATCH
EXEC
DISCARD
MULTI
NONSENSE {k} {v}
`), "\n")

// draws are what a word in braces may become.
var draws = map[string][]string{
	"s": {"s1", "s1", "s1", "s2"}, "h": {"h1", "h1", "h2"}, "l": {"l1", "l1", "l2"}, "e": {"e1", "e1", "e2"}, "z": {"z1", "z1", "z2"},
	"v":    {"token-1", "token-1", "token-2", "", "a b", "0", "7", "-3", "x\r\ny", "\x00\xff", "ünï"},
	"m":    {"a", "a", "b", "c", "10", "9", ""},
	"n":    {"1", "1", "2", "-1", "0", "10", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "+1", "01", " 1", "1.5", "-0", "x", ""},
	"f":    {"1.5", "-0.25", "3", "1e3", "10.10", "inf", "nan", "x", "0.1", "-7"},
	"i":    {"0", "0", "1", "-1", "2", "-2", "100", "-100", "x"},
	"off":  {"0", "1", "5", "-1", "x", "9223372036854775807", "536870912", "4294967296"},
	"cnt":  {"0", "1", "2", "10", "-1", "x"},
	"sec":  {"1", "2", "10", "3600", "0", "-1", "x", "9223372036854775807", "1.5"},
	"ms":   {"3", "57", "1003", "1499", "1500", "30007", "30007", "3600000", "0", "-1", "x", "9223372036854775807"},
	"sc":   {"1", "1", "2", "2.5", "-1", "0", "inf", "-inf", "nan", "x", "1e20", "0.1", "1767225600123", "3.0"},
	"lim":  {"-inf", "+inf", "0", "1", "(1", "2", "(2.5", "inf", "x", "(x", "-", "+", "[a"},
	"glob": {"*", "s*", "?1", "[sh]1", "none", "s\\1", "[^s]*"},
	"db":   {"0", "0", "0", "1", "x", "-1", "16", "99"},
	"side": {"BEFORE", "after", "x"}, "end": {"LEFT", "right", "x"},
	"proto": {"2", "3", "4", "x"},
	"name":  {"client-1", "a b", ""},
	"flush": {"SYNC", "async", "x"},
}

// anyKeys are all keys that sequences use.
var anyKeys = []string{"s1", "s2", "h1", "h2", "l1", "l2", "e1", "e2", "z1", "z2"}

// relays call the command that their arguments are, in every way that makes a
// difference.
var relays = []string{
	`return redis.call(unpack(ARGV))`,
	`return redis.call(unpack(ARGV))`,
	`return redis.pcall(unpack(ARGV))`,
	`local r = redis.pcall(unpack(ARGV)) if type(r) == 'table' and r.err then return {'refused', r.err} end return {type(r), r}`,
	`local r = redis.call(unpack(ARGV)) if r == false then return 'false' end if r == nil then return 'nil' end if type(r) == 'table' and r.ok then return 'ok ' .. r.ok end return r`,
	`redis.setresp(3) return redis.call(unpack(ARGV))`,
	`redis.setresp(3) local r = redis.call(unpack(ARGV)) if type(r) == 'table' then for k in pairs(r) do if type(k) == 'string' then return k end end end return type(r)`,
}

// key keeps to one key of each type if the sequence is narrow.
func (g *generator) key(name string) string {
	if g.narrow {
		return name[:1] + "1"
	}
	return name
}

func (g *generator) pick(from []string) string { return from[g.rng.IntN(len(from))] }

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// word draws what a word in braces stands for, which may be several words.
func (g *generator) word(name string) []string {
	switch name {
	case "k":
		return []string{g.key(g.pick(anyKeys))}
	case "s", "h", "l", "e", "z":
		if g.chance(6) { // of a type that the command does not expect
			return []string{g.key(g.pick(anyKeys))}
		}
		return []string{g.key(g.pick(draws[name]))}
	case "at", "atms":
		if g.chance(10) {
			return []string{g.pick(draws["n"])}
		}
		at := g.now.Add(time.Duration(g.rng.IntN(20000)-4000) * time.Millisecond)
		if name == "at" {
			return []string{strconv.FormatInt(at.Unix(), 10)}
		}
		return []string{strconv.FormatInt(at.UnixMilli(), 10)}
	case "body":
		return []string{g.pick(allBodies)}
	case "sha":
		if g.chance(10) {
			return []string{g.pick([]string{"x", "ffffffffffffffffffffffffffffffffffffffff"})}
		}
		sha := sha1Hex(g.pick(allBodies))
		if g.chance(20) {
			sha = strings.ToUpper(sha)
		}
		return []string{sha}
	case "relay":
		return []string{g.pick(relays)}
	case "keys":
		if g.chance(4) {
			return []string{g.pick([]string{"x", "-1", "9", "1", "0"}), "s1"}
		}
		key := g.word(g.pick([]string{"s", "s", "h", "l", "z", "e"}))
		return append([]string{"1"}, append(key, g.pick(draws["v"]), g.pick(draws["ms"]), g.pick(draws["n"]))...)
	case "command":
		for {
			args := g.command()
			if args[0] != "EVAL" && args[0] != "EVALSHA" || g.chance(5) {
				return args
			}
		}
	}
	return []string{g.pick(draws[name])}
}

// command makes a command, at times one with a mistake.
func (g *generator) command() []string {
	args := g.expand(strings.Fields(g.pick(patterns)))
	if g.chance(4) {
		switch g.rng.IntN(4) {
		case 0:
			args = args[:max(1, len(args)-1)]
		case 1:
			args = append(args, "x")
		case 2:
			args[0] = strings.ToLower(args[0])
		default:
			args[g.rng.IntN(len(args))] = g.pick(draws["n"])
		}
	}
	return args
}

func (g *generator) expand(words []string) []string {
	var args []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w, "[") {
			end := i
			for !strings.HasSuffix(words[end], "]") {
				end++
			}
			if g.chance(35) {
				group := append([]string{}, words[i:end+1]...)
				group[0] = strings.TrimPrefix(group[0], "[")
				group[len(group)-1] = strings.TrimSuffix(group[len(group)-1], "]")
				args = append(args, g.expand(group)...)
			}
			i = end
			continue
		}
		if name, ok := strings.CutPrefix(w, "{"); ok {
			args = append(args, g.word(strings.TrimSuffix(name, "}"))...)
			continue
		}
		args = append(args, w)
	}
	return args
}

// sequence makes a sequence of n steps or a few more.
func (g *generator) sequence(n int) []step {
	var steps []step
	g.narrow = g.chance(50)
	for conn := range connections {
		if g.chance(33) {
			steps = append(steps, step{conn: conn, args: []string{"HELLO", "3"}})
		}
	}
	for len(steps) < n {
		s := step{conn: g.rng.IntN(connections)}
		if g.chance(20) {
			s.wait = []time.Duration{1, 7, 60, 400, 999, 1000, 5000, 61000}[g.rng.IntN(8)] * time.Millisecond
		}
		switch queue := g.pending[s.conn]; {
		case len(queue) > 0:
			s.args, g.pending[s.conn] = queue[0], queue[1:]
		case g.chance(6):
			if g.chance(70) {
				s.args = g.expand(strings.Fields("WATCH {k} [{k}] [{k}]"))
			} else {
				s.args = g.command()
			}
			g.pending[s.conn] = append(g.pending[s.conn], []string{"MULTI"})
			for range 1 + g.rng.IntN(4) {
				g.pending[s.conn] = append(g.pending[s.conn], g.command())
			}
			g.pending[s.conn] = append(g.pending[s.conn], []string{"EXEC"})
		default:
			s.args = g.command()
		}
		steps = append(steps, s)
	}
	for conn := range connections {
		steps = append(steps, step{conn: conn, args: []string{"EXEC"}})
	}
	return append(steps, look()...)
}

// look reads all that there is.
func look() []step {
	var steps []step
	for _, k := range anyKeys {
		for _, args := range [][]string{{"TYPE", k}, {"TTL", k}, {"PTTL", k}, {"PEXPIRETIME", k}, {"GET", k}, {"HGETALL", k}, {"LRANGE", k, "0", "-1"}, {"SMEMBERS", k}, {"ZRANGE", k, "0", "-1", "WITHSCORES"}} {
			steps = append(steps, step{args: args})
		}
	}
	return steps
}
