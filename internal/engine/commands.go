package engine

import (
	"fmt"
	"strings"
)

// arities are the commands of Redis 7.0, besides those of its own tests and of
// its replicas, by how many words they have, their name counted; a negative
// number is the least. (COMMAND INFO of redis-server.)
var arities = byName(map[int]string{
	-8: "GEOSEARCHSTORE",
	-7: "GEOSEARCH XREADGROUP",
	-6: "GEORADIUS GEORADIUS_RO MIGRATE XAUTOCLAIM XCLAIM",
	-5: "BLMPOP BZMPOP GEOADD GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO XADD ZRANGESTORE",
	-4: "BITOP GEODIST HMSET HSET LMPOP RESTORE XACK XRANGE XREAD XREVRANGE XTRIM ZADD ZDIFFSTORE ZINTERSTORE " +
		"ZMPOP ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZUNIONSTORE",
	-3: "BITPOS BLPOP BRPOP BZPOPMAX BZPOPMIN COPY EVAL EVAL_RO EVALSHA EVALSHA_RO EXPIRE EXPIREAT FCALL FCALL_RO " +
		"HDEL HMGET HSCAN LCS LPOS LPUSH LPUSHX MSET MSETNX PEXPIRE PEXPIREAT RPUSH RPUSHX SADD SDIFFSTORE SET " +
		"SINTERCARD SINTERSTORE SMISMEMBER SREM SSCAN SUNIONSTORE XDEL XPENDING XSETID ZDIFF ZINTER ZINTERCARD " +
		"ZMSCORE ZREM ZSCAN ZUNION CLIENT|KILL CLIENT|PAUSE CLIENT|TRACKING CLIENT|UNBLOCK MEMORY|USAGE SCRIPT|EXISTS",
	-2: "ACL AUTH BITCOUNT BITFIELD BITFIELD_RO CLIENT CLUSTER CONFIG DEBUG DEL EXISTS FUNCTION GEOHASH GEOPOS GETEX " +
		"HRANDFIELD LATENCY LPOP MEMORY MGET MODULE OBJECT PFADD PFCOUNT PFMERGE PSUBSCRIBE PUBSUB RPOP SCAN SCRIPT " +
		"SDIFF SINTER SLOWLOG SORT SORT_RO SPOP SRANDMEMBER SSUBSCRIBE SUBSCRIBE SUNION TOUCH UNLINK WATCH XGROUP " +
		"XINFO ZPOPMAX ZPOPMIN ZRANDMEMBER CLIENT|LIST PUBSUB|CHANNELS PUBSUB|NUMSUB PUBSUB|SHARDCHANNELS " +
		"PUBSUB|SHARDNUMSUB SCRIPT|FLUSH",
	-1: "BGSAVE COMMAND FAILOVER FLUSHALL FLUSHDB HELLO INFO LOLWUT PING PUNSUBSCRIBE QUIT SHUTDOWN SUNSUBSCRIBE " +
		"UNSUBSCRIBE",
	1: "BGREWRITEAOF DBSIZE DISCARD EXEC LASTSAVE MONITOR MULTI RANDOMKEY READONLY READWRITE RESET ROLE SAVE TIME UNWATCH",
	2: "DECR DUMP ECHO EXPIRETIME GET GETDEL HGETALL HKEYS HLEN HVALS INCR KEYS LLEN PERSIST PEXPIRETIME PTTL SCARD " +
		"SELECT SMEMBERS STRLEN TTL TYPE XLEN ZCARD CLIENT|GETNAME CLIENT|GETREDIR CLIENT|HELP CLIENT|ID CLIENT|INFO " +
		"CLIENT|TRACKINGINFO CLIENT|UNPAUSE MEMORY|DOCTOR MEMORY|HELP MEMORY|MALLOC-STATS MEMORY|PURGE MEMORY|STATS " +
		"OBJECT|HELP PUBSUB|HELP PUBSUB|NUMPAT SCRIPT|HELP SCRIPT|KILL",
	3: "APPEND DECRBY GETBIT GETSET HEXISTS HGET HSTRLEN INCRBY INCRBYFLOAT LINDEX MOVE PUBLISH RENAME RENAMENX " +
		"REPLICAOF RPOPLPUSH SETNX SISMEMBER SLAVEOF SPUBLISH SWAPDB WAIT ZRANK ZREVRANK ZSCORE CLIENT|CACHING " +
		"CLIENT|NO-EVICT CLIENT|REPLY CLIENT|SETNAME OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME OBJECT|REFCOUNT " +
		"SCRIPT|DEBUG SCRIPT|LOAD",
	4: "BRPOPLPUSH GETRANGE HINCRBY HINCRBYFLOAT HSETNX LRANGE LREM LSET LTRIM PSETEX SETBIT SETEX SETRANGE SMOVE " +
		"SUBSTR ZCOUNT ZINCRBY ZLEXCOUNT ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE",
	5: "LINSERT LMOVE",
	6: "BLMOVE",
})

