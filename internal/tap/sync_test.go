package tap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockpick/internal/redistest"
)

// sync reads a server, and returns the line of that.
func (l *lab) sync(at time.Duration, c *redistest.Conn, text string) Line {
	l.t.Helper()
	line := Line{At: epoch.Add(at), From: "sync"}
	err := l.shadow.Sync(line.At, func(args ...string) ([]byte, error) {
		line.Args = args
		return c.Do(args...)
	}, text)
	if err != nil {
		l.t.Fatal(err)
	}
	return line
}

// A shadow is made equal to a server, keys that are equal stay whose they are, and a
// key is there in the millisecond of its end.
func TestSync(t *testing.T) {
	server := redistest.StartAt(t, epoch)
	c := server.Dial(t)
	for _, command := range []string{
		"SET same 1 PX 60000", "SET other 2 PX 60000", "SET longer 1 PX 90000", "SET last 1 PX 1", "HSET hash b 2 a 1", "RPUSH list b a", "SADD set b a",
		"ZADD zset 2 a -inf b 0.1 c", "SET new v",
	} {
		mustDo(t, c, strings.Fields(command)...)
	}
	l := newLab(t)
	l.hear("0s a SET same 1 PX 60000", "0s a SET other 1 PX 60000", "0s a SET longer 1 PX 60000", "0s a SET gone 1", "0s a HSET hash a 1 b 2",
		"0s a RPUSH list a b", "0s a SET over 1 PX 1", "0s a BLPOP x 0")
	l.said = nil
	mark := l.sync(1200*time.Microsecond, c, "read")
	l.check(
		"1.2ms granted last=1 of  for 1ns: read",
		"1.2ms replaced list=[b a] of  was [a b] for -1ns: read",
		"1.2ms renewed longer=1 of a for 1m29.9983s: read", // set 300 µs before it was read, by a clock that stands still
		"1.2ms granted new=v of  for -1ns: read",
		"1.2ms replaced other=2 of  was 1 for 59.9983s: read",
		"1.2ms granted set=[a b] of  for -1ns: read",
		"1.2ms granted zset=b:-Inf c:0.1 a:2 of  for -1ns: read",
		"1.2ms deleted gone=1 of a: read",
		"1.2ms deleted over=1 of a: read",
	)
	if s := l.shadow.Strayed(); s != "" {
		t.Errorf("it has strayed at %s", s)
	}

	// what was executed before the keys were read is not done again
	l.hear("900us a RPUSH list x", "950us b EVALSHA 0000000000000000000000000000000000000000 0", "960us lua RPUSH list y", "970us b HELLO 3")
	l.check()
	l.shadow.Apply(mark, "")
	l.hear("1.3ms lua SCAN 0", "2ms b RPUSH list x")
	l.check("1.3ms expired last=1 of ", "2ms replaced list=[b a x] of b was [b a] by b for -1ns")
	if reply, ok := l.hear("3ms b GET none"); reply != "_\r\n" || !ok {
		t.Errorf("what a connection said before is not known: %q, %v", reply, ok)
	}

	// a restart without data
	l.hear("4ms b EVAL return_1 0")
	l.said = nil
	mustDo(t, c, "FLUSHALL")
	l.shadow.Apply(l.sync(5*time.Millisecond, c, "restarted"), "")
	if len(l.said) != 8 || !strings.HasPrefix(l.said[0], "5ms deleted hash=a=1 b=2 of a: restarted") {
		t.Errorf("recorded %q", l.said)
	}
	if reply, ok := l.hear("6ms b EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"); ok {
		t.Errorf("a script is known after a restart, and answers %q", reply)
	}
}

var errNo = errors.New("no")

func TestSyncFails(t *testing.T) {
	l := newLab(t)
	l.hear("0s a SET k 1", "0s a SPOP x")
	l.said = nil
	for reply, want := range map[string]string{
		"-ERR no\r\n":  "-ERR no",
		"":             "answers",
		"*1\r\n":       "answers",
		"*0\r\n:1\r\n": "answers",
		"*1\r\n*4\r\n$1\r\nk\r\n$6\r\nstream\r\n:-1\r\n*0\r\n":                     "is a stream",
		"*1\r\n*4\r\n$1\r\nk\r\n$4\r\nhash\r\n:-1\r\n*1\r\n$1\r\na\r\n":            "is a hash of 1",
		"*1\r\n*4\r\n$1\r\nk\r\n$4\r\nzset\r\n:-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n": "is a zset",
		"*1\r\n*3\r\n$1\r\nk\r\n$6\r\nstring\r\n:-1\r\n":                           "answers",
	} {
		err := l.shadow.Sync(epoch, func(...string) ([]byte, error) { return []byte(reply), nil }, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", reply, err, want)
		}
	}
	if err := l.shadow.Sync(epoch, func(...string) ([]byte, error) { return nil, errNo }, ""); !errors.Is(err, errNo) {
		t.Errorf("Sync: %v", err)
	}
	l.check()
	l.hear("1ms b SET k 2")
	l.check("1ms replaced k=2 of b was 1 by b for -1ns")
	if l.shadow.Strayed() != "SPOP" {
		t.Error("it has been brought back by nothing")
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("*1\r\n*4\r\n$1\r\nk\r\n$4\r\nhash\r\n:-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"))
	f.Add([]byte("*99999999999\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := parseKeys(b)
		if err != nil {
			return
		}
		again := fmt.Appendf(nil, "*%d\r\n", len(found))
		for _, k := range found {
			again = fmt.Appendf(again, "*4\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:%d\r\n*%d\r\n", len(k.name), k.name, len(k.Kind), k.Kind, k.ends, len(k.Parts))
			for _, p := range k.Parts {
				again = fmt.Appendf(again, "$%d\r\n%s\r\n", len(p), p)
			}
		}
		if more, err := parseKeys(again); err != nil || fmt.Sprint(more) != fmt.Sprint(found) {
			t.Fatalf("%q is read as %v, and what that is as %v, %v", b, found, more, err)
		}
	})
}
