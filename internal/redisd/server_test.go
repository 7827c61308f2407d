package redisd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/internal/resp"
)

func TestStopAndStart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		persist bool
		lose    time.Duration
		want    string
	}{
		{"all is kept", true, 0, "$1\r\nv\r\n"},
		{"all is lost", true, 1<<63 - 1, "$-1\r\n"},
		{"what never was on disk is lost", false, 0, "$-1\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: tt.persist})
			addr := s.Addr()
			for range 2 { // a server that was restarted is as good as new
				mustDo(t, s, "+OK\r\n", "SET", "k", "v")
				must(t, s.Stop(tt.lose))
				if !refused(addr) {
					t.Error("somebody listens at the address of a server that is down")
				}
				must(t, s.Start(t.Context()))
				if s.Addr() != addr {
					t.Errorf("its address was %s and is %s", addr, s.Addr())
				}
				mustDo(t, s, tt.want, "GET", "k")
			}
			select {
			case <-s.Ended():
				t.Error("it is said to have ended by itself")
			default:
			}
		})
	}
}

// The end of a key is a time, which a restart does not move.
func TestKeysEndAllTheSame(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	mustDo(t, s, "+OK\r\n", "SET", "k", "v", "PX", "100000")
	before := do(t, s, "PEXPIRETIME", "k")
	must(t, s.Stop(0))
	must(t, s.Start(t.Context()))
	mustDo(t, s, before, "PEXPIRETIME", "k")
}

func TestStoppedTwice(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	mustDo(t, s, "+OK\r\n", "SET", "k", "v")
	must(t, s.Stop(0))
	if err := s.Pause(); !errors.Is(err, ErrDown) {
		t.Errorf("Pause of a server that is down: %v, want %v", err, ErrDown)
	}
	must(t, s.Resume())
	must(t, s.Stop(0))
	must(t, s.Start(t.Context()))
	pid := pidOf(s)
	must(t, s.Start(t.Context()))
	if pidOf(s) != pid {
		t.Error("a server that ran was started again")
	}
	mustDo(t, s, "$1\r\nv\r\n", "GET", "k")
}

// A command that was sent to a server that stands still is done when it goes on.
func TestPause(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1"})
	c, err := net.Dial("tcp", s.Addr())
	must(t, err)
	defer c.Close()
	must(t, s.Pause())
	if _, err := os.Stat("/proc/self"); err == nil && !standsStill(pidOf(s)) {
		t.Error("it runs after Pause has returned")
	}
	_, err = c.Write(resp.AppendCommand(nil, "SET", "k", "v"))
	must(t, err)
	must(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	reply := make([]byte, 16)
	if n, err := c.Read(reply); err == nil {
		t.Fatalf("a server that stands still answers %q", reply[:n])
	}
	must(t, s.Resume())
	must(t, c.SetReadDeadline(time.Now().Add(bound)))
	if n, err := c.Read(reply); err != nil || string(reply[:n]) != "+OK\r\n" {
		t.Errorf("after the pause it answers %q, %v", reply[:n], err)
	}
}

func TestEndsWhilePaused(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*Server) error
	}{
		{"closed", (*Server).Close},
		{"stopped", func(s *Server) error { return s.Stop(0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustStart(t, mustHome(t), Config{Name: "redis-1"})
			must(t, s.Pause())
			pid := pidOf(s)
			must(t, tt.end(s))
			if exists(pid) {
				t.Error("its process still runs")
			}
			must(t, s.Resume())
		})
	}
}

// A server that was stopped while it stood still runs when it is started again.
func TestStartsAfterPause(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1"})
	must(t, s.Pause())
	must(t, s.Stop(0))
	must(t, s.Start(t.Context()))
	mustDo(t, s, "+PONG\r\n", "PING")
}

func TestEndsByItself(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	mustDo(t, s, "+OK\r\n", "SET", "k", "v")
	ended := s.Ended()
	if _, err := ask(t.Context(), s.Addr(), []string{"SHUTDOWN", "NOSAVE"}); err == nil {
		t.Fatal("it answers SHUTDOWN")
	}
	select {
	case <-ended:
	case <-time.After(bound):
		t.Fatal("nobody is told that it has ended")
	}
	if !strings.Contains(s.Log(), "User requested shutdown") {
		t.Errorf("its log does not say so:\n%s", s.Log())
	}
	must(t, s.Start(t.Context()))
	select {
	case <-s.Ended():
		t.Error("it is said to have ended after it was started again")
	default:
	}
	mustDo(t, s, "$1\r\nv\r\n", "GET", "k")
}