// newer are the commands that came after Redis 7.0 and that miniredis has.
var newer = byName(map[int]string{-2: "DELEX", -5: "HPERSIST HPTTL HTTL", -6: "HEXPIRE HSETEX"})

// notFromScripts are the commands that Redis refuses in a script.
var notFromScripts = byName(map[int]string{0: "AUTH BGREWRITEAOF BGSAVE BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN CLIENT CONFIG " +
	"DEBUG DISCARD EVAL EVAL_RO EVALSHA EVALSHA_RO EXEC FAILOVER FCALL FCALL_RO HELLO MONITOR MULTI PSUBSCRIBE " +
	"PUNSUBSCRIBE QUIT REPLICAOF RESET ROLE SAVE SCRIPT SHUTDOWN SLAVEOF SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE " +
	"UNSUBSCRIBE UNWATCH WAIT WATCH"})

// containers are the commands whose second word is a command of its own and
// listed in arities.
var containers = byName(map[int]string{0: "CLIENT MEMORY OBJECT PUBSUB SCRIPT"})

// unsupported are commands that miniredis has and that are not carried out: those
// that wait or that make the server speak first, which in miniredis happens in
// goroutines of its own, in an order that does not follow from the seed; those
// that know the server, some of which the engine's owner answers; and those of
// which miniredis knows a part. Better no answer than a wrong one.
var unsupported = byName(map[int]string{0: "BLMOVE BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN CLUSTER EVALSHA_RO EVAL_RO INFO OBJECT PSUBSCRIBE " +
	"PUBSUB PUNSUBSCRIBE SUBSCRIBE SWAPDB UNSUBSCRIBE WAIT XREAD XREADGROUP"})

// byName turns a list of names around.
func byName(lists map[int]string) map[string]int {
	all := map[string]int{}
	for n, names := range lists {
		for _, name := range strings.Fields(names) {
			all[name] = n
		}
	}
	return all
}

// Misuse says what Redis says to a command that there is not, or not with so many
// words, "" when there is nothing to say. name is that of args, in capitals.
func Misuse(name string, args []string) string {
	arity, known := arities[name]
	if !known {
		if arity, known = newer[name]; !known {
			return unknownCommand(args)
		}
	}
	if !fits(arity, args) {
		return arityError(name)
	}
	if _, ok := containers[name]; ok {
		sub := name + "|" + strings.ToUpper(args[1])
		arity, known := arities[sub]
		switch {
		case !known:
			return fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", args[1], name)
		case !fits(arity, args):
			return arityError(sub)
		}
	}
	return ""
}

// Known reports whether Redis 7.0 has a command of that name, in capitals.
func Known(name string) bool {
	_, known := arities[name]
	return known
}

// SetsUp reports whether a command of that name, in capitals, sets a connection
// up. A client library sends these of its own accord: they are not its user's
// doing, and touch no key.
func SetsUp(name string) bool { return setUp[name] }

var setUp = map[string]bool{"HELLO": true, "CLIENT": true, "AUTH": true, "SELECT": true, "COMMAND": true, "READONLY": true}

func fits(arity int, args []string) bool {
	return arity >= 0 && len(args) == arity || arity < 0 && len(args) >= -arity
}

func arityError(name string) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
}

func unknownCommand(args []string) string {
	const most = 128 // letters of the arguments, as long as Redis repeats them
	var rest strings.Builder
	for _, a := range args[1:] {
		if rest.Len() >= most {
			break
		}
		a, _, _ = strings.Cut(a, "\x00") // as C does
		fmt.Fprintf(&rest, "'%s' ", a[:min(len(a), most-rest.Len())])
	}
	return fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", args[0][:min(len(args[0]), most)], rest.String())
}
