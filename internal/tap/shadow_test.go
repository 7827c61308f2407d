package tap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
	"lockpick/internal/redisd"
	"lockpick/internal/redistest"
	"lockpick/internal/require"
)

func mustServer(t *testing.T, c redisd.Config) *redisd.Server {
	t.Helper()
	p, err := redisd.Installed(t.Context())
	if errors.Is(err, redisd.ErrMissing) {
		require.Missing(t, "redis", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := redisd.NewHome()
	if err != nil {
		t.Fatal(err)
	}
	c.Name = "redis-1"
	s, err := redisd.Start(t.Context(), p, h, c)
	t.Cleanup(func() {
		if s != nil {
			err = s.Close()
		}
		if err := errors.Join(err, h.Close()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustDial(t *testing.T, addr string) *redistest.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := redistest.NewConn(nc)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func mustDo(t *testing.T, c *redistest.Conn, args ...string) string {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return string(reply)
}

// lab is a server with what follows it.
type lab struct {
	t      *testing.T
	server *redisd.Server
	direct *redistest.Conn
	start  time.Time

	mu      sync.Mutex
	shadow  *Shadow
	records []history.Record
	heard   chan string // the words that were echoed
	names   map[string]string
	last    []byte
	known   bool
}

func newLab(t *testing.T, c redisd.Config) *lab {
	t.Helper()
	l := &lab{t: t, server: mustServer(t, c), start: time.Now(), heard: make(chan string, 1), names: map[string]string{}}
	labels := keyspace.NewLabels()
	labels.KeepKey("k")
	var err error
	if l.shadow, err = NewShadow(labels, func(at time.Time, r history.Record) {
		r.T = at.Sub(l.start)
		l.records = append(l.records, r)
	}); err != nil {
		t.Fatal(err)
	}
	l.listen()
	l.direct = mustDial(t, l.server.Addr())
	return l
}

func (l *lab) listen() {
	l.t.Helper()
	m, err := Watch(l.t.Context(), l.server.Addr(), l.hear, func(error) {})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(m.Close)
}

func (l *lab) hear(line Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.EqualFold(line.Args[0], "CLIENT") && len(line.Args) == 3 {
		l.names[line.From] = line.Args[2]
	}
	reply, ok := l.shadow.Apply(line, l.names[line.From])
	if line.From != "lua" && line.Args[0] != "ECHO" {
		l.last, l.known = reply, ok
	}
	if line.Args[0] == "ECHO" {
		l.heard <- line.Args[1]
	}
}

// sync waits until everything is heard that was done by now.
func (l *lab) sync() {
	l.t.Helper()
	mustDo(l.t, l.direct, "ECHO", "now")
	select {
	case <-l.heard:
	case <-time.After(10 * time.Second):
		l.t.Fatal("MONITOR does not print what was done")
	}
}

// client is a connection with a name.
func (l *lab) client(name string) *redistest.Conn {
	c := mustDial(l.t, l.server.Addr())
	mustDo(l.t, c, "CLIENT", "SETNAME", name)
	return c
}

// tell tells the records in a few words each.
func (l *lab) tell() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, r := range l.records {
		fmt.Fprintf(&b, "%s %s", r.Op, r.Key)
		for _, w := range []string{r.Owner, r.Client, r.Text} {
			if w != "" {
				b.WriteString(" " + w)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// release is how most locks are given back.
const release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

// deeds are what locks do, and what is recorded of it.
var deeds = []struct {
	name string
	do   func(l *lab, a, b *redistest.Conn)
	want string
}{
	{"granted and refused", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SET", "k", "a1", "NX", "PX", "30000")
		mustDo(l.t, b, "SET", "k", "b1", "NX", "PX", "30000")
	}, "granted k a1 a\n"},
	{"another's is deleted", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SET", "k", "a1", "PX", "30000")
		mustDo(l.t, b, "DEL", "k")
	}, "granted k a1 a\ndeleted k a1 b\n"},
	{"a script releases", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SET", "k", "a1", "PX", "30000")
		mustDo(l.t, b, "EVAL", release, "1", "k", "b1")
		mustDo(l.t, a, "EVALSHA", strings.Trim(strings.SplitN(mustDo(l.t, l.direct, "SCRIPT", "LOAD", release), "\r\n", 3)[1], "\r\n"), "1", "k", "a1")
	}, "granted k a1 a\ndeleted k a1 a\n"},
	{"renewed and shortened", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SET", "k", "a1", "PX", "30000")
		mustDo(l.t, a, "PEXPIRE", "k", "60000")
		mustDo(l.t, b, "PEXPIRE", "k", "10000")
	}, "granted k a1 a\nrenewed k a1 a\nshortened k a1 b\n"},
	{"replaced and taken", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SET", "k", "a1")
		mustDo(l.t, b, "GETSET", "k", "b1")
		mustDo(l.t, b, "GETDEL", "k")
	}, "granted k a1 a\nreplaced k b1 b\ndeleted k b1 b\n"},
	{"a transaction is one stroke", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "MULTI")
		mustDo(l.t, b, "SET", "other", "1")
		mustDo(l.t, a, "SETNX", "k", "a1")
		mustDo(l.t, a, "PEXPIRE", "k", "30000")
		mustDo(l.t, a, "EXEC")
	}, "granted other 1 b\ngranted k a1 a\n"},
	{"a transaction that is given up", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "WATCH", "k")
		mustDo(l.t, a, "MULTI")
		mustDo(l.t, a, "SET", "k", "a1")
		mustDo(l.t, b, "SET", "k", "b1")
		if got := mustDo(l.t, a, "EXEC"); got != "*-1\r\n" {
			l.t.Errorf("EXEC = %q", got)
		}
		mustDo(l.t, a, "MULTI")
		mustDo(l.t, a, "SET", "k", "a2")
		mustDo(l.t, a, "DISCARD")
		mustDo(l.t, a, "DEL", "k")
	}, "granted k b1 b\ndeleted k b1 a\n"},
	{"another database is none of ours", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SELECT", "1")
		mustDo(l.t, a, "SET", "k", "a1")
		mustDo(l.t, b, "DEL", "k")
		mustDo(l.t, a, "SELECT", "0")
		mustDo(l.t, a, "SET", "k", "a2")
	}, "granted k a2 a\n"},
	{"evicted", func(l *lab, a, b *redistest.Conn) {
		mustDo(l.t, a, "SET", "k", "a1")
		l.sync()
		l.mu.Lock()
		l.shadow.Evict(time.Now(), "k", "evicted")
		l.mu.Unlock()
		mustDo(l.t, b, "DEL", "k")
	}, "granted k a1 a\ndeleted k a1 evicted\n"},
}

