package engine

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// ask runs a command on an engine and returns the reply as it goes over the wire.
func ask(e *Engine, s *Session, args ...string) string {
	e.Execute(s, slices.Clone(args))
	return string(s.Reply())
}

// native runs a command as miniredis alone would.
func native(e *Engine, args ...string) string {
	var b bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&b))
	e.toMiniredis(peer, args)
	peer.Flush()
	return b.String()
}

func mustEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	e.Advance(time.Unix(1000, 0))
	return e
}

// scriptBodies are the shapes that lock scripts have, and every conversion
// between Lua and RESP.
var scriptBodies = []string{
	`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`,
	`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`,
	`return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
	`if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[1], 1); redis.call('pexpire', KEYS[1], ARGV[2]); return 1 end return nil`,
	`local c = redis.call('hincrby', KEYS[1], ARGV[1], -1) if c > 0 then return c end redis.call('del', KEYS[1]) return 0`,
	`return redis.call('pttl', KEYS[1])`,
	`return redis.call('get', KEYS[1])`,
	`return redis.call('hgetall', KEYS[1])`,
	`return {1, 2.9, 'three', {4, 'five'}, false, 6}`,
	`return {1, nil, 3}`,
	`return true`, `return false`, `return nil`, `return 3.99`, `return -1`, `return 'text'`, `return`,
	`return redis.status_reply('FINE')`, `return redis.error_reply('NOPE really')`, `return {ok = 'YES'}`, `return {err = 'NO sir'}`,
	`local r = redis.pcall('incr', KEYS[1]) if type(r) == 'table' and r.err then return 'failed' end return r`,
	`redis.call('rpush', KEYS[1], ARGV[1], ARGV[2]) return redis.call('lrange', KEYS[1], 0, -1)`,
	`redis.call('zadd', KEYS[1], 5, ARGV[1]) return redis.call('zrange', KEYS[1], 0, -1, 'WITHSCORES')`,
	`return redis.call('incr', KEYS[1])`,
	`return #KEYS .. ':' .. #ARGV`,
	`return redis.sha1hex(ARGV[1])`,
	`return tostring(tonumber(ARGV[2]) + 1)`,
	`return cjson.encode({a = 1})`,
	`return string.format('%s-%d', ARGV[1], 7)`,
	`return table.concat({'a', 'b'}, ',')`,
	`return math.floor(3.7)`,
}

// The scripts that run here must answer as those that miniredis runs.
func TestScriptsAnswerAsMiniredisDoes(t *testing.T) {
	ours, theirs := mustEngine(t), mustEngine(t)
	rng := rand.New(rand.NewPCG(1, 2))
	s := NewSession()
	for i := range 3000 {
		body := scriptBodies[rng.IntN(len(scriptBodies))]
		args := []string{"EVAL", body, "1", fmt.Sprintf("k%d", rng.IntN(3)), fmt.Sprintf("v%d", rng.IntN(2)), "5000"}
		if rng.IntN(4) == 0 {
			args = []string{"DEL", "k0", "k1", "k2"}
		}
		if i%5 == 0 { // a type that the script does not expect
			args = []string{"RPUSH", fmt.Sprintf("k%d", rng.IntN(3)), "x"}
		}
		got, want := ask(ours, s, args...), native(theirs, args...)
		if strings.HasPrefix(got, "-") && strings.HasPrefix(want, "-") {
			continue // both fail; the words are compared with a real Redis' below
		}
		if got != want {
			t.Fatalf("%q\n = %q here and %q there", args, got, want)
		}
	}
}

