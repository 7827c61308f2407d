package keyspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/engine"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// lab is an engine whose keys are watched.
type lab struct {
	t       *testing.T
	engine  *engine.Engine
	session *engine.Session
	keys    *Keys
	said    []string // what was recorded
}

func newLab(t *testing.T) *lab {
	t.Helper()
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	e.Advance(epoch)
	l := &lab{t: t, engine: e, session: engine.NewSession()}
	l.keys = New(e, NewLabels(), func(r history.Record) { l.said = append(l.said, line(r)) })
	return l
}

// line says a record in short.
func line(r history.Record) string {
	s := fmt.Sprintf("%s %s=%q of %q", r.Op, r.Key, r.Owner, r.Holder)
	if r.Was != "" {
		s += fmt.Sprintf(" was %q", r.Was)
	}
	if r.Client != "" {
		s += " by " + r.Client
	}
	if r.TTL != 0 {
		s += fmt.Sprintf(" for %v", r.TTL)
	}
	if r.Text != "" {
		s += ": " + r.Text
	}
	return s
}

// do lets a client say a command, or time pass when the client is "".
func (l *lab) do(client, command string) []Key {
	l.t.Helper()
	if client == "" {
		d, err := time.ParseDuration(command)
		if err != nil {
			l.t.Fatal(err)
		}
		l.engine.Advance(l.engine.Now().Add(d))
		return l.keys.Expire()
	}
	l.engine.Execute(l.session, strings.Fields(command))
	if reply := string(l.session.Reply()); strings.HasPrefix(reply, "-") {
		l.t.Fatalf("%s: %s", command, reply)
	}
	return l.keys.Compare(client)
}

// recorded takes what was recorded since it was last called.
func (l *lab) recorded() []string {
	said := l.said
	l.said = nil
	return said
}