// What locks do is recorded.
func TestRecords(t *testing.T) {
	for _, tt := range deeds {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, redisd.Config{})
			tt.do(l, l.client("a"), l.client("b"))
			l.sync()
			if got := l.tell(); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// A key that expires has a record of the time of its end, whenever it is noticed.
func TestExpiryIsOfItsTime(t *testing.T) {
	l := newLab(t, redisd.Config{})
	a := l.client("a")
	mustDo(t, a, "SET", "k", "a1", "PX", "50")
	for mustDo(t, a, "EXISTS", "k") == ":1\r\n" {
	}
	mustDo(t, a, "SET", "k", "a2", "PX", "60000")
	l.sync()
	if got, want := l.tell(), "granted k a1 a\nexpired k a1\ngranted k a2 a\n"; got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
	if life := l.records[1].T - l.records[0].T; life < 49*time.Millisecond || life > 50*time.Millisecond {
		t.Errorf("it lived for %v", life)
	}
	if late := l.records[2].T - l.records[1].T; late < time.Millisecond {
		t.Errorf("the next one comes %v after its end; Redis lets a key live through the millisecond of its end", late)
	}
}

// A script that was loaded before anybody listened is known by what it calls.
func TestScriptThatIsNotKnown(t *testing.T) {
	s := mustServer(t, redisd.Config{})
	c := mustDial(t, s.Addr())
	sha := strings.Split(mustDo(t, c, "SCRIPT", "LOAD", "redis.call('set', KEYS[1], ARGV[1]) redis.call('pexpire', KEYS[1], 30000) return 7"), "\r\n")[1]
	l := &lab{t: t, server: s, start: time.Now(), heard: make(chan string, 1), names: map[string]string{}, direct: c}
	var err error
	if l.shadow, err = NewShadow(keyspace.NewLabels(), func(_ time.Time, r history.Record) { l.records = append(l.records, r) }); err != nil {
		t.Fatal(err)
	}
	l.listen()
	a := l.client("a")
	mustDo(t, a, "EVALSHA", sha, "1", "k", "a1")
	l.sync()
	if got, want := l.tell(), "granted k a1 a\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if l.records[0].TTL < 29*time.Second {
		t.Errorf("it was looked at in the midst of the script: its TTL is %v", l.records[0].TTL)
	}
	if l.shadow.Lost() != "" {
		t.Errorf("%s could not be followed", l.shadow.Lost())
	}
}

