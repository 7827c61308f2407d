//go:build !linux

package redisd

import "net"

// port is a port of the loopback interface that was free a moment ago.
type port struct{ number int }

// reserve asks the kernel for a free port. It cannot be kept here: two sockets
// cannot be bound to it.
func reserve() (*port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &port{l.Addr().(*net.TCPAddr).Port}, l.Close()
}

func (p *port) release() error { return nil }
