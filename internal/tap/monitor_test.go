package tap

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/internal/redistest"
)

func TestWatch(t *testing.T) {
	server := redistest.Start(t, redistest.OnPort())
	c := server.Dial(t)
	lines := make(chan Line, 10)
	ended := make(chan error, 10)
	m, err := Watch(context.Background(), server.Addr, func(l Line) { lines <- l }, func(err error) { ended <- err })
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	args := []string{"SET", "k", "a\r\n\"\\\x00\xff"}
	mustDo(t, c, args...)
	l := <-lines
	if !slices.Equal(l.Args, args) || l.From != c.LocalAddr() || l.DB != 0 || l.At.Sub(before).Abs() > 10*time.Second {
		t.Errorf("it was told of %v", l)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("after Close: %v", err)
	}
	mustDo(t, c, "SET", "k", "2")
	select {
	case l := <-lines:
		t.Errorf("after Close it was told of %v", l)
	case err := <-ended:
		t.Errorf("it ended again: %v", err)
	default:
	}
}

func TestServerIsKilled(t *testing.T) {
	server := redistest.Start(t, redistest.OnPort())
	ended := make(chan error, 10)
	m, err := Watch(context.Background(), server.Addr, func(Line) {}, func(err error) { ended <- err })
	if err != nil {
		t.Fatal(err)
	}
	server.Kill(t)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), server.Addr) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it has not ended within 10 s")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if len(ended) > 0 {
		t.Error("it ended twice")
	}
	if _, err := Watch(context.Background(), server.Addr, func(Line) {}, func(error) {}); err == nil {
		t.Error("a server that is not there is watched")
	}
}

// fake listens as a server that says something to whoever connects.
func fake(t *testing.T, says string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close() //nolint:errcheck // the client has gone
				_, _ = io.WriteString(c, says)
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}

func TestServerRefuses(t *testing.T) {
	_, err := Watch(context.Background(), fake(t, "-NOAUTH Authentication required.\r\n"), func(Line) {}, func(error) {})
	if err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("Watch: %v", err)
	}
}

func TestServerIsSilent(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := Watch(ctx, fake(t, ""), func(Line) {}, func(error) {})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch: %v", err)
	}
}

// What cannot be read ends the Monitor, with what came before.
func TestNoLine(t *testing.T) {
	for _, bad := range []string{"+OK\r\n", "-ERR no\r\n", "1.000000 [0 a] \"x\"\r\n"} {
		heard, ended := 0, make(chan error, 1)
		m, err := Watch(context.Background(), fake(t, "+OK\r\n+1.000000 [0 a] \"PING\"\r\n"+bad), func(Line) { heard++ }, func(err error) { ended <- err })
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil || heard != 1 {
			t.Errorf("%q after a line: %d lines and %v", bad, heard, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What has arrived and was not heard when Close is called is not heard at all.
func TestCloseIsTheEnd(t *testing.T) {
	lines := strings.Repeat("+1.000000 [0 a] \"PING\"\r\n", 50)
	heard, first, watched := 0, make(chan struct{}), make(chan *Monitor, 1)
	m, err := Watch(context.Background(), fake(t, "+OK\r\n"+lines), func(Line) {
		if heard++; heard > 1 {
			return
		}
		m := <-watched
		close(first)
		for end := time.Now().Add(10 * time.Second); !m.closed.Load() && time.Now().Before(end); runtime.Gosched() {
		}
	}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	watched <- m
	<-first
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if heard != 1 {
		t.Errorf("%d lines were heard, most of them after Close was called", heard)
	}
}
