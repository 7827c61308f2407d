package tap

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
	"lockpick/internal/redistest"
)

// chase is a load on a server, a shadow that follows, and what the server answered.
type chase struct {
	t      *testing.T
	shadow *Shadow
	lines  chan Line
	conns  [connections]*redistest.Conn
	names  map[string]int         // address to connection
	sent   [connections][]request // those whose lines are still to come
	multi  [connections]bool      // as their lines tell
	eye    [2]*redistest.Conn     // looks at the keys of a database
	looks  int
	known  int       // replies that the shadow knew
	at     time.Time // of the last record
	heard  time.Time // of the last line
	trail  []string  // the last lines
	faults []string
}

type request struct {
	args  []string
	reply string
}

func newChase(t *testing.T, server *redistest.Server) *chase {
	t.Helper()
	c := &chase{t: t, lines: make(chan Line, 1<<16), names: map[string]int{}}
	for i := range c.conns {
		c.conns[i] = server.Dial(t)
		c.names[c.conns[i].LocalAddr()] = i
	}
	for db := range c.eye {
		c.eye[db] = server.Dial(t)
		mustDo(t, c.eye[db], "SELECT", fmt.Sprint(db))
	}
	mustDo(t, c.eye[0], "SCRIPT", "LOAD", old)
	var err error
	c.shadow, err = NewShadow(keyspace.NewLabels(), func(at time.Time, r history.Record) {
		if at.Before(c.at) {
			c.t.Errorf("%s of %s is recorded at %v, after what was at %v", r.Op, r.Key, at, c.at)
		}
		c.at = at
	})
	if err != nil {
		t.Fatal(err)
	}
	mustWatch(t, server, func(l Line) { c.lines <- l })
	return c
}

// mustWatch watches the server until the end of the test.
func mustWatch(t testing.TB, server *redistest.Server, hear func(Line)) *Monitor {
	t.Helper()
	m, err := Watch(context.Background(), server.Addr, hear, func(err error) {
		if err != nil {
			t.Errorf("it has ended: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func mustDo(t testing.TB, c *redistest.Conn, args ...string) string {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return string(reply)
}

// answered takes the reply to a command. One that waits for EXEC or that was refused
// before is not printed as such.
func (c *chase) answered(conn int, args []string, reply string) {
	if reply != "+QUEUED\r\n" && !strings.HasPrefix(reply, "-ERR wrong number") {
		c.sent[conn] = append(c.sent[conn], request{args, reply})
	}
}

func (c *chase) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...)+", after\n\t"+strings.Join(c.trail, "\n\t"))
}

// hear applies a line and compares what the shadow answers.
func (c *chase) hear(l Line) {
	c.trail = append(c.trail[max(0, len(c.trail)-trail):], fmt.Sprintf("%s %d %s %.80q", l.At.Format("05.000000"), l.DB, l.From, l.Args))
	c.heard = l.At
	reply, ok := c.shadow.Apply(l, l.From)
	conn, ours := c.names[l.From]
	if !ours {
		return
	}
	name := strings.ToUpper(l.Args[0])
	if c.multi[conn] && !slices.Contains([]string{"EXEC", "DISCARD", "WATCH", "MULTI"}, name) {
		return // its reply is part of EXEC's
	}
	if len(c.sent[conn]) == 0 {
		c.t.Fatalf("%q was printed and not sent", l.Args)
	}
	want := c.sent[conn][0]
	c.sent[conn] = c.sent[conn][1:]
	c.multi[conn] = name == "MULTI" || c.multi[conn] && (name == "WATCH" || name == "MULTI")
	if !slices.Equal(want.args, l.Args) {
		c.t.Fatalf("%q was printed where %q was sent", l.Args, want.args)
	}
	if !ok {
		return
	}
	c.known++
	if spoken(string(reply)) != spoken(want.reply) {
		c.fault("%v: %q was answered with %q, and by the shadow with %q", l.At, l.Args, want.reply, reply)
	}
}

// trail is how many lines are shown before a fault.
const trail = 30

// spoken leaves out the words of the compiler of scripts, which is another one.
func spoken(reply string) string {
	before, _, _ := strings.Cut(reply, "(new function)")
	return before
}

// catchUp hears all that was printed and compares the keys of the databases. It
// returns how many keys there are, and how many of them end at another time than the
// shadow has, but by no more than slack.
func (c *chase) catchUp(slack time.Duration) (all, slips int) {
	c.t.Helper()
	for db := range c.eye {
		found := c.look(db)
		keys := c.shadow.machine.engine.DB(db)
		names := keys.Keys()
		for _, f := range found {
			all++
			if i := slices.Index(names, f.name); i >= 0 {
				names = slices.Delete(names, i, i+1)
			}
			is := keyspace.ReadValue(keys, f.name)
			end := int64(-1)
			if left := keys.TTL(f.name); left > 0 {
				end = c.shadow.machine.engine.Now().Add(left).UnixMilli()
			}
			if is.Kind != f.Kind || !slices.Equal(ordered(is), ordered(f.Value)) {
				c.fault("key %q of database %d is %q, and of the shadow %q", f.name, db, f.Value, is)
			}
			if late := time.Duration(end-f.ends) * time.Millisecond; late != 0 && late.Abs() <= slack {
				slips++
			} else if late != 0 {
				c.fault("key %q of database %d ends at %d, and of the shadow at %d", f.name, db, f.ends, end)
			}
		}
		if len(names) > 0 {
			c.fault("keys %q of database %d of the shadow are not there", names, db)
		}
	}
	return all, slips
}

// look returns the keys of a database, up to which all has been heard. The server
// looks at its clock between the line of the script and that of its first call, so
// it looks again if these are of two milliseconds.
func (c *chase) look(db int) []foundKey {
	c.t.Helper()
	for range 100 {
		c.looks++
		mark := fmt.Sprint("look ", c.looks)
		found, err := parseKeys([]byte(mustDo(c.t, c.eye[db], "EVAL", readAll, "0", mark)))
		if err != nil {
			c.t.Fatal(err)
		}
		c.hearUntil(mark)
		began := c.heard
		c.hearUntil("1000") // of its first call, SCAN
		if c.heard.UnixMilli() == began.UnixMilli() {
			return found
		}
	}
	c.t.Fatal("no look was over within a millisecond")
	return nil
}

func (c *chase) hearUntil(mark string) {
	c.t.Helper()
	for {
		select {
		case l := <-c.lines:
			c.hear(l)
			if l.Args[len(l.Args)-1] == mark {
				return
			}
		case <-time.After(10 * time.Second):
			c.t.Fatalf("%q was not printed within 10 s", mark)
		}
	}
}

// ordered puts elements without an order into one.
func ordered(v keyspace.Value) []string {
	if v.Kind == "list" || v.Kind == "string" {
		return v.Parts
	}
	each := 2
	if v.Kind == "set" {
		each = 1
	}
	var all []string
	for pair := range slices.Chunk(v.Parts, each) {
		if v.Kind == "zset" {
			score, _ := strconv.ParseFloat(pair[1], 64) // parseKeys and the engine let nothing else pass
			pair = []string{pair[0], fmt.Sprint(score)}
		}
		all = append(all, strings.Join(pair, "\x00="))
	}
	slices.Sort(all)
	return all
}

func newGenerator(seed uint64, now func() time.Time, short int) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0)), now: now, sha: map[string]string{}, short: short}
	for _, s := range append(slices.Clone(scripts), old) {
		sum := sha1.Sum([]byte(s))
		g.sha[s] = hex.EncodeToString(sum[:])
	}
	return g
}

