package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/internal/redistest"
)

var (
	seeds = flag.Int("sequences", 0, "compare so many random sequences of commands with a real Redis (0: 300, or 20000 when LOCKPICK_LONG is set)")
	seed  = flag.Uint64("seed", 1, "of the first of these sequences")
)

// TestAnswersAsRedis gives random sequences of commands to an engine and to a real
// redis-server and compares every reply, byte for byte. A clock that both share is
// moved between commands, so that times to live, too, are the same to the
// millisecond. What is let pass is listed in docs/fidelity.md.
func TestAnswersAsRedis(t *testing.T) {
	n := *seeds
	if n == 0 {
		n = 300
		if os.Getenv("LOCKPICK_LONG") != "" {
			n = 20000
		}
	}
	d := newDuel(t)
	reported := map[string]bool{}
	for i := range n {
		rng := rand.New(rand.NewPCG(*seed+uint64(i), 0))
		g := &generator{rng: rng, now: epoch}
		steps := g.sequence(40)
		diff := d.fight(steps)
		if diff == nil {
			continue
		}
		steps, diff = d.shrink(steps, diff)
		if reported[diff.kind()] {
			continue
		}
		reported[diff.kind()] = true
		t.Errorf("seed %d:\n%s", *seed+uint64(i), diff.story(steps))
		if len(reported) >= maxReported {
			t.Fatal("and perhaps more")
		}
	}
}

// maxReported is how many differences are worth a report.
const maxReported = 25

// epoch is when every sequence begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// duel is an engine and a real server that get the same commands.
type duel struct {
	t     *testing.T
	real  *redistest.Server
	conns [connections]*redistest.Conn
	own   [2]*redistest.Conn // for what is not compared, one for each database
}

func newDuel(t *testing.T) *duel {
	t.Helper()
	d := &duel{t: t, real: redistest.StartAt(t, epoch)}
	for i := range d.own {
		d.own[i] = d.real.Dial(t)
		d.ask(d.own[i], "SELECT", strconv.Itoa(i))
	}
	for i := range d.conns {
		d.conns[i] = d.real.Dial(t)
	}
	return d
}

// mismatch is the first step that was answered differently.
type mismatch struct {
	at           int
	args         []string
	engine, real string
}

// kind is the same for differences that look alike.
func (d *mismatch) kind() string {
	words := d.args
	if strings.EqualFold(words[0], "EVAL") && len(words) > 3 {
		words = words[3:]
	}
	short := func(s string) string {
		line, _, _ := strings.Cut(s, "\r")
		if strings.HasPrefix(line, "-") && len(line) > 12 {
			return line[:12]
		}
		return line[:min(1, len(line))]
	}
	return fmt.Sprint(strings.ToUpper(words[0]), short(d.engine), short(d.real))
}

func (d *mismatch) story(steps []step) string {
	var b strings.Builder
	for _, s := range steps[:d.at+1] {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	fmt.Fprintf(&b, "  lockpick %q\n  redis    %q", d.engine, d.real)
	return b.String()
}

// fight runs the steps on both sides and returns the first difference, nil when
// there is none.
func (d *duel) fight(steps []step) *mismatch {
	d.t.Helper()
	now := epoch
	d.setTime(now)
	for _, c := range d.conns {
		d.ask(c, "RESET")
	}
	d.ask(d.own[0], "FLUSHALL")
	d.ask(d.own[0], "SCRIPT", "FLUSH")
	e := mustEngine(d.t)
	e.Advance(now)
	var ours [connections]*Session
	var queues [connections][][]string
	words := slices.Concat([]string{"EXISTS"}, anyKeys) // and whatever else may have become a key
	for _, s := range steps {
		words = append(words, s.args...)
	}
	for i := range ours {
		ours[i] = NewSession()
	}
	for i, s := range steps {
		wait := between(e, s.wait)
		if wait > 0 {
			now = now.Add(wait)
			d.setTime(now)
			e.Advance(now)
		}
		if wait > 0 || slices.ContainsFunc(s.args, func(a string) bool { return strings.EqualFold(a, "DBSIZE") || strings.EqualFold(a, "EXEC") }) {
			for _, own := range d.own {
				d.ask(own, words...) // Redis also counts what it has not yet seen to have ended
			}
		}
		want := d.ask(d.conns[s.conn], s.args...)
		got := ask(e, ours[s.conn], s.args...)
		if e.Refused() != "" {
			return nil // the run that asked for it fails, and says so
		}
		queue := &queues[s.conn]
		w, g := normal(s.args, *queue, want), normal(s.args, *queue, got)
		if w != g {
			return &mismatch{at: i, args: s.args, engine: g, real: w}
		}
		switch {
		case want == "+QUEUED\r\n":
			*queue = append(*queue, s.args)
		case strings.EqualFold(s.args[0], "EXEC"), strings.EqualFold(s.args[0], "DISCARD"):
			*queue = nil
		}
	}
	return nil
}

// between moves a time away from those at which a key ends. Redis lets a key live
// through the millisecond of its end, the engine does not.
func between(e *Engine, wait time.Duration) time.Duration {
	for again := wait > 0; again; {
		again = false
		for _, k := range anyKeys {
			if e.DB(0).TTL(k) == wait || e.DB(1).TTL(k) == wait {
				wait += time.Millisecond
				again = true
			}
		}
	}
	return wait
}

func (d *duel) setTime(now time.Time) {
	d.t.Helper()
	if err := d.real.SetTime(now); err != nil {
		d.t.Fatal(err)
	}
}

func (d *duel) ask(c *redistest.Conn, args ...string) string {
	d.t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		d.t.Fatalf("%q: %v", args, err)
	}
	return string(reply)
}

