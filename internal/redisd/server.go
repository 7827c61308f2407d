// Package redisd runs redis-server processes on loopback ports and hurts them:
// they can be stopped in place, killed, brought up again with all, none or all but
// the last of their data, and have their clocks moved.
//
// It knows nothing of topologies, locks or what is stored.
//
// The rule that surprises: a server is never shut down in good order. Whatever
// ends it is SIGKILL, so that what it comes up with is what it had written to its
// disk, and nothing of it outlives this process.
package redisd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"lockpick/internal/child"
)

// Config says what server to start.
type Config struct {
	Name    string   // of its directory, and in errors
	Clock   bool     // its clock can be moved; that needs libfaketime and slows it down by a third
	Persist bool     // what it has stored is there when it comes up again
	Options []string // further options and their values, as on redis-server's command line
}

// Server is a redis-server. It is safe for concurrent use, but for Start, Stop,
// Pause and Resume, which are called one after the other.
type Server struct {
	config  Config
	program Program
	dir     string
	port    int
	clock   *clock   // nil when it cannot be moved
	journal *journal // nil when it does not persist

	mu      sync.Mutex
	process *child.Process // nil while it is down
	gone    chan struct{}  // closed when it has ended and nobody stopped it
}

// tries is how often another port is tried when somebody else was faster.
const tries = 5

// Start starts a server. It answers when Start returns. The error carries the end
// of the server's log.
func Start(ctx context.Context, p Program, h *Home, c Config) (*Server, error) {
	dir, err := h.make(c.Name)
	if err != nil {
		return nil, fmt.Errorf("redisd: start %s: %w", c.Name, err)
	}
	s := &Server{config: c, program: p, dir: dir, gone: make(chan struct{})}
	if c.Clock {
		if s.clock, err = newClock(filepath.Join(dir, "clock")); err != nil {
			return nil, fmt.Errorf("redisd: start %s: %w", c.Name, err)
		}
	}
	for range tries {
		if s.port, err = freePort(); err != nil {
			return nil, fmt.Errorf("redisd: find a port for %s: %w", c.Name, err)
		}
		if err = s.Start(ctx); err == nil || !s.portTaken() {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// freePort asks the system for a port. Somebody else may take it until the server
// does.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // it has served
	return l.Addr().(*net.TCPAddr).Port, nil
}

// log is the file that the server writes to.
func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// portTaken reports whether the server did not start since its port was in use.
func (s *Server) portTaken() bool {
	text, err := os.ReadFile(s.log())
	return err == nil && bytes.Contains(text, []byte("Address already in use"))
}

// Addr is where the server listens, the same after it came up again.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// options are its command line.
func (s *Server) options() []string {
	options := []string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--protected-mode", "no", "--daemonize", "no",
		"--dir", s.dir, "--logfile", s.log(), "--save", "", "--repl-diskless-sync-delay", "0",
	}
	if s.config.Persist {
		options = append(options, "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no",
			"--aof-load-truncated", "yes", "--auto-aof-rewrite-percentage", "0")
	}
	return append(options, s.config.Options...)
}

// Start brings the server up. It answers, and has its data, when Start returns.
func (s *Server) Start(ctx context.Context) error {
	cmd := exec.Command(s.program.Path, s.options()...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TZ=UTC")
	if s.clock != nil {
		cmd.Env = append(cmd.Env, s.clock.env()...)
	}
	if err := os.Truncate(s.log(), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("redisd: start %s: %w", s.config.Name, err)
	}
	p, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("redisd: start %s: %w", s.config.Name, err)
	}
	if err := s.answers(ctx, p); err != nil {
		_ = p.Kill() // what is the matter is told already
		<-p.Ended()
		return fmt.Errorf("redisd: %s does not start: %w%s", s.config.Name, err, s.lastWords())
	}
	if s.config.Persist {
		s.journal = keepJournal(s.dir)
	}
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
	go s.guard(p)
	return nil
}

// guard tells of a server that ends and should not.
func (s *Server) guard(p *child.Process) {
	<-p.Ended()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != p {
		return
	}
	s.process = nil
	select {
	case <-s.gone: // it has been so before, and was started again
	default:
		close(s.gone)
	}
}

// answers waits until the server answers a PING, has ended, or ctx ends.
func (s *Server) answers(ctx context.Context, p *child.Process) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("it was not asked yet")
	for {
		select {
		case <-p.Ended():
			if err := p.Err(); err != nil {
				return err
			}
			return errors.New("it has ended with exit status 0")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer in time: %w (%w)", ctx.Err(), last)
		case <-tick.C:
		}
		if last = s.ping(ctx); last == nil {
			return nil
		}
	}
}

