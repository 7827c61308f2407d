package engine

import (
	"slices"
	"testing"
	"time"
)

// What is published reaches the owner, whoever says it.
func TestPublish(t *testing.T) {
	e, s := mustEngine(t), NewSession()
	if got := ask(e, s, "PUBLISH", "c", "nobody"); got != ":0\r\n" {
		t.Errorf("without an owner who listens: %q", got)
	}
	var heard []string
	e.Publish = func(channel, message string) int {
		heard = append(heard, channel+" "+message)
		return 3
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"PUBLISH", "c", "plain"}, ":3\r\n"},
		{[]string{"EVAL", "return redis.call('publish', 'c', 'scripted')", "0"}, ":3\r\n"},
		{[]string{"MULTI"}, "+OK\r\n"},
		{[]string{"PUBLISH", "c", "queued"}, "+QUEUED\r\n"},
		{[]string{"EXEC"}, "*1\r\n:3\r\n"},
	} {
		if got := ask(e, s, step.args...); got != step.want {
			t.Errorf("%q: %q, want %q", step.args, got, step.want)
		}
	}
	if want := []string{"c plain", "c scripted", "c queued"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}

// The owner may refuse what a script calls, and nothing else.
func TestDeny(t *testing.T) {
	e, s := mustEngine(t), NewSession()
	e.Deny = func(name string) string {
		if e.Writes(name) {
			return "READONLY no"
		}
		return ""
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"SET", "k", "v"}, "+OK\r\n"},
		{[]string{"EVAL", "return redis.call('get', 'k')", "0"}, "$1\r\nv\r\n"},
		{[]string{"EVAL", "return redis.pcall('set', 'k', 'w')", "0"}, "-READONLY no\r\n"},
		{[]string{"GET", "k"}, "$1\r\nv\r\n"},
	} {
		if got := ask(e, s, step.args...); got != step.want {
			t.Errorf("%q: %q, want %q", step.args, got, step.want)
		}
	}
}

// What is rejected in a transaction ends it.
func TestReject(t *testing.T) {
	e, s := mustEngine(t), NewSession()
	reject := func(name, want string) {
		t.Helper()
		if e.Reject(s, name, "OOM no"); string(s.Reply()) != want {
			t.Errorf("%s is not rejected with %q", name, want)
		}
	}
	reject("SET", "-OOM no\r\n")
	ask(e, s, "MULTI")
	ask(e, s, "SET", "k", "v")
	if want := [][]string{{"SET", "k", "v"}}; !s.Queues() || len(s.Queue()) != 1 || !slices.Equal(s.Queue()[0], want[0]) {
		t.Errorf("%q waits for EXEC, want %q", s.Queue(), want)
	}
	reject("SET", "-OOM no\r\n")
	if got, want := ask(e, s, "EXEC"), "-EXECABORT Transaction discarded because of previous errors.\r\n"; got != want {
		t.Errorf("EXEC: %q, want %q", got, want)
	}
	ask(e, s, "MULTI")
	reject("EXEC", "-EXECABORT Transaction discarded because of: OOM no\r\n")
	if s.Queues() {
		t.Error("the transaction goes on")
	}
}

// The end of a key is a time of the engine's clock, and stays when that is set.
func TestAdvance(t *testing.T) {
	e, s := mustEngine(t), NewSession()
	began := e.Now()
	ask(e, s, "SET", "k", "v", "PX", "1000")
	for _, step := range []struct {
		at   time.Duration
		want string
	}{{400 * time.Millisecond, ":600\r\n"}, {-time.Minute, ":61000\r\n"}, {999 * time.Millisecond, ":1\r\n"}, {time.Second, ":-2\r\n"}} {
		e.Advance(began.Add(step.at))
		if got := ask(e, s, "PTTL", "k"); got != step.want {
			t.Errorf("PTTL at %v: %q, want %q", step.at, got, step.want)
		}
	}
}

func TestWipe(t *testing.T) {
	e := mustEngine(t)
	e.Publish, e.Deny = func(string, string) int { return 1 }, func(string) string { return "ERR no" }
	ask(e, NewSession(), "SET", "k", "v")
	ask(e, NewSession(), "BLPOP", "k", "1")
	if e.Refused() != "BLPOP" {
		t.Errorf("Refused = %q", e.Refused())
	}
	e.Wipe()
	if keys := e.DB(0).Keys(); e.Publish != nil || e.Deny != nil || e.Refused() != "" || len(keys) > 0 {
		t.Errorf("it has hooks, or keys %q, or has refused %q", keys, e.Refused())
	}
}