func TestClosed(t *testing.T) {
	needFaketime(t)
	h := mustHome(t)
	s := mustStart(t, h, Config{Name: "redis-1", Clock: true})
	must(t, s.Drift(1.5))
	mustLeaveNothing(t, s)
	mustLeaveNothing(t, s)
	if err := s.Start(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Start: %v, want %v", err, ErrClosed)
	}
	if err := s.Jump(time.Second); !errors.Is(err, ErrClosed) {
		t.Errorf("Jump: %v, want %v", err, ErrClosed)
	}
	if err := s.Stop(0); !errors.Is(err, ErrClosed) {
		t.Errorf("Stop: %v, want %v", err, ErrClosed)
	}
	if err := s.Pause(); !errors.Is(err, ErrDown) {
		t.Errorf("Pause: %v, want %v", err, ErrDown)
	}
	must(t, h.Close())
	if _, err := Start(t.Context(), mustProgram(t), h, Config{Name: "redis-2"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Start in a home that is closed: %v, want %v", err, ErrClosed)
	}
}

func TestHomeClosesItsServers(t *testing.T) {
	h := mustHome(t)
	var pids []int
	for i := range 3 {
		pids = append(pids, pidOf(mustStart(t, h, Config{Name: fmt.Sprint("redis-", i), Persist: true})))
	}
	must(t, h.Close())
	for _, pid := range pids {
		if exists(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	h, p := mustHome(t), mustProgram(t)
	clocks := Faketime() == ""
	var all sync.WaitGroup
	servers := make([]*Server, 20)
	begun := time.Now()
	for i := range servers {
		all.Go(func() {
			s, err := Start(t.Context(), p, h, Config{Name: fmt.Sprint("redis-", i), Persist: i%2 == 0, Clock: clocks && i%3 == 0})
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	all.Wait()
	t.Logf("20 servers after %v", time.Since(begun))
	if t.Failed() {
		return
	}
	ports := map[string]bool{}
	for i, s := range servers {
		ports[s.Addr()] = true
		mustDo(t, s, "+OK\r\n", "SET", "k", strconv.Itoa(i))
	}
	if len(ports) != len(servers) {
		t.Errorf("%d servers have %d addresses", len(servers), len(ports))
	}
	for i, s := range servers {
		closed := i%4 == 0
		all.Go(func() {
			for _, err := range []error{s.Pause(), s.Stop(0), s.Start(t.Context())} {
				if err != nil && !(closed && (errors.Is(err, ErrClosed) || errors.Is(err, ErrDown))) {
					t.Error(err)
				}
			}
		})
		if closed {
			all.Go(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}

// What a server is told to remember of its settings it knows after a restart: so a
// replica that was made a primary is still one.
func TestRoleIsKept(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Options: []string{"--replicaof", "127.0.0.1", "1"}})
	for _, args := range [][]string{{"REPLICAOF", "NO", "ONE"}, {"CONFIG", "REWRITE"}} {
		mustDo(t, s, "+OK\r\n", args...)
	}
	must(t, s.Stop(time.Hour))
	must(t, s.Start(t.Context()))
	if got := do(t, s, "ROLE"); !strings.Contains(got, "master") {
		t.Errorf("its role is %q", got)
	}
}

// A replica that lost its data comes up without what its primary had sent, which
// is a file that it would load.
func TestReplicaLosesEverything(t *testing.T) {
	for _, persist := range []bool{false, true} {
		t.Run(fmt.Sprintf("persist is %t", persist), func(t *testing.T) {
			h := mustHome(t)
			primary := mustStart(t, h, Config{Name: "redis-1"})
			mustDo(t, primary, "+OK\r\n", "SET", "k", "v")
			s := mustStart(t, h, Config{Name: "redis-2", Persist: persist, Options: append([]string{"--replicaof"}, strings.Split(primary.Addr(), ":")...)})
			waitFor(t, "the replica has the key", func() bool { return do(t, s, "GET", "k") == "$1\r\nv\r\n" })
			if persist {
				waitFor(t, "the file is written anew", func() bool {
					return strings.Contains(do(t, s, "INFO", "persistence"), "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0")
				})
			}
			must(t, primary.Stop(0))
			must(t, s.Stop(time.Hour))
			must(t, s.Start(t.Context()))
			mustDo(t, s, "$-1\r\n", "GET", "k")
		})
	}
}