// patience is how long one PING may take.
const patience = time.Second

// ping is nil when the server is ready.
func (s *Server) ping(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the answer has come
	end := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer end()
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	reply := make([]byte, 64)
	n, err := c.Read(reply)
	switch {
	case err != nil:
		return err
	case !bytes.HasPrefix(reply[:n], []byte("+PONG")):
		return fmt.Errorf("it answers %q", reply[:n]) // it loads its data
	}
	return nil
}

// wordsKept is how much of a log goes into an error, in bytes.
const wordsKept = 2 << 10

// lastWords is the end of the log, on lines of its own.
func (s *Server) lastWords() string {
	text, err := os.ReadFile(s.log())
	text = bytes.TrimSpace(text)
	if err != nil || len(text) == 0 {
		return ""
	}
	return "; the end of its log:\n" + string(text[max(0, len(text)-wordsKept):])
}

// running is the process, or an error while it is down.
func (s *Server) running() (*child.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil, fmt.Errorf("redisd: %s is down", s.config.Name)
	}
	return s.process, nil
}

// Pause stops the server where it is. It does nothing more when Pause returns.
func (s *Server) Pause() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	return p.Pause()
}

// Resume lets it go on.
func (s *Server) Resume() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	return p.Resume()
}

// Stop kills the server, paused or not. What it has written in the last stretch of
// time given is not there when it comes up again: nothing at all for one that does
// not persist. It has ended when Stop returns.
func (s *Server) Stop(lose time.Duration) error {
	p, err := s.running()
	if err != nil {
		return err
	}
	if err := s.kill(p); err != nil || s.journal == nil {
		return err
	}
	return s.journal.cut(lose)
}

// kill ends the process for good.
func (s *Server) kill(p *child.Process) error {
	s.mu.Lock()
	s.process = nil
	s.mu.Unlock()
	if err := p.Kill(); err != nil {
		return err
	}
	<-p.Ended()
	if s.journal != nil {
		s.journal.end()
	}
	return nil
}

// Jump moves the server's clock, from its next command on. The ends of keys are
// times of that clock, and stay.
func (s *Server) Jump(by time.Duration) error {
	if s.clock == nil {
		return fmt.Errorf("redisd: the clock of %s cannot be moved", s.config.Name)
	}
	return s.clock.jump(by)
}

// Drift lets the server's clock run at another rate: at 1.1 it gains a tenth.
func (s *Server) Drift(rate float64) error {
	if s.clock == nil {
		return fmt.Errorf("redisd: the clock of %s cannot be moved", s.config.Name)
	}
	return s.clock.drift(rate)
}

// Ahead is how far the server's clock is ahead of the machine's now.
func (s *Server) Ahead() time.Duration {
	if s.clock == nil {
		return 0
	}
	return s.clock.ahead()
}

// Ended is closed when the server has ended and nobody has stopped it.
func (s *Server) Ended() <-chan struct{} { return s.gone }

// Close ends the server. It is called once; nothing is called after it.
func (s *Server) Close() error {
	if s.clock != nil {
		s.clock.stand()
	}
	p, err := s.running()
	if err != nil {
		return nil // it is down already
	}
	return s.kill(p)
}
