package redisd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockpick/internal/child"
	"lockpick/internal/require"
)

// role is the environment variable that makes this program one that starts a
// server, says where, and waits to be killed.
const role = "LOCKPICK_TEST_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	p, err := Installed(context.Background())
	if err == nil {
		var h *Home
		if h, err = NewHome(); err == nil {
			var s *Server
			if s, err = Start(context.Background(), p, h, Config{Name: "redis-1"}); err == nil {
				fmt.Println(h.dir, s.Addr())
				select {}
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func mustHome(t testing.TB) *Home {
	t.Helper()
	h, err := NewHome()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(h.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the home is still there: %v", err)
		}
	})
	return h
}

func mustProgram(t testing.TB) Program {
	t.Helper()
	p, err := Installed(t.Context())
	if errors.Is(err, ErrMissing) {
		require.Missing(t, "redis", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustStart(t testing.TB, c Config) *Server {
	t.Helper()
	c.Name = "redis-1"
	if err := Faketime(); c.Clock && err != nil {
		require.Missing(t, "faketime", err.Error())
	}
	s, err := Start(t.Context(), mustProgram(t), mustHome(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends an inline command and returns the first line of the reply, and the
// second of a string's.
func ask(t testing.TB, addr, command string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, "$") || line == "$-1" {
			return line
		}
	}
	t.Fatalf("%s: no reply: %v", command, lines.Err())
	return ""
}

// eventually waits until it is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

func TestServerPausesAndGoesOn(t *testing.T) {
	s := mustStart(t, Config{})
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() { answer <- ask(t, s.Addr(), "SET k v") }()
	select {
	case got := <-answer:
		t.Errorf("a server that stands still answers %q", got)
	case <-time.After(50 * time.Millisecond):
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "+OK" {
		t.Errorf("what it was sent meanwhile it answers with %q", got)
	}
}

// What a server still has after it was stopped depends on whether it persists, and
// on what it was told to lose.
func TestServerComesUpAgain(t *testing.T) {
	tests := []struct {
		name       string
		persist    bool
		lose       time.Duration
		old, young string
	}{
		{"with all of its data", true, 0, "v", "v"},
		{"without the last", true, 300 * time.Millisecond, "v", "$-1"},
		{"without any", true, 1 << 62, "$-1", "$-1"},
		{"without a disk", false, 0, "$-1", "$-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mustStart(t, Config{Persist: tt.persist})
			addr := s.Addr()
			ask(t, addr, "SET old v PX 3600000")
			written := time.Now()
			eventually(t, "half a second", func() bool { return time.Since(written) > 500*time.Millisecond })
			ask(t, addr, "SET young v")
			if err := s.Stop(tt.lose); err != nil {
				t.Fatal(err)
			}
			if c, err := net.Dial("tcp", addr); err == nil {
				c.Close()
				t.Error("a server that is down takes connections")
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.Addr() != addr {
				t.Errorf("it has moved from %s to %s", addr, s.Addr())
			}
			if got := ask(t, addr, "GET old"); got != tt.old {
				t.Errorf("the old key is %q, want %q", got, tt.old)
			}
			if got := ask(t, addr, "GET young"); got != tt.young {
				t.Errorf("the young key is %q, want %q", got, tt.young)
			}
			select {
			case <-s.Ended():
				t.Error("a server that was stopped counts as one that has ended")
			default:
			}
		})
	}
}

func TestServerStopsWhileItStandsStill(t *testing.T) {
	s := mustStart(t, Config{})
	if err := errors.Join(s.Pause(), s.Stop(0), s.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s.Addr(), "PING"); got != "+PONG" {
		t.Errorf("it answers %q", got)
	}
	if err := s.Pause(); err != nil { // and is closed so
		t.Fatal(err)
	}
}

func TestServerThatEndsIsNoticed(t *testing.T) {
	s := mustStart(t, Config{})
	select {
	case <-s.Ended():
		t.Fatal("it has ended")
	default:
	}
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		fmt.Fprint(c, "SHUTDOWN NOSAVE\r\n")
		defer c.Close()
	}
	select {
	case <-s.Ended():
	case <-time.After(10 * time.Second):
		t.Error("nobody notices")
	}
	if err := s.Pause(); err == nil || !strings.Contains(err.Error(), "redis-1 is down") {
		t.Errorf("Pause of a server that has ended: %v", err)
	}
}

func TestClock(t *testing.T) {
	s := mustStart(t, Config{Clock: true})
	now := func() time.Duration {
		t.Helper()
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		before := time.Now()
		fmt.Fprint(c, "TIME\r\n")
		lines := bufio.NewScanner(c)
		var said []string
		for len(said) < 5 && lines.Scan() {
			said = append(said, lines.Text())
		}
		var sec, usec int64
		if _, err := fmt.Sscan(said[2]+" "+said[4], &sec, &usec); err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		return time.Unix(sec, usec*1000).Sub(before)
	}
	near := func(what string, got, want, off time.Duration) {
		t.Helper()
		if got < want-off || got > want+off {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	const off = 500 * time.Millisecond
	near("at first", now(), 0, off)
	ask(t, s.Addr(), "SET k v PX 30000")
	if err := s.Jump(-10500 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	near("moved back", now(), -10500*time.Millisecond, off)
	near("moved back, as we say", s.Ahead(), -10500*time.Millisecond, time.Millisecond)
	if err := s.Jump(60 * time.Second); err != nil {
		t.Fatal(err)
	}
	near("moved forward", now(), 49500*time.Millisecond, off)
	if got := ask(t, s.Addr(), "GET k"); got != "$-1" {
		t.Errorf("a key whose end has passed is %q", got)
	}
	if err := s.Drift(1000); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a clock that runs a thousand times as fast gains a minute", func() bool { return now() > 110*time.Second })
	if err := s.Drift(1); err != nil {
		t.Fatal(err)
	}
	stays := s.Ahead()
	near("stays ahead", now(), stays, off)
	if err := errors.Join(s.Stop(0), s.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	near("after it came up again", now(), stays, off)
}

func TestClockThatCannotBeMoved(t *testing.T) {
	s := mustStart(t, Config{})
	for _, err := range []error{s.Jump(time.Second), s.Drift(2)} {
		if err == nil || !strings.Contains(err.Error(), "redis-1 cannot be moved") {
			t.Errorf("got %v", err)
		}
	}
}

func TestManyServersAtOnce(t *testing.T) {
	p, h := mustProgram(t), mustHome(t)
	var starting sync.WaitGroup
	var mu sync.Mutex
	var addrs []string
	for i := range 20 {
		starting.Go(func() {
			s, err := Start(t.Context(), p, h, Config{Name: fmt.Sprint("redis-", i)})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			addrs = append(addrs, s.Addr())
		})
	}
	starting.Wait()
	slices.Sort(addrs)
	if got := len(slices.Compact(addrs)); got != 20 {
		t.Errorf("%d servers", got)
	}
}

// script is a redis-server of few words.
func script(t *testing.T, text string) Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Program{Path: path}
}

func TestServerThatDoesNotStart(t *testing.T) {
	tests := []struct{ name, script, says string }{
		{"ends at once", "exit 3", "exit status 3"},
		{"ends well", "exit 0", "exit status 0"},
		{"says why", `while [ "$1" != --logfile ]; do shift; done; echo it is too hot >"$2"; exit 1`, "the end of its log:\nit is too hot"},
		{"never answers", "exec sleep 600", "it does not answer in time: context deadline exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer stop()
			if tt.name != "never answers" {
				ctx = t.Context()
			}
			_, err := Start(ctx, script(t, tt.script), mustHome(t), Config{Name: "redis-1"})
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "redis-1") {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	p := mustProgram(t)
	h := mustHome(t)
	dir, err := h.make("redis-1")
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := &Server{config: Config{Name: "redis-1"}, program: p, dir: dir, port: taken.Addr().(*net.TCPAddr).Port, gone: make(chan struct{})}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := s.Start(ctx); err == nil || !s.portTaken() {
		t.Errorf("Start on a port in use: %v", err)
	}
}

func TestInstalled(t *testing.T) {
	tests := []struct {
		name, script string
		is           error
		says         string
	}{
		{"too old", `echo "Redis server v=6.2.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64"`, ErrOld, "redis-server 6.2.16"},
		{"new enough", `echo "Redis server v=7.0.0 sha=00000000:0"`, nil, ""},
		{"of two digits", `echo "Redis server v=10.1.2-rc1 sha=00000000:0"`, nil, ""},
		{"something else", "echo hello", nil, "does not say its version"},
		{"broken", "exit 1", nil, "for its version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", filepath.Dir(script(t, tt.script).Path))
			p, err := Installed(t.Context())
			if tt.is == nil && tt.says == "" {
				if err != nil || p.Version == "" {
					t.Errorf("got %+v, %v", p, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %v with %q", err, tt.is, tt.says)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := Installed(t.Context()); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install redis-server") {
			t.Errorf("got %v", err)
		}
	})
}

// A server does not outlive the process that started it, even one that is killed,
// and the next one takes away what it has left.
func TestNothingIsLeftOfAProcessThatIsKilled(t *testing.T) {
	mustProgram(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	host, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var dir, addr string
	if _, err := fmt.Fscan(out, &dir, &addr); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, addr, "PING"); got != "+PONG" {
		t.Fatalf("its server answers %q", got)
	}
	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	<-host.Ended()
	eventually(t, "its server ends", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	mustHome(t)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its home is still there: %v", err)
	}
}

// What is not certainly a home of a process that is gone stays.
func TestSweepLeavesTheRest(t *testing.T) {
	dir := t.TempDir()
	gone := 1 << 30 // more than there are numbers
	for name, marked := range map[string]bool{
		fmt.Sprintf("%s%d-a", homes, gone):        false,
		fmt.Sprintf("%s%d-b", homes, os.Getpid()): true,
		homes + "x-c": true,
		"other":       true,
	} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if marked {
			if err := os.WriteFile(filepath.Join(dir, name, marker), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(dir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("left are %v (%v)", left, err)
	}
	stale := filepath.Join(dir, fmt.Sprintf("%s%d-a", homes, gone))
	if err := os.WriteFile(filepath.Join(stale, marker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sweep(dir)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a home of a process that is gone stays: %v", err)
	}
}
