package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// call is one command that is being carried out. It has as many words as it may
// have.
type call struct {
	engine *Engine
	peer   *server.Peer
	name   string // in capitals
	args   []string

	unchanged bool // it writes, but has not
}

// newAnswers returns how to answer the commands that miniredis answers in another
// way than Redis does, some of them only at times: an answer is false when
// miniredis may answer.
func newAnswers() map[string]func(*call) bool {
	return map[string]func(*call) bool{
		"SET": set, "SETNX": setNX, "SETEX": set, "PSETEX": set, "GETEX": getEx,
		"MSET": pairs, "MSETNX": pairs, "SETRANGE": setRange, "SETBIT": bit, "GETBIT": bit,
		"INCR": increment, "DECR": increment, "INCRBY": increment, "DECRBY": increment,
		"INCRBYFLOAT": incrementFloat, "HINCRBYFLOAT": incrementFloat, "HINCRBY": hashIncrement,

		"LPOP": listPop, "RPOP": listPop, "LINDEX": listIndex, "LSET": listIndex, "LMOVE": listMove, "RPOPLPUSH": listMove,
		"LINSERT": listInsert, "LPOS": listPositions, "LREM": listRemove,
		"SADD": setChange, "SREM": setChange, "SMOVE": setMove,
		"SINTER": combine, "SUNION": combine, "SDIFF": combine,
		"ZADD": zAdd, "ZINCRBY": zAdd, "ZSCORE": zScore, "ZMSCORE": zScore, "ZPOPMIN": zPop, "ZPOPMAX": zPop,
		"ZCOUNT": zCount, "ZRANGE": zRange, "ZREVRANGE": zRange, "ZRANGEBYSCORE": zRange, "ZREVRANGEBYSCORE": zRange,

		"EXPIRE": expire, "PEXPIRE": expire, "EXPIREAT": expire, "PEXPIREAT": expire,
		"TTL": timeToLive, "PTTL": timeToLive, "EXPIRETIME": timeToLive, "PEXPIRETIME": timeToLive,

		"EVAL": eval, "EVALSHA": eval, "SCRIPT": script,
		"HDEL": removal, "ZREM": removal, "ZREMRANGEBYSCORE": removal, "ZREMRANGEBYRANK": removal, "ZREMRANGEBYLEX": removal,
		"FLUSHALL": flush, "FLUSHDB": flush,
		"COPY": copyKey, "RANDOMKEY": randomKey, "GETRANGE": getRange, "PING": ping, "UNWATCH": unwatch,
		"HELLO": hello, "CLIENT": clientCommand, "SELECT": selectDB, "PUBLISH": publish,
	}
}

// fail answers with an error.
func (c *call) fail(text string) bool {
	writeError(c.peer, text)
	return true
}

// writeError writes an error in one line. The peer's own method takes bytes that
// are no text for something else.
func writeError(peer *server.Peer, text string) {
	peer.WriteRaw("-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n")
}

// db is the database that the command is for.
func (c *call) db() *miniredis.RedisDB { return c.engine.db.DB(c.engine.asking.db) }

// key returns the type of the command's key, "" when there is no such key.
func (c *call) key() string { return c.db().Type(c.args[1]) }

// Errors that several commands give.
const (
	errNotInteger = "ERR value is not an integer or out of range"
	errSyntax     = "ERR syntax error"
	errWrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errTooLong    = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errBitOffset  = "ERR bit offset is not an integer or out of range"
	errPositive   = "ERR value is out of range, must be positive"
)

// integer reads an integer as strictly as Redis does: Go's strconv also takes
// those with a plus sign or with zeros before them.
func integer(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s == strconv.FormatInt(n, 10)
}

// integers are the arguments of commands that must be integers.
var integers = map[string][]int{
	"INCRBY": {2}, "DECRBY": {2}, "HINCRBY": {3}, "GETRANGE": {2, 3}, "SETRANGE": {2}, "SETBIT": {2, 3}, "GETBIT": {2},
	"LRANGE": {2, 3}, "LTRIM": {2, 3}, "LINDEX": {2}, "LSET": {2}, "LREM": {2}, "LPOP": {2}, "RPOP": {2}, "SPOP": {2},
	"ZRANGE": nil, "ZREVRANGE": {2, 3}, "ZREMRANGEBYRANK": {2, 3}, "ZPOPMIN": {2}, "ZPOPMAX": {2}, "SELECT": {1},
}

// plainIntegers takes those integers out of a command that Redis would not take,
// so that miniredis does not either.
func plainIntegers(name string, args []string) []string {
	copied := false
	for _, i := range integers[name] {
		if i >= len(args) {
			continue
		}
		if _, ok := integer(args[i]); !ok {
			if !copied {
				args, copied = append([]string(nil), args...), true
			}
			args[i] = "not an integer"
		}
	}
	return args
}

// ends is when a key ends, by the engine's clock.
func (c *call) ends(key string) (time.Time, bool) {
	ttl := c.db().TTL(key)
	return c.engine.now.Add(ttl), ttl != 0
}
