package redisd

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	h := mustHome(t)
	s := mustStart(t, h, Config{Name: "redis-1", Options: []string{"--maxmemory", "100mb", "--client-output-buffer-limit", "replica", "0", "0", "0", "--databases", "2"}})
	mustDo(t, s, "*2\r\n$9\r\nmaxmemory\r\n$9\r\n104857600\r\n", "CONFIG", "GET", "maxmemory")
	mustDo(t, s, "*2\r\n$9\r\ndatabases\r\n$1\r\n2\r\n", "CONFIG", "GET", "databases")
	replica := mustStart(t, h, Config{Name: "redis-2", Options: append([]string{"--replicaof"}, strings.Split(s.Addr(), ":")...)})
	mustDo(t, s, "+OK\r\n", "SET", "k", "v")
	waitFor(t, "the replica has the key", func() bool { return do(t, replica, "GET", "k") == "$1\r\nv\r\n" })
}

func TestSettingsThatAreWrong(t *testing.T) {
	h, p := mustHome(t), mustProgram(t)
	mustStart(t, h, Config{Name: "redis-1"})
	for _, tt := range []struct {
		name string
		c    Config
		want string
	}{
		{"no name", Config{}, "no name"},
		{"a name that leads elsewhere", Config{Name: "../x"}, "no name"},
		{"a name that is taken", Config{Name: "redis-1"}, "there is a redis-1"},
		{"a setting that Redis does not know", Config{Name: "redis-2", Options: []string{"--no-such-setting", "1"}}, "Bad directive"},
		{"a value without a setting", Config{Name: "redis-2", Options: []string{"maxmemory", "1"}}, "begin with"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Start(t.Context(), p, h, tt.c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start: %v, want %q", err, tt.want)
			}
		})
	}
	mustStart(t, h, Config{Name: "redis-2"}) // nothing of those that failed is in its way
}

// taken is a port that somebody listens on.
func taken(t *testing.T) *port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p, err := reserve()
	must(t, err)
	p.number = l.Addr().(*net.TCPAddr).Port
	return p
}

func TestPortIsTaken(t *testing.T) {
	h, p := mustHome(t), mustProgram(t)
	for _, tt := range []struct {
		name  string
		taken int
		fails bool
	}{
		{"the next one is free", portTries - 1, false},
		{"every one", portTries, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tries := 0
			s, err := startServer(t.Context(), p, h, Config{Name: "redis-1"}, func() (*port, error) {
				if tries++; tries <= tt.taken {
					return taken(t), nil
				}
				return reserve()
			})
			if tt.fails {
				if !errors.Is(err, errPortTaken) || !strings.Contains(err.Error(), "already in use") {
					t.Errorf("Start: %v, want %v", err, errPortTaken)
				}
				return
			}
			must(t, err)
			mustDo(t, s, "+PONG\r\n", "PING")
			must(t, s.Close())
		})
	}
}

// A server that answers at the port is not taken for ours.
func TestAnotherServerHasThePort(t *testing.T) {
	h, p := mustHome(t), mustProgram(t)
	other := mustStart(t, h, Config{Name: "redis-1"})
	_, number, err := net.SplitHostPort(other.Addr())
	must(t, err)
	_, err = startServer(t.Context(), p, h, Config{Name: "redis-2"}, func() (*port, error) {
		reserved, err := reserve()
		if err == nil {
			reserved.number, err = strconv.Atoi(number)
		}
		return reserved, err
	})
	if !errors.Is(err, errPortTaken) {
		t.Errorf("Start: %v, want %v", err, errPortTaken)
	}
}

// Nobody is given the port of a server that is down.
func TestPortIsKept(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux lets two sockets be bound to a port")
	}
	p, err := reserve()
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(p.number))
	if err != nil {
		t.Errorf("whoever asks for it, as redis-server does, is refused: %v", err)
	} else {
		must(t, l.Close())
	}
	for range 3000 {
		other, err := reserve()
		must(t, err)
		defer func() { _ = other.release() }()
		if other.number == p.number {
			t.Fatal("it was given away")
		}
	}
	must(t, p.release())
}