// shrink leaves steps out of a sequence as long as there still is a difference.
func (d *duel) shrink(steps []step, diff *mismatch) ([]step, *mismatch) {
	steps = steps[:diff.at+1]
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size < len(steps); {
			fewer := slices.Concat(steps[:from], steps[from+size:])
			if again := d.fight(fewer); again != nil {
				steps, diff = fewer[:again.at+1], again
			} else {
				from += size
			}
		}
	}
	for i := range steps {
		if steps[i].wait == 0 {
			continue
		}
		sooner := slices.Clone(steps)
		sooner[i].wait = 0
		if again := d.fight(sooner); again != nil && again.at == len(steps)-1 {
			steps, diff = sooner, again
		}
	}
	return steps, diff
}

// unordered are the commands whose elements Redis promises in no order, with how
// many make one.
var unordered = map[string]int{
	"HGETALL": 2, "HKEYS": 1, "HVALS": 1, "SMEMBERS": 1, "KEYS": 1, "SINTER": 1, "SUNION": 1, "SDIFF": 1,
}

// normal makes a reply comparable: it takes out of it what cannot be equal.
func normal(args []string, queue [][]string, reply string) string {
	name := strings.ToUpper(args[0])
	switch {
	case reply == "", name == "SCAN" && !strings.Contains(reply, "$1\r\n0\r\n"), name == "SCAN" && (args[1] != "0" || len(args) > 2):
		return ""
	case lives[name] && strings.HasPrefix(reply, ":"):
		if n, err := strconv.ParseInt(strings.TrimSpace(reply[1:]), 10, 64); err == nil && n >= int64((forever-24*time.Hour)/time.Second) {
			return ":for ever\r\n"
		}
	}
	if name == "EXEC" && strings.HasPrefix(reply, "*") {
		head, rest, _ := strings.Cut(reply, "\r\n")
		out := head + "\r\n"
		for _, queued := range queue {
			var one string
			one, rest = splitReply(rest)
			out += normal(queued, nil, one)
		}
		return out + rest
	}
	if relayed(args) {
		if strings.EqualFold(args[3], "RANDOMKEY") {
			return ""
		}
		const typed = "*2\r\n$5\r\ntable\r\n"
		if table, ok := strings.CutPrefix(reply, typed); ok {
			return typed + normal(args[3:], nil, table)
		}
		return normal(args[3:], nil, reply)
	}
	reply = luaWords.ReplaceAllString(reply, "${1}(of Lua)${2}")
	if i := strings.Index(reply, compileFailure); i >= 0 {
		return reply[:i+len(compileFailure)] // the rest are the words of another compiler
	}
	switch {
	case name == "CLIENT", name == "HELLO":
		return connectionID.replace(reply)
	case name == "RANDOMKEY" && reply[0] == '$' && reply != "$-1\r\n":
		return "$some key\r\n"
	case name == "SCAN" && strings.HasPrefix(reply, "*2\r\n$1\r\n0\r\n"):
		return sorted(strings.TrimPrefix(reply, "*2\r\n$1\r\n0\r\n"), 1)
	case name == "EVAL" || name == "EVALSHA":
		if each := scattered(args[1]); each > 0 {
			return sorted(reply, each)
		}
	case unordered[name] > 0:
		return sorted(reply, unordered[name])
	}
	return reply
}