func TestScriptErrors(t *testing.T) {
	e := mustEngine(t)
	for _, tt := range []struct {
		name string
		args []string
		want string // the beginning of the reply
	}{
		{"syntax", []string{"EVAL", "retrun 1", "0"}, "-ERR Error compiling script (new function): user_script"},
		{"runtime", []string{"EVAL", "local n = tonumber(nil) if n <= 0 then return 1 end", "0"}, "-ERR "},
		{"command", []string{"EVAL", "return redis.call('incr', KEYS[1])", "1", "list"}, "-WRONGTYPE Operation against a key holding the wrong kind of value script: "},
		{"unknown command", []string{"EVAL", "return redis.call('nonsense')", "0"}, "-ERR Unknown Redis command called from script script: "},
		{"refused command", []string{"EVAL", "return redis.call('subscribe', 'c')", "0"}, "-ERR This Redis command is not allowed from script"},
		{"no arguments", []string{"EVAL", "return redis.call()", "0"}, "-ERR Please specify at least one argument"},
		{"table as argument", []string{"EVAL", "return redis.call('get', {})", "0"}, "-ERR Lua redis lib command arguments must be strings or integers"},
		{"global", []string{"EVAL", "oops = 1", "0"}, "-ERR "},
		{"unknown global", []string{"EVAL", "return nothing", "0"}, "-ERR "},
		{"no such script", []string{"EVALSHA", "ffffffffffffffffffffffffffffffffffffffff", "0"}, "-NOSCRIPT "},
		{"keys not a number", []string{"EVAL", "return 1", "x"}, "-ERR value is not an integer or out of range"},
		{"negative keys", []string{"EVAL", "return 1", "-1"}, "-ERR Number of keys can't be negative"},
		{"too many keys", []string{"EVAL", "return 1", "2", "a"}, "-ERR Number of keys can't be greater than number of args"},
		{"too few words", []string{"EVAL", "return 1"}, "-ERR wrong number of arguments for 'eval' command"},
		{"endless recursion", []string{"EVAL", "local function f() return 1 + f() end return f()", "0"}, "-ERR "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewSession()
			ask(e, s, "RPUSH", "list", "x")
			got := ask(e, s, tt.args...)
			if !strings.HasPrefix(got, tt.want) || strings.Count(got, "\r\n") != 1 {
				t.Errorf("%q, want one line that begins with %q", got, tt.want)
			}
			if again := ask(e, s, "EVAL", "return 'fine'", "0"); again != "$4\r\nfine\r\n" {
				t.Errorf("the next script answers %q", again)
			}
		})
	}
}

func TestScriptCache(t *testing.T) {
	e := mustEngine(t)
	s := NewSession()
	body := "return 'cached'"
	sha := sha1Hex(body)
	want := "$6\r\ncached\r\n"
	if got := ask(e, s, "EVALSHA", sha, "0"); !strings.HasPrefix(got, "-NOSCRIPT") {
		t.Errorf("before it is known: %q", got)
	}
	ask(e, s, "EVAL", body, "0")
	if got := ask(e, s, "EVALSHA", strings.ToUpper(sha), "0"); got != want {
		t.Errorf("after EVAL: %q", got)
	}
	if got := ask(e, s, "SCRIPT", "EXISTS", sha, "0000"); got != "*2\r\n:1\r\n:0\r\n" {
		t.Errorf("SCRIPT EXISTS: %q", got)
	}
	ask(e, s, "SCRIPT", "FLUSH")
	if got := ask(e, s, "EVALSHA", sha, "0"); !strings.HasPrefix(got, "-NOSCRIPT") {
		t.Errorf("after SCRIPT FLUSH: %q", got)
	}
	ask(e, s, "SCRIPT", "LOAD", body)
	if got := ask(e, s, "EVALSHA", sha, "0"); got != want {
		t.Errorf("after SCRIPT LOAD: %q", got)
	}
	e.Wipe()
	if got := ask(e, s, "EVALSHA", sha, "0"); !strings.HasPrefix(got, "-NOSCRIPT") {
		t.Errorf("after a restart: %q", got)
	}
}

// In a transaction scripts wait for EXEC, with what else was queued.
func TestScriptsInTransaction(t *testing.T) {
	e := mustEngine(t)
	s := NewSession()
	for _, args := range [][]string{
		{"EVAL", "return redis.call('get', KEYS[1])", "1", "k"},
		{"MULTI"},
		{"SET", "k", "v"},
		{"EVALSHA", sha1Hex("return redis.call('get', KEYS[1])"), "1", "k"},
		{"EXEC"},
		{"EVAL", "return redis.call('get', KEYS[1])", "1", "k"},
	} {
		e.Execute(s, args)
	}
	want := "$-1\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$1\r\nv\r\n$1\r\nv\r\n"
	if got := string(s.Reply()); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// BenchmarkEval compares the scripts here with those of miniredis, which makes a
// Lua state for each.
func BenchmarkEval(b *testing.B) {
	body := scriptBodies[0]
	for _, bench := range []struct {
		name string
		eval func(e *Engine, args ...string) string
	}{
		{"here", func(e *Engine, args ...string) string { return ask(e, NewSession(), args...) }},
		{"miniredis", native},
	} {
		b.Run(bench.name, func(b *testing.B) {
			e := mustEngine(b)
			b.ReportAllocs()
			for b.Loop() {
				if got := bench.eval(e, "EVAL", body, "1", "k", "v"); got != ":0\r\n" {
					b.Fatalf("%q", got)
				}
			}
		})
	}
}