func TestFakePrograms(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		wait         time.Duration // until the context ends, 0 for never
		want         []string
	}{
		{"one that dies at once", "echo last words; echo more of them >&2; exit 3", 0, []string{"exit status 3", "last words\nmore of them"}},
		{"one that ends well and says nothing", "exit 0", 0, []string{"exit status 0", "log is empty"}},
		{"one that never answers", "echo I hang; sleep 1000 & wait", 300 * time.Millisecond, []string{"deadline exceeded", "I hang"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, h, ctx := fake(t, "echo $$ >"+t.TempDir()+"/number\n"+tt.script), mustHome(t), t.Context()
			if tt.wait > 0 {
				limited, cancel := context.WithTimeout(ctx, tt.wait)
				defer cancel()
				ctx = limited
			}
			begun := time.Now()
			_, err := Start(ctx, p, h, Config{Name: "redis-1"})
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Start: %v, want %q", err, want)
				}
			}
			if took := time.Since(begun); took > tt.wait+5*time.Second {
				t.Errorf("it took %v", took)
			}
			if left := filesBelow(t, h.Dir()); len(left) != 1 {
				t.Errorf("these files are left: %q", left)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	p, h := fake(t, "exec sleep 1000"), mustHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Start(ctx, p, h, Config{Name: "redis-1"})
		done <- err
	}()
	waitFor(t, "its process is there", func() bool { return len(filesBelow(t, h.Dir())) > 5 })
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Start: %v, want %v", err, context.Canceled)
		}
	case <-time.After(bound):
		t.Fatal("it still waits")
	}
	if _, err := Start(ctx, p, h, Config{Name: "redis-1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a context that has ended: %v, want %v", err, context.Canceled)
	}
}

// Close does not wait for a Start that waits for an answer: it ends it.
func TestCloseEndsStart(t *testing.T) {
	p, h := fake(t, "exec sleep 1000"), mustHome(t)
	done := make(chan error)
	go func() {
		_, err := Start(t.Context(), p, h, Config{Name: "redis-1"})
		done <- err
	}()
	waitFor(t, "its process is there", func() bool { return len(filesBelow(t, h.Dir())) > 5 })
	must(t, h.Close())
	select {
	case err := <-done:
		if err == nil {
			t.Error("Start: no error in a home that was closed")
		}
	case <-time.After(bound):
		t.Fatal("it still waits")
	}
}

// A server that does not come up again is down, and comes up when it can.
func TestStartFailsLater(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	mustDo(t, s, "+OK\r\n", "SET", "k", "v")
	must(t, s.Stop(0))
	program := s.program
	s.program = fake(t, "exit 3")
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Start: %v", err)
	}
	s.program = program
	must(t, s.Start(t.Context()))
	mustDo(t, s, "$1\r\nv\r\n", "GET", "k")
}

// However far a Start has come when its home is closed, nothing is left.
func TestHomeClosesDuringStarts(t *testing.T) {
	p := mustProgram(t)
	for i := range 15 {
		h := mustHome(t)
		done := make(chan error)
		for n := range 2 {
			go func() {
				_, err := Start(t.Context(), p, h, Config{Name: "redis-" + strconv.Itoa(n), Persist: true, Clock: Faketime() == ""})
				done <- err
			}()
		}
		waitFor(t, "some of it is there", func() bool { return len(filesBelow(t, h.Dir())) > i })
		must(t, h.Close())
		for range 2 {
			if err := <-done; err != nil && !strings.HasPrefix(err.Error(), "redisd: start redis-") {
				t.Error(err)
			}
		}
		if left := filesBelow(t, os.TempDir()); len(left) > 0 {
			t.Fatalf("these files are left: %q", left)
		}
	}
}
