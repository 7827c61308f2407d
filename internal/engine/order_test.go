package engine

import "testing"

// Equal commands get equal answers, also where Redis promises no order: what a
// history shows must follow from the seed.
func TestAnswersFollowFromTheCommands(t *testing.T) {
	for _, args := range [][]string{
		{"SMEMBERS", "e1"}, {"SINTER", "e1", "e1"}, {"SUNION", "e1", "e2"}, {"SDIFF", "e1", "e2"}, {"SRANDMEMBER", "e1", "3"}, {"SPOP", "e1", "3"},
		{"SINTERSTORE", "e3", "e1", "e2"}, {"HGETALL", "h1"}, {"HKEYS", "h1"}, {"HVALS", "h1"}, {"HRANDFIELD", "h1", "3"},
		{"KEYS", "*"}, {"RANDOMKEY"}, {"SCAN", "0"}, {"SSCAN", "e1", "0"}, {"HSCAN", "h1", "0"}, {"ZSCAN", "z1", "0"},
		{"ZRANGE", "z1", "0", "-1"}, {"ZRANDMEMBER", "z1", "3"},
		{"EVAL", "return redis.call('smembers', KEYS[1])", "1", "e1"},
		{"EVAL", "return redis.call('hgetall', KEYS[1])", "1", "h1"},
		{"EVAL", "redis.setresp(3) return redis.call('smembers', KEYS[1])", "1", "e1"},
		{"EVAL", "redis.setresp(3) return redis.call('hgetall', KEYS[1])", "1", "h1"},
		{"EVAL", "redis.setresp(3) return cjson.encode(redis.call('hgetall', KEYS[1]))", "1", "h1"},
		{"EVAL", "return cjson.encode({a=1, b=2, c=3, d=4, [5]=5, e=6})", "0"},
		{"EVAL", "local all = '' for k, v in pairs({a=1, b=2, c=3, d=4, [5]=5, e=6}) do all = all .. k .. v end return all", "0"},
		{"EVAL", "return math.random(1000000)", "0"},
	} {
		for _, hello := range []string{"2", "3"} {
			first := ""
			for range 20 {
				e, s := mustEngine(t), NewSession()
				ask(e, s, "HELLO", hello)
				ask(e, s, "SADD", "e1", "9", "", "a", "b", "zz")
				ask(e, s, "SADD", "e2", "q", "a", "r", "9")
				ask(e, s, "HSET", "h1", "9", "1", "", "2", "a", "3", "b", "4", "zz", "5")
				ask(e, s, "ZADD", "z1", "1", "9", "1", "a", "1", "b", "1", "zz")
				got := ask(e, s, args...)
				if first == "" {
					first = got
				}
				if got != first {
					t.Errorf("RESP%s %q: %q, and %q", hello, args, first, got)
					break
				}
			}
		}
	}
}