// TestShadowFollows lets a shadow follow a server whose clock stands still and is
// moved between commands, also into the very millisecond in which keys end. So there
// is no doubt about when a command was executed, and the shadow must be equal.
func TestShadowFollows(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			server := redistest.StartAt(t, now, redistest.OnPort())
			c := newChase(t, server)
			g := newGenerator(seed, func() time.Time { return now }, 12)
			keys := 0
			for range 100 {
				for range 25 {
					if g.rng.IntN(4) == 0 {
						now = now.Add(time.Duration(g.rng.IntN(3000)) * time.Microsecond)
						if err := server.SetTime(now); err != nil {
							t.Fatal(err)
						}
					}
					conn := g.rng.IntN(connections)
					args := g.step(conn)
					c.answered(conn, args, mustDo(t, c.conns[conn], args...))
				}
				all, _ := c.catchUp(0)
				keys += all
				for _, f := range c.faults {
					t.Error(f)
				}
				if t.Failed() {
					return
				}
			}
			if keys < 500 || c.known < 1000 {
				t.Errorf("only %d keys and %d replies were compared", keys, c.known)
			}
			if s := c.shadow.Strayed(); s != "" {
				t.Errorf("it has strayed at %s", s)
			}
		})
	}
}

// TestShadowFollowsInTime does the same by the machine's clock, with commands of
// several connections at once. A command may have looked at the clock in another
// millisecond than that of its line, see the package comment, so a few ends may
// differ, and for that reason a few keys; the shadow is read anew then.
func TestShadowFollowsInTime(t *testing.T) {
	const (
		rounds = 80
		most   = 4 // rounds with a difference
		slack  = 50 * time.Millisecond
	)
	server := redistest.Start(t, redistest.OnPort())
	c := newChase(t, server)
	g := newGenerator(1, time.Now, 25)
	keys, slips, differ := 0, 0, 0
	for round := range rounds {
		for range 8 {
			var args [connections][]string
			for conn := range c.conns {
				args[conn] = g.step(conn)
				if err := c.conns[conn].Send(args[conn]...); err != nil {
					t.Fatal(err)
				}
			}
			for conn := range c.conns {
				reply, err := c.conns[conn].Receive()
				if err != nil {
					t.Fatal(err)
				}
				c.answered(conn, args[conn], string(reply))
			}
		}
		if round%8 == 0 {
			time.Sleep(time.Duration(g.rng.IntN(12)) * time.Millisecond) // part of the load: keys expire
		}
		all, late := c.catchUp(slack)
		keys, slips = keys+all, slips+late
		if len(c.faults) > 0 {
			differ++
			t.Log(c.faults[0])
		}
		if late > 0 || len(c.faults) > 0 {
			c.faults = nil
			c.resync()
		}
	}
	t.Logf("of %d keys %d ended at another time; %d of %d rounds differ; %d replies were known", keys, slips, differ, rounds, c.known)
	if differ > most || slips > keys/20 {
		t.Errorf("%d of %d rounds differ, and %d of %d ends", differ, rounds, slips, keys)
	}
	if keys < 200 || c.known < 1000 {
		t.Errorf("only %d keys and %d replies were compared", keys, c.known)
	}
}

// resync reads database 0 anew, and empties the other.
func (c *chase) resync() {
	c.t.Helper()
	mustDo(c.t, c.eye[1], "FLUSHDB")
	c.hearUntil("FLUSHDB")
	if err := c.shadow.Sync(c.heard, c.eye[0].Do, "differs"); err != nil {
		c.t.Fatal(err)
	}
	if _, slips := c.catchUp(0); slips != 0 || len(c.faults) > 0 {
		c.t.Errorf("after Sync: %v", c.faults)
	}
}
