package redistest_test

import (
	"strings"
	"testing"
	"time"

	"lockpick/internal/redistest"
)

func mustDo(t *testing.T, c *redistest.Conn, args ...string) string {
	t.Helper()
	b, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return string(b)
}

func TestRepliesAreWhole(t *testing.T) {
	s := redistest.Start(t)
	if !strings.Contains(s.Version, ".") {
		t.Errorf("the version is %q", s.Version)
	}
	c := s.Dial(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"PING"}, "+PONG\r\n"},
		{[]string{"ECHO", "a\r\nb"}, "$4\r\na\r\nb\r\n"},
		{[]string{"GET", "none"}, "$-1\r\n"},
		{[]string{"EVAL", "return {1, {'two', {}}}", "0"}, "*2\r\n:1\r\n*2\r\n$3\r\ntwo\r\n*0\r\n"},
		{[]string{"HSET", "h", "f", "v"}, ":1\r\n"},
		{[]string{"NONSENSE"}, "-ERR unknown command 'NONSENSE', with args beginning with: \r\n"},
	} {
		if got := mustDo(t, c, tt.args...); got != tt.want {
			t.Errorf("%q = %q, want %q", tt.args, got, tt.want)
		}
	}
	mustDo(t, c, "HELLO", "3")
	if got, want := mustDo(t, c, "HGETALL", "h"), "%1\r\n$1\r\nf\r\n$1\r\nv\r\n"; got != want {
		t.Errorf("in RESP3 HGETALL = %q, want %q", got, want)
	}
}

func TestServersAreApart(t *testing.T) {
	a, b := redistest.Start(t).Dial(t), redistest.Start(t).Dial(t)
	mustDo(t, a, "SET", "k", "v")
	if got := mustDo(t, b, "GET", "k"); got != "$-1\r\n" {
		t.Errorf("a key of one server is in the other: %q", got)
	}
}

func TestOnPort(t *testing.T) {
	s := redistest.Start(t, redistest.OnPort())
	a, b := s.Dial(t), s.Dial(t)
	mustDo(t, a, "SET", "k", "v")
	if got := mustDo(t, b, "CLIENT", "LIST"); !strings.Contains(got, "addr="+a.LocalAddr()+" ") || !strings.Contains(got, "addr="+b.LocalAddr()+" ") {
		t.Errorf("of clients at %s and %s the server knows\n%s", a.LocalAddr(), b.LocalAddr(), got)
	}
	s.Kill(t)
	if got, err := b.Do("GET", "k"); err == nil {
		t.Errorf("a server that was killed answers %q", got)
	}
}

func TestClockStandsStillAndMoves(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 123e6, time.UTC)
	s := redistest.StartAt(t, start)
	c := s.Dial(t)
	mustDo(t, c, "SET", "k", "v", "PX", "5000")
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{0, ":5000\r\n"},
		{time.Millisecond, ":4999\r\n"},
		{5 * time.Second, ":0\r\n"}, // Redis lets a key live through the millisecond of its end
		{5001 * time.Millisecond, ":-2\r\n"},
	} {
		if err := s.SetTime(start.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if got := mustDo(t, c, "PTTL", "k"); got != tt.want {
			t.Errorf("after %v PTTL = %q, want %q", tt.after, got, tt.want)
		}
	}
	if got, want := mustDo(t, c, "TIME"), "*2\r\n$10\r\n1767225605\r\n$6\r\n124000\r\n"; got != want {
		t.Errorf("TIME = %q, want %q", got, want)
	}
}
