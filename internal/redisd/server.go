package redisd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// Server is a redis-server or a Sentinel, whose process comes and goes. It is safe
// for concurrent use: Stop, Start, Pause and Resume wait for each other, Close ends
// what they wait for, and nothing else waits.
type Server struct {
	name      string
	addr      string
	dir       string
	home      *Home
	program   Program
	arguments []string
	port      *port
	clock     *clock // nil when it cannot be moved
	data      *data
	greet     func(ctx context.Context) error // what it is told once it is up

	turn sync.Mutex // of the one verb that is at work

	mu     sync.Mutex
	life   *life // the newest
	closed bool

	once   sync.Once
	closes error
}

// plan is what is different between servers and Sentinels.
type plan struct {
	name     string
	settings settings
	flags    []string
	clock    bool
	persist  bool
	ports    func() (*port, error)
	greeting []string // a command, if any
}

var namePattern = regexp.MustCompile(`^[0-9A-Za-z][-_.0-9A-Za-z]*$`)

// Start starts a server on a free port and returns when it answers. One that fails
// to start leaves nothing, and the error has the last lines of its log. It waits no
// longer than 30 s.
func Start(ctx context.Context, p Program, h *Home, c Config) (*Server, error) {
	return startServer(ctx, p, h, c, reserve)
}

func startServer(ctx context.Context, p Program, h *Home, c Config, ports func() (*port, error)) (*Server, error) {
	lines, err := ofServer(c)
	if err != nil {
		return nil, fmt.Errorf("redisd: start %s: %w", c.Name, err)
	}
	return p.start(ctx, h, plan{name: c.Name, settings: lines, clock: c.Clock, persist: c.Persist, ports: ports})
}

// start carries out a plan, on another port when the one is taken.
func (p Program) start(ctx context.Context, h *Home, n plan) (*Server, error) {
	if !namePattern.MatchString(n.name) {
		return nil, fmt.Errorf("redisd: start a server: %q is no name for it: a name has letters, digits, - and no spaces", n.name)
	}
	if n.clock && preload() == "" {
		return nil, fmt.Errorf("redisd: start %s: %w: %s", n.name, ErrNoClock, Faketime())
	}
	var err error
	for range portTries {
		s := p.prepare(h, n)
		if err = s.first(ctx, n); err == nil {
			return s, nil
		}
		if clearing := s.Close(); clearing != nil {
			return nil, errors.Join(err, clearing)
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, err
}

// prepare makes a server that has nothing yet that must be cleared away.
func (p Program) prepare(h *Home, n plan) *Server {
	s := &Server{name: n.name, home: h, program: p, dir: filepath.Join(h.dir, n.name)}
	s.data = &data{dir: s.file("data"), kept: n.persist}
	s.arguments = append([]string{s.file("redis.conf")}, n.flags...)
	s.greet = func(ctx context.Context) error {
		if n.greeting == nil {
			return nil
		}
		replies, err := ask(ctx, s.addr, n.greeting)
		if err == nil && string(replies[0]) != "+OK\r\n" {
			err = fmt.Errorf("it answers %q to %q", replies[0], n.greeting)
		}
		return err
	}
	return s
}

// first makes what the server needs to run, and starts it.
func (s *Server) first(ctx context.Context, n plan) error {
	s.turn.Lock() // its home may be closed already
	defer s.turn.Unlock()
	if err := s.build(n); err != nil {
		return fmt.Errorf("redisd: start %s: %w", n.name, err)
	}
	return s.run(ctx)
}

// build makes what the server needs to run.
func (s *Server) build(n plan) error {
	if err := s.home.add(s); err != nil {
		return err
	}
	if err := os.Mkdir(s.data.dir, 0o700); err != nil {
		return err
	}
	var err error
	if n.clock {
		if s.clock, err = newClock(s.file("clock")); err != nil {
			return err
		}
	}
	if s.port, err = n.ports(); err != nil {
		return fmt.Errorf("find a port: %w", err)
	}
	s.addr = fmt.Sprintf("127.0.0.1:%d", s.port.number)
	// the server writes the file anew when it is told to, as by a Sentinel that
	// makes it a primary: so it is still one after a restart
	text := append(onLoopback(s.port.number, s.data.dir), n.settings...).String()
	return os.WriteFile(s.arguments[0], []byte(text), 0o600)
}

// Name is the name that it was given.
func (s *Server) Name() string { return s.name }

// Addr is its address, 127.0.0.1 and a port, always the same.
func (s *Server) Addr() string { return s.addr }

// Ended returns a channel that is closed when the process that runs now, or ran
// last, has ended by itself and not by Stop or Close.
func (s *Server) Ended() <-chan struct{} { return s.current().crashed }

// Log is the end of what it logged, in words that can follow an error.
func (s *Server) Log() string { return s.lastWords(0) }

// current is the newest process.
func (s *Server) current() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends it and removes what it kept. Closing it again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	l := s.life
	s.mu.Unlock()
	var err error
	if l != nil {
		err = s.end(l) // whoever waits for it does so no longer
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.once.Do(func() { s.closes = s.clear(err) })
	return s.closes
}

func (s *Server) clear(err error) error {
	if s.clock != nil {
		err = errors.Join(err, s.clock.close())
	}
	if s.port != nil {
		err = errors.Join(err, s.port.release())
	}
	if s.home.forget(s) {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	if err != nil {
		return fmt.Errorf("redisd: close %s: %w", s.name, err)
	}
	return nil
}
