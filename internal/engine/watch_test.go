package engine

import "testing"

// A watched key is touched by what changes it in Redis, and by nothing else.
func TestWatchedKeysAreTouchedAsInRedis(t *testing.T) {
	d := newDuel(t)
	for _, args := range [][]string{
		{"SET", "s1", "v"}, {"SET", "s1", "v", "NX"}, {"SET", "s1", "v", "XX", "KEEPTTL"}, {"GETSET", "s1", "v"}, {"GETDEL", "s1"},
		{"GETEX", "s1", "PX", "5000"}, {"GETEX", "s1", "PERSIST"}, {"GETEX", "s1"}, {"APPEND", "s1", ""}, {"SETRANGE", "s1", "0", ""},
		{"SETBIT", "s1", "0", "0"}, {"SETBIT", "s1", "0", "1"}, {"SETBIT", "s1", "1", "1"}, {"SETBIT", "s1", "7", "0"}, {"SETBIT", "s1", "8", "0"}, {"SETBIT", "none", "0", "0"}, {"SETBIT", "h1", "0", "0"}, {"SETBIT", "s1", "0", "2"}, {"SETBIT", "s1", "0", "00"},
		{"MSETNX", "s1", "1"}, {"MSET", "s1", "v"}, {"INCRBY", "s2", "0"}, {"INCRBYFLOAT", "s2", "0"},
		{"PERSIST", "s1"}, {"PERSIST", "h1"}, {"EXPIRE", "s1", "100"}, {"EXPIRE", "h1", "100", "XX"}, {"PEXPIRE", "s1", "0"}, {"EXPIRE", "none", "1"},
		{"DEL", "s1"}, {"DEL", "none"}, {"UNLINK", "s1"}, {"RENAME", "s1", "s1"}, {"RENAME", "s1", "none"}, {"COPY", "s1", "none"}, {"COPY", "s1", "s2", "REPLACE"},
		{"HSET", "h1", "a", "1"}, {"HSETNX", "h1", "a", "1"}, {"HDEL", "h1", "none"}, {"HDEL", "h1", "a"}, {"HDEL", "h1", "a", "q"}, {"HINCRBY", "h1", "a", "0"},
		{"SADD", "e1", "a"}, {"SADD", "e1", "b"}, {"SREM", "e1", "none"}, {"SREM", "e1", "a"}, {"SMOVE", "e1", "e1", "a"}, {"SMOVE", "e1", "e2", "a"}, {"SMOVE", "e1", "e2", "none"},
		{"ZADD", "z1", "1", "a"}, {"ZADD", "z1", "2", "a"}, {"ZREM", "z1", "none"}, {"ZREM", "z1", "a"}, {"ZPOPMIN", "z1"}, {"ZREMRANGEBYSCORE", "z1", "1", "1"}, {"ZREMRANGEBYRANK", "z1", "0", "0"}, {"ZREM", "z1", "a", "q"}, {"ZINCRBY", "z1", "0", "a"}, {"ZPOPMIN", "z1", "0"}, {"ZREMRANGEBYSCORE", "z1", "50", "60"},
		{"LREM", "l1", "0", "none"}, {"LREM", "l1", "0", "a"}, {"LTRIM", "l1", "0", "-1"}, {"LTRIM", "l1", "0", "0"}, {"LINSERT", "l1", "BEFORE", "a", "x"}, {"RPOP", "l1"}, {"RPUSH", "l1", "x"}, {"LPOP", "l1", "2"}, {"LSET", "l1", "0", "a"}, {"LPOP", "l1", "0"}, {"LPOP", "l1"},
		{"RPOPLPUSH", "l1", "l1"}, {"LINSERT", "l1", "BEFORE", "none", "x"}, {"LPUSHX", "none", "x"}, {"LRANGE", "l1", "0", "-1"},
		{"FLUSHALL"}, {"FLUSHDB"}, {"SCRIPT", "FLUSH"}, {"SELECT", "1"},
		{"EVAL", "return redis.call('get', 's1')", "0"}, {"EVAL", "return redis.call('set', 's1', 'x')", "0"},
	} {
		steps := []step{
			{args: []string{"SET", "s1", "v", "PX", "7001"}}, {args: []string{"SET", "s2", "5"}}, {args: []string{"SADD", "e1", "a", "q"}},
			{args: []string{"ZADD", "z1", "1", "a", "2", "q"}}, {args: []string{"HSET", "h1", "a", "1", "q", "1"}}, {args: []string{"RPUSH", "l1", "a", "q"}},
			{conn: 1, args: []string{"WATCH", "s1", "s2", "e1", "z1", "h1", "l1", "none"}},
			{args: args},
			{conn: 1, args: []string{"MULTI"}},
			{conn: 1, args: []string{"EXEC"}},
		}
		if m := d.fight(steps); m != nil {
			t.Errorf("%q: lockpick %q, redis %q", args, m.engine, m.real)
		}
	}
}
