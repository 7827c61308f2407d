package redisd

import (
	"errors"
	"os"
	"syscall"
)

// port is a port of the loopback interface that nobody else is given.
type port struct {
	number int
	socket *os.File
}

// reserve asks the kernel for a free port and keeps it: the kernel gives no port
// away that a socket is bound to, neither to who asks for any nor to a connection
// that goes out, and lets redis-server, which says SO_REUSEADDR, bind it as long
// as this one does not listen.
func reserve() (*port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{socket: os.NewFile(uintptr(fd), "port")}
	if p.number, err = bindAny(fd); err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

func bindAny(fd int) (number int, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}

func (p *port) release() error { return p.socket.Close() }
