package tap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
)

// epoch is when every list of lines begins, half a millisecond after a whole one.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 500e3, time.UTC)

// lab is a shadow that hears lines which nobody has printed.
type lab struct {
	t      *testing.T
	shadow *Shadow
	said   []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t}
	var err error
	l.shadow, err = NewShadow(keyspace.NewLabels(), func(at time.Time, r history.Record) {
		l.said = append(l.said, fmt.Sprintf("%v %s", at.Sub(epoch), line(r)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// line says a record in short.
func line(r history.Record) string {
	s := fmt.Sprintf("%s %s=%s of %s", r.Op, r.Key, r.Owner, r.Holder)
	if r.Was != "" {
		s += " was " + r.Was
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

// hear applies lines such as "1.25ms a SET k v", of client a, whose underlines are
// spaces inside of words. It returns what the shadow answered to the last one.
func (l *lab) hear(lines ...string) (reply string, ok bool) {
	l.t.Helper()
	for _, text := range lines {
		words := strings.Fields(text)
		after, err := time.ParseDuration(words[0])
		if err != nil {
			l.t.Fatal(err)
		}
		args := words[2:]
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		var b []byte
		b, ok = l.shadow.Apply(Line{At: epoch.Add(after), From: words[1], Args: args}, words[1])
		reply = string(b)
	}
	return reply, ok
}

func (l *lab) check(want ...string) {
	l.t.Helper()
	if !slices.Equal(l.said, want) {
		l.t.Errorf("recorded\n\t%s\nwant\n\t%s", strings.Join(l.said, "\n\t"), strings.Join(want, "\n\t"))
	}
	l.said = nil
}

// getAndDelete is a script.
const getAndDelete = "return_{redis.call('GET',KEYS[1]),redis.call('DEL',KEYS[1])}"

// deeds are lines, and what is recorded of them.
var deeds = []struct {
	name  string
	lines []string
	want  []string
}{
	{"a lock that is taken, tried, and given back", []string{
		"0s a SET k 1 NX PX 300", "1ms b SET k 2 NX PX 300", "2ms a DEL k", "3ms b DEL k",
	}, []string{"0s granted k=1 of a by a for 299.5ms", "2ms deleted k=1 of a by a"}},

	{"a lease that ends, at the millisecond that Redis gave it", []string{
		"0s a SET k 1 NX PX 300", "10m b GET k",
	}, []string{"0s granted k=1 of a by a for 299.5ms", "299.5ms expired k=1 of a"}},

	{"a lease lives through the millisecond of its end", []string{
		"0s a SET k 1 NX PX 300", "299.6ms b SET k 2 NX PX 300", "300.499ms b SET k 3 NX PX 300", "300.5ms b SET k 4 NX PX 300",
	}, []string{"0s granted k=1 of a by a for 299.5ms", "300.499ms expired k=1 of a", "300.5ms granted k=4 of b by b for 300ms"}},

	{"and can be renewed or deleted there", []string{
		"0s a SET k 1 PX 300", "300.1ms a PEXPIRE k 300", "600ms a DEL k", "1s a GET k",
	}, []string{"0s granted k=1 of a by a for 299.5ms", "300.1ms renewed k=1 of a by a for 299.4ms", "600ms deleted k=1 of a by a"}},

	{"the end is moved", []string{
		"0s a SET k 1 PX 300", "1ms a PEXPIRE k 299", "2ms a PEXPIRE k 100", "3ms a PERSIST k", "4ms a PEXPIREAT k 1767225601000",
	}, []string{"0s granted k=1 of a by a for 299.5ms", "2ms shortened k=1 of a by a for 99.5ms", "3ms renewed k=1 of a by a for -1ns", "4ms renewed k=1 of a by a for 995.5ms"}},

	{"another value, and one that is taken out", []string{
		"0s a SET k 1", "1ms b SET k 2", "2ms b SET k 2", "3ms c GETDEL k",
	}, []string{"0s granted k=1 of a by a for -1ns", "1ms replaced k=2 of b was 1 by b for -1ns", "3ms deleted k=2 of b by c"}},

	{"a script, at its last line", []string{
		"0s a SET k 1 PX 300", "1ms a EVAL if_redis.call('GET',KEYS[1])==ARGV[1]_then_return_redis.call('PEXPIRE',KEYS[1],ARGV[2])_end_return_0 1 k 1 900",
		"1.01ms lua GET k", "1.02ms lua PEXPIRE k 900",
	}, []string{"0s granted k=1 of a by a for 299.5ms", "1.02ms renewed k=1 of a by a for 899.48ms"}},

	{"a script that nobody has told, when the next line comes", []string{
		"0s a SET k 1", "1ms b EVALSHA 0000000000000000000000000000000000000000 1 k", "1.01ms lua GET k", "1.02ms lua DEL k", "1.03ms lua SET k 2", "2ms a DEL k",
	}, []string{"0s granted k=1 of a by a for -1ns", "1.03ms replaced k=2 of b was 1 by b for -1ns", "2ms deleted k=2 of b by a"}},

	{"a script that nobody has told, and the next command of its client", []string{
		"0s a EVALSHA 0000000000000000000000000000000000000000 1 k", "0s lua SET k 1", "1ms a SET k 2",
	}, []string{"0s granted k=1 of a by a for -1ns", "1ms replaced k=2 of a was 1 by a for -1ns"}},

	{"a script that keeps a key in its last millisecond, and runs on", []string{
		"0s a SET k 1 PX 1", "1.4ms b EVALSHA 0000000000000000000000000000000000000000 1 k", "1.4ms lua PERSIST k", "1.6ms lua GET k", "2ms b DEL k",
	}, []string{"0s granted k=1 of a by a for 500µs", "1.4ms renewed k=1 of a by b for -1ns", "2ms deleted k=1 of a by b"}},

	{"a function", []string{"0s a FCALL f 1 k", "0s lua SET k 1", "1ms b GET k"}, []string{"0s granted k=1 of a by a for -1ns"}},

	{"what a script has undone never was", []string{
		"0s a EVALSHA 0000000000000000000000000000000000000000 1 k", "0s lua SET k 1", "0s lua DEL k", "1ms a GET k",
	}, nil},

	{"a script that calls more here than it did there", []string{
		"0s a SET k 1", "1ms b EVAL " + getAndDelete + " 1 k", "1ms lua GET k", "2ms a GET k", "3ms a DEL k",
	}, []string{"0s granted k=1 of a by a for -1ns", "3ms deleted k=1 of a by a"}},

	{"a script that calls less here than it did there", []string{
		"0s a SET k 1", "1ms b EVAL return_1 1 k", "1ms lua SET k 2", "1ms lua SET k 3", "2ms a GET k",
	}, []string{"0s granted k=1 of a by a for -1ns", "1ms replaced k=3 of b was 1 by b for -1ns"}},

	{"a transaction, at EXEC", []string{
		"0s a MULTI", "1ms b SET j 1", "2ms a SET k 1", "2ms a DEL j", "2ms a SET k 2", "2ms a EXEC",
	}, []string{"1ms granted j=1 of b by b for -1ns", "2ms granted k=2 of a by a for -1ns", "2ms deleted j=1 of b by a"}},

	{"a transaction that was aborted", []string{"0s a MULTI", "1ms a EXEC", "2ms a SET k 1"}, []string{"2ms granted k=1 of a by a for -1ns"}},

	{"scripts in a transaction", []string{
		"0s a MULTI", "1ms a EVAL return_redis.call('SET',KEYS[1],1) 1 k", "1ms lua SET k 1", "1ms a EVAL " + getAndDelete + " 1 k", "1ms lua GET k", "1ms lua DEL k", "1ms a EXEC",
		"2ms a MULTI", "3ms a EVAL return_redis.call('SET',KEYS[1],1) 1 k", "3ms lua SET k 2", "3ms a EXEC",
	}, []string{"3ms granted k=2 of a by a for -1ns"}},

	{"a replica is told that a key has expired", []string{
		"0s a SET k 1 PX 10", "1s primary DEL k",
	}, []string{"0s granted k=1 of a by a for 9.5ms", "9.5ms expired k=1 of a"}},

	{"the clock is set back, and ends stay", []string{
		"1m a SET k 1 PX 300", "0s b GET k", "59s b SET k 2 NX", "1m1s b SET k 3 NX",
	}, []string{"1m0s granted k=1 of a by a for 299.5ms", "1m0.2995s expired k=1 of a", "1m1s granted k=3 of b by b for -1ns"}},
}

func TestRecords(t *testing.T) {
	for _, tt := range deeds {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.hear(tt.lines...)
			l.check(tt.want...)
		})
	}
}

// Keys of another database are followed and not recorded.
func TestOtherDatabase(t *testing.T) {
	l := newLab(t)
	l.shadow.Apply(Line{At: epoch, DB: 1, From: "a", Args: []string{"SET", "k", "1"}}, "a")
	l.hear("1ms b SET k 2 NX")
	if reply, ok := l.shadow.Apply(Line{At: epoch.Add(2 * time.Millisecond), DB: 1, From: "a", Args: []string{"MOVE", "k", "0"}}, "a"); string(reply) != ":0\r\n" || !ok {
		t.Errorf("MOVE to where there is one: %q, %v", reply, ok)
	}
	l.check("1ms granted k=2 of b by b for -1ns")
}

func TestAdvance(t *testing.T) {
	l := newLab(t)
	l.hear("0s a MSET j 1 k 1", "0s a PEXPIRE k 10", "0s a PEXPIRE j 5", "0s b EVALSHA 0000000000000000000000000000000000000000 0", "0s lua SET i 1")
	l.said = nil
	l.shadow.Advance(epoch.Add(10 * time.Millisecond)) // in the last millisecond of k
	l.check("0s granted i=1 of b by b for -1ns", "4.5ms expired j=1 of a")
	l.shadow.Look(epoch.Add(10*time.Millisecond), "then")
	l.check("10ms keys i=1 of b for -1ns: then", "10ms keys k=1 of a for 1ns: then")
	l.shadow.Look(epoch.Add(20*time.Millisecond), "end")
	l.check("10ms expired k=1 of a", "20ms keys i=1 of b for -1ns: end")
}

func TestEvict(t *testing.T) {
	l := newLab(t)
	l.hear("0s a SET k 1", "0s a SET j 1 PX 5")
	l.said = nil
	for _, key := range []string{"k", "none", "k", "j"} {
		l.shadow.Evict(epoch.Add(10*time.Millisecond), key, "evicted")
	}
	l.hear("11ms b SET k 2 NX")
	l.check("4.5ms expired j=1 of a", "10ms deleted k=1 of a: evicted", "11ms granted k=2 of b by b for -1ns")
}

func TestReplies(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  string // "" when it is not known
	}{
		{"of a command", []string{"0s a SET k 1 NX"}, "+OK\r\n"},
		{"of an error", []string{"0s a SET k 1 BOGUS"}, "-ERR syntax error\r\n"},
		{"in RESP2", []string{"0s b HELLO 3", "0s a GET k"}, "$-1\r\n"},
		{"in RESP3", []string{"0s a HELLO 3", "0s a GET k"}, "_\r\n"},
		{"in RESP2 again", []string{"0s a HELLO 3", "0s a RESET", "0s a GET k"}, "$-1\r\n"},
		{"of a script", []string{"0s a EVAL return_KEYS[1] 1 k"}, "$1\r\nk\r\n"},
		{"of a script that looks at what there is", []string{"0s a SET k 1 PX 300", "0s a EVAL return_{redis.call('GET','k'),redis.call('PTTL','k')} 0"}, "*2\r\n$1\r\n1\r\n:300\r\n"},
		{"of a script that was told", []string{"0s a SCRIPT LOAD return_1", "0s a EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"}, ":1\r\n"},
		{"of one that was not", []string{"0s a EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"}, ""},
		{"of one that looks at the clock", []string{"0s a EVAL return_redis.call('TIME') 0"}, ""},
		{"of one that needs what is not here", []string{"0s a EVAL return_bit.band(1,1) 0"}, ""},
		{"of one with a stream among the keys", []string{"0s a XADD x 1-1 f v", "0s a EVAL return_1 0"}, ""},
		{"of a call of a script", []string{"0s a EVAL return_redis.call('GET','k') 0", "0s lua GET k"}, ""},
		{"of EXEC", []string{"0s a MULTI", "0s a SET k 1", "0s a WATCH k", "0s a UNWATCH", "0s a SELECT 0", "0s a INCR k", "0s a EXEC"}, "*4\r\n+OK\r\n+OK\r\n+OK\r\n:2\r\n"},
		{"of EXEC of what is not known", []string{"0s a MULTI", "0s a SET k 1", "0s a TIME", "0s a EXEC"}, ""},
		{"of EXEC that may have been aborted", []string{"0s a MULTI", "0s a EXEC"}, ""},
		{"of MULTI", []string{"0s a MULTI"}, "+OK\r\n"},
		{"of MULTI in MULTI", []string{"0s a MULTI", "0s a MULTI"}, ""},
		{"of SELECT", []string{"0s a SELECT 0"}, "+OK\r\n"},
		{"of SELECT of what is not there", []string{"0s a SELECT 99"}, ""},
		{"of PUBLISH", []string{"0s a PUBLISH c m"}, ""},
		{"of INFO", []string{"0s a INFO"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			reply, ok := l.hear(tt.lines...)
			if ok != (tt.want != "") || ok && reply != tt.want {
				t.Errorf("it is %q, %v, want %q", reply, ok, tt.want)
			}
			if s := l.shadow.Strayed(); s != "" {
				t.Errorf("it has strayed at %s", s)
			}
		})
	}
}

// A shadow says what it cannot follow.
func TestStrayed(t *testing.T) {
	for _, lines := range [][]string{
		{"0s a BLPOP k 0"}, {"0s a SPOP k"}, {"0s a SWAPDB 0 1"}, {"0s a EVALSHA 0000000000000000000000000000000000000000 0", "0s lua SPOP k"},
		{"0s a MULTI", "0s a BLPOP k 0", "0s a EXEC"},
	} {
		l := newLab(t)
		l.hear(append([]string{"0s a SADD k 1"}, lines...)...)
		if l.shadow.Strayed() == "" {
			t.Errorf("%q: it has not strayed", lines)
		}
	}
}
