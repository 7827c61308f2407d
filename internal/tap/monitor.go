package tap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
)

// Monitor is a connection on which a server prints what it executes.
type Monitor struct {
	conn   net.Conn
	closed atomic.Bool
	done   chan struct{} // closed when nothing more is heard
}

// Watch connects to addr, a host with a port or the path of a unix socket, and
// returns when the server has agreed to print what it executes: every command that
// is sent from then on is heard. ctx counts until then.
//
// hear gets every line in order, on a goroutine of the Monitor's own, and must keep
// up: Redis drops a client that does not read. After the last one ended is called,
// once, with nil after Close, else with what ended the connection, which may be a
// line that cannot be read.
func Watch(ctx context.Context, addr string, hear func(Line), ended func(error)) (*Monitor, error) {
	network := "tcp"
	if strings.Contains(addr, "/") {
		network = "unix"
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("tap: watch: %w", err)
	}
	r := bufio.NewReader(conn)
	if err := begin(ctx, conn, r); err != nil {
		_ = conn.Close() // there is an error already
		return nil, fmt.Errorf("tap: watch %s: %w", addr, err)
	}
	m := &Monitor{conn: conn, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		err := m.listen(r, hear)
		_ = conn.Close() // nothing more is wanted from it
		if m.closed.Load() {
			ended(nil)
			return
		}
		ended(fmt.Errorf("tap: monitor of %s: %w", addr, err))
	}()
	return m, nil
}

// begin asks the server to print.
func begin(ctx context.Context, conn net.Conn, r *bufio.Reader) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends what waits below
	_, err := io.WriteString(conn, "*1\r\n$7\r\nMONITOR\r\n")
	reply := ""
	if err == nil {
		reply, err = r.ReadString('\n')
	}
	switch {
	case !stop():
		return ctx.Err()
	case err != nil:
		return err
	case reply != "+OK\r\n":
		return fmt.Errorf("the server answers %q", strings.TrimSpace(reply))
	}
	return nil
}

// listen reads lines until the connection ends or Close is called.
func (m *Monitor) listen(r *bufio.Reader, hear func(Line)) error {
	for !m.closed.Load() {
		text, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		text, ok := strings.CutPrefix(strings.TrimSuffix(text, "\r\n"), "+")
		if !ok {
			return fmt.Errorf("the server says %.200q", text)
		}
		l, err := Parse(text)
		if err != nil {
			return err
		}
		hear(l)
	}
	return nil
}

// Close ends the connection, and returns when no call of hear or ended is under way
// or will come. It must not be called from one of them. A second Close does
// nothing.
func (m *Monitor) Close() error {
	m.closed.Store(true)
	err := m.conn.Close()
	<-m.done
	if err != nil && !errors.Is(err, net.ErrClosed) { // it may have ended before
		return fmt.Errorf("tap: close: %w", err)
	}
	return nil
}
