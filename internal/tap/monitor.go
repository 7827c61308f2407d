package tap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// Monitor is a connection on which a server says what it executes.
type Monitor struct {
	conn   net.Conn
	closed atomic.Bool
	over   chan struct{}
}

// patience is how long a server may take to begin.
const patience = 5 * time.Second

// Watch connects to the server at addr, "host:port", and calls hear with every
// command that it executes from now on, in order, on a goroutine of its own. When
// the connection ends, it calls ended, once, with nil if that was by Close.
func Watch(ctx context.Context, addr string, hear func(Line), ended func(error)) (*Monitor, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tap: %w", err)
	}
	m := &Monitor{conn: conn, over: make(chan struct{})}
	lines := bufio.NewReaderSize(conn, 64<<10)
	if err := m.begin(ctx, lines); err != nil {
		return nil, errors.Join(fmt.Errorf("tap: MONITOR of %s: %w", addr, err), conn.Close())
	}
	go func() {
		defer close(m.over)
		err := read(lines, hear)
		_ = conn.Close() // it has ended, or is of no use
		if m.closed.Load() {
			err = nil
		}
		ended(err)
	}()
	return m, nil
}

// begin asks for the lines and waits for the server's consent.
func (m *Monitor) begin(ctx context.Context, lines *bufio.Reader) error {
	cut := context.AfterFunc(ctx, func() { _ = m.conn.SetDeadline(time.Unix(1, 0)) })
	defer cut()
	if _, err := m.conn.Write([]byte("MONITOR\r\n")); err != nil {
		return err
	}
	reply, err := lines.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case reply != "+OK\r\n":
		return fmt.Errorf("it answers %q", strings.TrimSpace(reply))
	}
	return nil
}

// read takes line after line.
func read(lines *bufio.Reader, hear func(Line)) error {
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		line, ok := strings.CutPrefix(strings.TrimSuffix(text, "\r\n"), "+")
		if !ok {
			return fmt.Errorf("tap: MONITOR says %.60q", text)
		}
		l, err := Parse(line)
		if err != nil {
			return err
		}
		hear(l)
	}
}

// Close ends the connection. No function is called any more when it returns, and
// it must not be called by one of them.
func (m *Monitor) Close() {
	m.closed.Store(true)
	_ = m.conn.Close() // it may have ended by itself
	<-m.over
}