func TestCommandThatCannotBeFollowed(t *testing.T) {
	l := newLab(t, redisd.Config{})
	a := l.client("a")
	mustDo(t, a, "SADD", "e", "1", "2", "3")
	mustDo(t, a, "INFO", "server")
	l.sync()
	if got := l.shadow.Lost(); got != "" {
		t.Errorf("%s could not be followed", got)
	}
	mustDo(t, a, "SPOP", "e")
	l.sync()
	if got := l.shadow.Lost(); got != "SPOP" {
		t.Errorf("what could not be followed is %q", got)
	}
	l.mu.Lock()
	err := l.shadow.Sync(time.Now(), l.direct.Do, "looked")
	lost := l.shadow.Lost()
	l.mu.Unlock()
	if err != nil || lost != "" {
		t.Errorf("after Sync: %v, %q", err, lost)
	}
	if got := l.tell(); !strings.HasPrefix(got, "granted e ") || !strings.HasSuffix(got, " looked\n") {
		t.Errorf("got\n%s", got)
	}
}

// A server that comes up again has what it has.
func TestSync(t *testing.T) {
	l := newLab(t, redisd.Config{Persist: true})
	a := l.client("a")
	for _, args := range [][]string{
		{"SET", "s", "v", "PX", "3600000"}, {"HSET", "h", "f", "1", "g", "2"}, {"RPUSH", "l", "x", "y", "x"}, {"SADD", "e", "1", "2"}, {"ZADD", "z", "1.5", "m", "2", "n"},
	} {
		mustDo(t, a, args...)
	}
	written := time.Now()
	for time.Since(written) < 200*time.Millisecond {
		time.Sleep(10 * time.Millisecond)
	}
	mustDo(t, a, "SET", "young", "v")
	mustDo(t, a, "SET", "s", "w", "KEEPTTL")
	l.sync()
	before := l.tell()
	if err := errors.Join(l.server.Stop(100*time.Millisecond), l.server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	l.direct = mustDial(t, l.server.Addr())
	l.listen()
	l.mu.Lock()
	err := l.shadow.Sync(time.Now(), l.direct.Do, "lost")
	l.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimPrefix(l.tell(), before), "replaced s v lost\ndeleted young v lost\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	mustDo(t, l.client("b"), "DEL", "s", "h", "l", "e", "z")
	l.sync()
	if got := strings.Count(l.tell(), "deleted"); got != 6 {
		t.Errorf("%d keys were deleted of 6:\n%s", got, l.tell())
	}
}

func TestMonitorTellsOfItsEnd(t *testing.T) {
	for _, closes := range []bool{true, false} {
		s := mustServer(t, redisd.Config{})
		end := make(chan error, 1)
		m, err := Watch(t.Context(), s.Addr(), func(Line) {}, func(err error) { end <- err })
		if err != nil {
			t.Fatal(err)
		}
		if closes {
			m.Close()
		} else if err := s.Stop(0); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-end:
			if (err == nil) != closes {
				t.Errorf("closed %t: it ended with %v", closes, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it does not end")
		}
		m.Close()
	}
}

func TestWatchOfWhatIsNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("-NOAUTH Authentication required.\r\n"))
		}
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			<-t.Context().Done()
		}
	}()
	none := func(error) { t.Error("a monitor that never was has ended") }
	if _, err := Watch(t.Context(), l.Addr().String(), nil, none); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("a server that refuses: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := Watch(ctx, l.Addr().String(), nil, none); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that says nothing: %v", err)
	}
}

// load is random commands on several connections.
type load struct {
	rng *rand.Rand
}

func (g *load) pick(words ...string) string { return words[g.rng.IntN(len(words))] }

// command draws one; keys live for a few milliseconds only.
func (g *load) command() []string {
	ms := func() string { return strconv.Itoa(15 + g.rng.IntN(30)) }
	key := g.pick("s1", "s2", "s3")
	v := g.pick("token-00000001", "token-00000002", "x", "")
	patterns := [][]string{
		{"SET", key, v, "NX", "PX", ms()}, {"SET", key, v, "PX", ms()}, {"SET", key, v}, {"SET", key, v, "XX", "KEEPTTL"}, {"GET", key}, {"DEL", key}, {"GETDEL", key}, {"GETSET", key, v},
		{"PEXPIRE", key, ms()}, {"PEXPIRE", key, ms(), "GT"}, {"PERSIST", key}, {"EXPIRE", key, "1"}, {"PEXPIREAT", key, strconv.FormatInt(time.Now().UnixMilli()+int64(g.rng.IntN(20)), 10)},
		{"SET", key, v, "PXAT", strconv.FormatInt(time.Now().UnixMilli()+int64(g.rng.IntN(20)), 10)}, {"SET", key, v, "BADOPTION"}, {"SETNX", key, v}, {"APPEND", key, v}, {"RENAME", key, g.pick("s1", "s2", "s3")},
		{"HSET", "h1", g.pick("a", "b"), v}, {"HINCRBY", "h2", "n", "1"}, {"PEXPIRE", g.pick("h1", "h2", "l1", "z1", "e1"), ms()}, {"HDEL", "h1", "a"}, {"HGETALL", "h1"},
		{"RPUSH", "l1", v}, {"LPOP", "l1"}, {"LREM", "l1", "0", v}, {"SADD", "e1", v}, {"SREM", "e1", v}, {"ZADD", "z1", ms(), v}, {"ZREM", "z1", v}, {"ZPOPMIN", "z1"},
		{"EVAL", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", "1", key, v},
		{"EVAL", "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', 'fence') end return false", "1", key, v, ms()},
		{"EVALSHA", "ffffffffffffffffffffffffffffffffffffffff", "1", key}, {"INCR", "fence"}, {"NONSENSE"}, {"GET"}, {"SELECT", g.pick("0", "0", "0", "1")}, {"HELLO", g.pick("2", "3")},
		{"WATCH", key}, {"UNWATCH"}, {"PUBLISH", "c", v}, {"WAIT", "0", "1"}, {"EXISTS", key}, {"PTTL", key}, {"FLUSHDB"},
	}
	return patterns[g.rng.IntN(len(patterns))]
}

// The shadow has the keys that the server has, whatever clients do.
func TestShadowFollows(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			follow(t, &load{rng: rand.New(rand.NewPCG(seed, 0))})
		})
	}
}