// scattered says how many elements of a script's answer make one, of which Redis
// promises no order; 0 when it promises one. The script may be given by its SHA-1.
func scattered(script string) int {
	for _, body := range allBodies {
		if body != script && !strings.EqualFold(sha1Hex(body), script) {
			continue
		}
		for name, each := range unordered {
			if strings.HasSuffix(body, fmt.Sprintf("return redis.call('%s', KEYS[1])", strings.ToLower(name))) {
				return each
			}
		}
	}
	return 0
}

// lives are the commands that say how long a key lives.
var lives = map[string]bool{"TTL": true, "PTTL": true, "EXPIRETIME": true, "PEXPIRETIME": true}

const compileFailure = "Error compiling script (new function): "

// luaWords are the errors of Lua itself, which gopher-lua puts in other words.
var luaWords = regexp.MustCompile(`(user_script:\d+: )(?:attempt to|cannot|__len|bad argument|wrong number|stack overflow|registry overflow|invalid|calling|Expected|expected)[^\r]*?( script: |\r)`)

// relayed reports whether args are a script that calls the command that follows.
func relayed(args []string) bool {
	return len(args) > 3 && strings.EqualFold(args[0], "EVAL") && slices.Contains(relays, args[1])
}

// splitReply takes the first reply off a string.
func splitReply(s string) (first, rest string) {
	line, _, _ := strings.Cut(s, "\r\n")
	if line == "" {
		return s, ""
	}
	n := len(line) + 2
	size, err := strconv.Atoi(line[1:])
	if err != nil {
		size = 0
	}
	switch line[0] {
	case '$', '=', '!':
		if size >= 0 {
			n += size + 2
		}
	case '*', '~', '>', '%':
		if line[0] == '%' {
			size *= 2
		}
		for range max(size, 0) {
			part, _ := splitReply(s[n:])
			n += len(part)
		}
	}
	return s[:n], s[n:]
}

// sorted puts the elements of an array into order, so many at a time.
func sorted(reply string, each int) string {
	head, rest, _ := strings.Cut(reply, "\r\n")
	if !slices.Contains([]byte("*~%"), head[0]) {
		return reply
	}
	var all []string
	for rest != "" {
		var one string
		for range each {
			part, after := splitReply(rest)
			one, rest = one+part, after
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return head + "\r\n" + strings.Join(all, "")
}

// mask replaces what follows a word in a reply.
type mask struct{ after string }

var connectionID = mask{"id\r\n"}

func (m mask) replace(reply string) string {
	if strings.HasPrefix(reply, ":") {
		return ":id\r\n"
	}
	before, rest, found := strings.Cut(reply, m.after)
	if !found {
		return reply
	}
	_, rest = splitReply(rest)
	return before + m.after + ":id\r\n" + rest
}

// TestScriptsAnswerAsRedis runs every script of the tests on keys of every type.
func TestScriptsAnswerAsRedis(t *testing.T) {
	d := newDuel(t)
	for _, body := range slices.Compact(slices.Sorted(slices.Values(allBodies))) {
		for _, hello := range []string{"2", "3"} {
			steps := []step{{args: []string{"HELLO", hello}}}
			for _, key := range []string{"s1", "s2", "h1", "l1", "e1", "z1"} {
				for _, args := range [][]string{
					{"FLUSHALL"},
					{"SET", "s1", "5", "PX", "60007"},
					{"HSET", "h1", "a", "1", "token-1", "2"},
					{"RPUSH", "l1", "a", "b"},
					{"SADD", "e1", "a"},
					{"ZADD", "z1", "1.5", "a", "2", "token-1"},
					{"EVAL", body, "1", key, "token-1", "5000", "7"},
					{"PTTL", key},
					{"EVALSHA", sha1Hex(body), "1", key, "token-2", "5000", "x"},
				} {
					steps = append(steps, step{args: args})
				}
			}
			if found := d.fight(steps); found != nil {
				steps, found := d.shrink(steps, found)
				t.Errorf("\n%s", found.story(steps))
				break
			}
		}
	}
}
