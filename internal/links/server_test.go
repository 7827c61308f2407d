package links

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockpick/internal/resp"
)

// server is a server whose answers a test makes up.
type server struct {
	listener net.Listener
	answer   func(args []string) string // "" for none

	mu    sync.Mutex
	seen  []string        // commands, and "hung up"
	raw   strings.Builder // what has come and is answered
	conns []net.Conn
}

// newServer starts a server that answers OK, and ECHO with its word.
func newServer(t testing.TB) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: listener, answer: func(args []string) string {
		if args[0] == "ECHO" {
			return fmt.Sprintf("$%d\r\n%s\r\n", len(args[1]), args[1])
		}
		return "+OK\r\n"
	}}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			go s.serve(c)
		}
	}()
	t.Cleanup(s.die)
	return s
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	var commands resp.Commands
	b := make([]byte, 64<<10)
	for {
		n, err := c.Read(b)
		if err != nil {
			s.note("hung up")
			return
		}
		all, _ := commands.Feed(b[:n])
		for _, one := range all {
			s.note(strings.Join(one.Args, " "))
			answer := "+OK\r\n"
			if one.Args[0] != "CLIENT" {
				answer = s.answer(one.Args)
			}
			if _, err := c.Write([]byte(answer)); err != nil {
				return
			}
		}
		s.mu.Lock()
		s.raw.Write(b[:n])
		s.mu.Unlock()
	}
}

func (s *server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, what)
}

// say writes to the newest connection.
func (s *server) say(t *testing.T, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.conns[len(s.conns)-1].Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// saw is what has come, without names.
func (s *server) saw() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.seen), func(one string) bool { return strings.HasPrefix(one, "CLIENT SETNAME") })
}

func (s *server) bytes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

func (s *server) wantSeen(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the server saw %q", want), func() bool { return slices.Equal(s.saw(), want) })
}

func (s *server) die() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

func (s *server) addr() string { return s.listener.Addr().String() }