func (l *lab) check(what string, want ...string) {
	l.t.Helper()
	if got := l.recorded(); !slices.Equal(got, want) {
		l.t.Errorf("%s: recorded\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// The life of a key is what commands have made of it, and time.
func TestLifeOfAKey(t *testing.T) {
	l := newLab(t)
	for _, step := range []struct{ client, command, want string }{
		{"a", "SET k 1 PX 1000", `granted k="1" of "a" by a for 1s`},
		{"b", "GET k", ``},
		{"b", "SET k 2 NX", ``},
		{"", "400ms", ``},
		{"b", "PEXPIRE k 600", ``}, // it ends when it would have
		{"b", "PEXPIRE k 500", `shortened k="1" of "a" by b for 500ms`},
		{"b", "PEXPIRE k 900", `renewed k="1" of "a" by b for 900ms`},
		{"a", "PERSIST k", `renewed k="1" of "a" by a for -1ns`},
		{"b", "SET k 1", ``}, // the same value is nobody's doing
		{"b", "SET k 2 PX 300", `replaced k="2" of "b" was "1" by b for 300ms`},
		{"", "-1h", ``},
		{"", "1h", ``},
		{"", "299999us", ``},
		{"", "1us", `expired k="2" of "b"`},
		{"a", "SET k 3", `granted k="3" of "a" by a for -1ns`},
		{"b", "DEL k", `deleted k="3" of "a" by b`},
		{"a", "SET k 0123456789abcdef", `granted k="a~1" of "a" by a for -1ns`},
		{"b", "SET k fedcba9876543210", `replaced k="b~1" of "b" was "a~1" by b for -1ns`},
		{"b", "RENAME k j", `granted j="b~1" of "b" by b for -1ns; deleted k="b~1" of "b" by b`},
	} {
		l.do(step.client, step.command)
		if got := strings.Join(l.recorded(), "; "); got != step.want {
			t.Errorf("%s> %s: recorded %s, want %s", step.client, step.command, got, step.want)
		}
	}
}

// Every type of value is said in full.
func TestValues(t *testing.T) {
	for command, want := range map[string]string{
		"SET k v":                        `v`,
		"HSET k b 2 a 1":                 `a=1 b=2`,
		"RPUSH k b a":                    `[b a]`,
		"SADD k b a":                     `[a b]`,
		"ZADD k 2 a 1.5 b 1e9 c 0 d":     `d:0 b:1.5 a:2 c:1000000000`,
		"HSET k 0123456789abcdef 1":      `a~1=1`,
		"RPUSH k 0123456789abcdef x":     `[a~1 x]`,
		"ZADD k 5 0123456789abcdef":      `a~1:5`,
		"ZADD k 1767225600123 a":         `a:1767225600123`,
		"XADD k 1-1 field value":         `stream`,
		"SET k 0123456789abcdef KEEPTTL": `a~1`,
	} {
		l := newLab(t)
		l.do("a", command)
		l.check(command, fmt.Sprintf(`granted k=%q of "a" by a for -1ns`, want))
	}
}

// What was once there can be made again, also in another engine: with its value,
// its end and who stored it.
func TestRestore(t *testing.T) {
	primary, replica := newLab(t), newLab(t)
	for _, command := range []string{"SET s v PX 1000", "HSET h b 2 a 1", "RPUSH l b a", "SADD e b a", "ZADD z 2 a 1.5 b", "SET over v PX 1"} {
		primary.do("a", command)
	}
	replica.do("b", "SET old v")
	replica.do("", "10ms")
	replica.recorded()
	gone := append([]Key{{Name: "old"}, {Name: "none"}}, primary.keys.All()...)
	were := replica.keys.Restore(gone, "why")
	replica.check("restored",
		`granted e="[a b]" of "a" for -1ns: why`, `granted h="a=1 b=2" of "a" for -1ns: why`, `granted l="[b a]" of "a" for -1ns: why`,
		`granted s="v" of "a" for 990ms: why`, `granted z="b:1.5 a:2" of "a" for -1ns: why`, `deleted old="v" of "b": why`)

	replica.keys.Restore(were, "")
	replica.check("and back",
		`granted old="v" of "b" for -1ns`,
		`deleted e="[a b]" of "a"`, `deleted h="a=1 b=2" of "a"`, `deleted l="[b a]" of "a"`, `deleted s="v" of "a"`, `deleted z="b:1.5 a:2" of "a"`)

	if were := replica.keys.Restore(replica.keys.All(), ""); len(were) > 0 {
		t.Errorf("what was there already has changed %v", were)
	}
	replica.check("what was there already")
}

// What is told of changes is what keys were before.
func TestChanges(t *testing.T) {
	l := newLab(t)
	names := func(keys []Key) string {
		s := ""
		for _, k := range keys {
			s += fmt.Sprintf("%s %v; ", k.Name, k.exists)
		}
		return s
	}
	for _, step := range []struct{ client, command, want string }{
		{"a", "MSET k 1 j 1", "j false; k false; "},
		{"a", "GET k", ""},
		{"a", "SET k 2 PX 5", "k true; "},
		{"a", "PEXPIRE j 5", "j true; "},
		{"", "5ms", "j true; k true; "},
	} {
		if got := names(l.do(step.client, step.command)); got != step.want {
			t.Errorf("%s: %s, want %s", step.command, got, step.want)
		}
	}
}

func TestEvict(t *testing.T) {
	l := newLab(t)
	l.do("a", "SET k v")
	l.recorded()
	if was, ok := l.keys.Evict("k", "evicted"); !ok || !was.exists {
		t.Errorf("Evict = %v, %v", was, ok)
	}
	l.check("evict", `deleted k="v" of "a": evicted`)
	if _, ok := l.keys.Evict("k", "evicted"); ok {
		t.Error("it was evicted twice")
	}
	l.do("b", "GET k")
	l.check("again")
}

func TestLook(t *testing.T) {
	l := newLab(t)
	l.do("b", "SET k v")
	l.do("a", "SET j v PX 1500")
	l.do("", "500ms")
	l.recorded()
	l.keys.Look("end")
	l.check("look", `keys j="v" of "a" for 1s: end`, `keys k="v" of "b" for -1ns: end`)
}

func TestNextEnd(t *testing.T) {
	l := newLab(t)
	for _, step := range []struct {
		client, command string
		want            time.Time
	}{
		{"a", "SET k v", time.Time{}},
		{"a", "SET j v PX 1500", epoch.Add(1500 * time.Millisecond)},
		{"a", "PEXPIRE k 1000", epoch.Add(time.Second)},
		{"", "-10s", epoch.Add(time.Second)}, // an end is a time of the clock, and stays
		{"", "11s", epoch.Add(1500 * time.Millisecond)},
		{"a", "DEL j", time.Time{}},
	} {
		l.do(step.client, step.command)
		if got := l.keys.NextEnd(); !got.Equal(step.want) {
			t.Errorf("%s: NextEnd = %v, want %v", step.command, got, step.want)
		}
	}
}
