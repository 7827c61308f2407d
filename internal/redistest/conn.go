package redistest

import (
	"bufio"
	"net"
	"strconv"
	"time"

	"lockpick/internal/resp"
)

// Conn is a connection to a server, used by one goroutine at a time.
type Conn struct {
	nc net.Conn
	r  *bufio.Reader
}

// NewConn returns a connection over nc, which need not lead to a Server.
func NewConn(nc net.Conn) *Conn { return &Conn{nc: nc, r: bufio.NewReader(nc)} }

// Close ends the connection.
func (c *Conn) Close() error { return c.nc.Close() }

// LocalAddr is the address by which the server knows the client, if it listens on
// a port.
func (c *Conn) LocalAddr() string { return c.nc.LocalAddr().String() }

// Do sends a command and returns the bytes of its reply.
func (c *Conn) Do(args ...string) ([]byte, error) {
	if err := c.Send(args...); err != nil {
		return nil, err
	}
	return c.Receive()
}

// Send sends a command and waits for nothing.
func (c *Conn) Send(args ...string) error {
	if err := c.nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.nc.Write(Command(args...))
	return err
}

// Command returns the bytes of a command.
func Command(args ...string) []byte {
	return resp.AppendCommand(nil, args...)
}

// Receive returns the bytes of the next reply, of RESP2 or RESP3.
func (c *Conn) Receive() ([]byte, error) { return c.receive(nil) }

func (c *Conn) receive(b []byte) ([]byte, error) {
	line, err := c.r.ReadBytes('\n')
	b = append(b, line...)
	if err != nil {
		return b, err
	}
	parts, size := 0, -1
	if n, err := strconv.Atoi(string(line[1 : len(line)-2])); err == nil {
		switch line[0] {
		case '$', '=', '!':
			size = n
		case '*', '~', '>':
			parts = n
		case '%':
			parts = 2 * n
		}
	}
	if size >= 0 {
		body := make([]byte, size+2)
		for n := 0; n < len(body); {
			m, err := c.r.Read(body[n:])
			if err != nil {
				return b, err
			}
			n += m
		}
		b = append(b, body...)
	}
	for range parts {
		if b, err = c.receive(b); err != nil {
			return b, err
		}
	}
	return b, nil
}