func follow(t *testing.T, g *load) {
	t.Helper()
	l := newLab(t, redisd.Config{})
	var conns []*redistest.Conn
	for i := range 4 {
		conns = append(conns, l.client(fmt.Sprint("client-", i)))
	}
	for n := range 1000 {
		l.correct()
		c := conns[g.rng.IntN(len(conns))]
		switch g.rng.IntN(20) {
		case 0:
			mustDo(t, c, "MULTI")
			for range g.rng.IntN(4) {
				mustDo(t, c, g.command()...)
				if g.rng.IntN(3) == 0 {
					if other := conns[g.rng.IntN(len(conns))]; other != c {
						mustDo(t, other, g.command()...)
					}
				}
			}
			mustDo(t, c, g.pick("EXEC", "EXEC", "DISCARD"))
		case 1:
			time.Sleep(time.Duration(g.rng.IntN(5)) * time.Millisecond) // keys are to expire
		default:
			mustDo(t, c, g.command()...)
		}
		if n%50 == 49 {
			l.compare()
		}
		if t.Failed() {
			return
		}
	}
	if got := l.shadow.Lost(); got != "" {
		t.Errorf("%s could not be followed", got)
	}
}

// correct tells the shadow when keys really end, and then waits until none is about
// to: whether it still is there when a command comes cannot be told.
func (l *lab) correct() {
	l.t.Helper()
	l.sync()
	l.mu.Lock()
	guessed := l.shadow.Guessed()
	l.mu.Unlock()
	for _, key := range guessed {
		end, err := number([]byte(mustDo(l.t, l.direct, "PEXPIRETIME", key)))
		if err != nil {
			l.t.Fatal(err)
		}
		if end > 0 {
			l.mu.Lock()
			l.shadow.Correct(key, time.UnixMilli(end))
			l.mu.Unlock()
		}
	}
	const near = 4 * time.Millisecond
	for {
		l.mu.Lock()
		next := l.shadow.keys.NextEnd()
		l.mu.Unlock()
		if left := time.Until(next); next.IsZero() || left > near || left < -near {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// compare compares all keys of database 0. The server is asked in one stroke, as
// keys end while one speaks.
func (l *lab) compare() {
	l.t.Helper()
	const all = `local r = {}
		for _, k in ipairs(redis.call('keys', '*')) do
			local t, v = redis.call('type', k).ok, nil
			if t == 'string' then v = redis.call('get', k) end
			if t == 'hash' then v = redis.call('hlen', k) end
			if t == 'list' then v = table.concat(redis.call('lrange', k, 0, -1), ',') end
			if t == 'set' then v = redis.call('scard', k) end
			if t == 'zset' then v = table.concat(redis.call('zrange', k, 0, -1, 'WITHSCORES'), ',') end
			table.insert(r, k .. ' ' .. v .. ' ' .. redis.call('pexpiretime', k))
		end
		table.sort(r) return r`
	l.correct()
	want := mustDo(l.t, l.direct, "EVAL", all, "0")
	l.sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := string(l.last); !l.known || got != want { // the shadow has executed the same script
		l.t.Errorf("the shadow has\n%s\nthe server has\n%s", lines(got), lines(want))
	}
}

// lines are the elements of a reply.
func lines(reply string) string {
	parts := strings.Split(reply, "\r\n")
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.HasPrefix(s, "$") || strings.HasPrefix(s, "*") }), "\n")
}
