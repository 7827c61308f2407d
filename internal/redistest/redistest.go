// Package redistest runs a real redis-server for a test.
//
// Only tests import it. It knows the Redis protocol well enough to take one
// reply after another off a connection, byte for byte, and nothing of what a
// reply means.
//
// The rule that surprises: the server listens on a socket in its own temporary
// directory and on no port, so that servers of tests that run at the same time
// cannot take each other's. A test that needs the addresses of clients asks for a
// port besides, see OnPort.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/internal/child"
	"lockpick/internal/redisd"
	"lockpick/internal/require"
)

// patience is how long the server may take to start and to answer.
const patience = 10 * time.Second

// Server is a redis-server that lives as long as its test.
type Server struct {
	// Version is what the server calls itself, such as "7.0.15".
	Version string

	// Addr is the loopback port that it listens on, "" without OnPort.
	Addr string

	socket  string
	clock   string // the file that says its time, "" when that is the machine's
	process *child.Process
	killed  bool // by its test
}

// Option is a wish of a test.
type Option func(t testing.TB, s *Server)

// OnPort lets the server listen on a free port of the loopback interface as well:
// to the server all clients of a socket have the same address.
func OnPort() Option {
	return func(t testing.TB, s *Server) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Addr = l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Start starts a server whose clock is the machine's. It skips the test when
// there is no redis-server, see the package require.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	return start(t, "", nil, options)
}

// StartAt starts a server whose clock shows the given time and stands still
// there until SetTime moves it. It needs libfaketime besides redis-server and
// skips the test without.
func StartAt(t testing.TB, now time.Time, options ...Option) *Server {
	t.Helper()
	if reason := redisd.Faketime(); reason != "" {
		require.Missing(t, "faketime", reason)
	}
	clock := filepath.Join(t.TempDir(), "clock")
	if err := writeClock(clock, now); err != nil {
		t.Fatal(err)
	}
	return start(t, clock, redisd.FaketimeEnvironment(clock), options)
}

func start(t testing.TB, clock string, env []string, options []Option) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		require.Missing(t, "redis", "there is no redis-server on the PATH")
	}
	dir, err := os.MkdirTemp("", "redistest") //nolint:usetesting // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &Server{socket: filepath.Join(dir, "s"), clock: clock}
	port := "0"
	for _, o := range options {
		o(t, s)
	}
	if s.Addr != "" {
		_, port, _ = net.SplitHostPort(s.Addr) // it is a listener's
	}
	log := filepath.Join(dir, "log")
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--unixsocket", s.socket, "--dir", dir, "--logfile", log,
		"--save", "", "--appendonly", "no", "--daemonize", "no")
	cmd.Env = append(os.Environ(), env...)
	s.run(t, cmd)

	c, err := s.dial()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); c, err = s.dial() {
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		text, _ := os.ReadFile(log) //nolint:errcheck // it is only added to the failure
		t.Fatalf("redis-server does not start: %v\n%s", err, text)
	}
	defer c.Close() //nolint:errcheck // it is only read from
	reply, err := c.Do("INFO", "server")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(reply), "redis_version:")
	s.Version, _, _ = strings.Cut(rest, "\r\n")
	return s
}

// run starts the program and ends it with the test.
func (s *Server) run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	p, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	s.process = p
	t.Cleanup(func() {
		select {
		case <-p.Ended():
			if !s.killed {
				t.Errorf("redis-server has ended before its test: %v", p.Err())
			}
		default:
		}
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		<-p.Ended()
	})
}

// Kill ends the server at once, before its test ends. Its keys are lost.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.killed = true
	if err := s.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.process.Ended()
}

// SetTime moves the clock of a server that StartAt started. The next command
// sees the new time.
func (s *Server) SetTime(now time.Time) error { return writeClock(s.clock, now) }

// writeClock says the time in libfaketime's words for a clock that stands still.
func writeClock(file string, now time.Time) error {
	next := file + ".next" // in its place at one stroke: the server reads at any time
	if err := os.WriteFile(next, fmt.Appendf(nil, "%s\n", now.Add(time.Microsecond/2).UTC().Format("2006-01-02 15:04:05.000000000")), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// Dial connects to the server, by its port if it has one, until the end of the
// test at the latest.
func (s *Server) Dial(t testing.TB) *Conn {
	t.Helper()
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // a second Close is none of the test's business
	return c
}

func (s *Server) dial() (*Conn, error) {
	network, addr := "unix", s.socket
	if s.Addr != "" {
		network, addr = "tcp", s.Addr
	}
	nc, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	return NewConn(nc), nil
}
