// Package redisd runs real redis-servers and Sentinels as child processes on
// loopback ports, and hurts them: it pauses them, kills them, brings them up
// again with all, none or all but the last part of their data, and moves their
// clocks.
//
// It knows the processes and their files. It knows no lock, no history and no
// fault, and of the Redis protocol what it takes to see that a server is up.
//
// The rule that surprises: a server's port is bound by this process too, for as
// long as the Server is there, on a socket that does not listen. Redis can bind
// it besides, and nobody is given it while the server is down, so that it has
// the same address after a restart. Only Linux allows that; elsewhere the port
// can be lost.
package redisd

import (
	"errors"
	"time"
)

var (
	// ErrMissing means that there is no redis-server.
	ErrMissing = errors.New("redis-server is not installed: install Redis 7.0 or newer (Debian: apt-get install redis-server) and have it on the PATH")

	// ErrOld means that redis-server is older than 7.0, which says when a key ends.
	ErrOld = errors.New("redis-server is too old: Redis 7.0 or newer is needed (Debian: apt-get install redis-server)")

	// ErrNoClock means that a server's clock cannot be moved, because there is no
	// libfaketime, or because the server was started without it.
	ErrNoClock = errors.New("its clock cannot be moved")

	// ErrDown means that the server does not run now.
	ErrDown = errors.New("it does not run")

	// ErrClosed means that the Server or its Home was closed.
	ErrClosed = errors.New("it was closed")
)

const (
	// patience is how long a server may take to answer once it was started, unless
	// the context ends before.
	patience = 30 * time.Second

	// soon is how long the kernel may take to end a process that was killed.
	soon = 10 * time.Second

	// portTries is how often a new server is given another port because the one it
	// was to have is taken.
	portTries = 5
)

// Config says what a server is.
type Config struct {
	Name    string // such as "redis-1", one of its own in its Home
	Clock   bool   // its clock can be moved; this needs libfaketime, and costs it a third of its speed
	Persist bool   // its data survive a restart: an append-only file, which each command reaches before its reply leaves

	// Options are further settings as on the command line of redis-server, each a
	// name and its values: "--replicaof", "127.0.0.1", "7001". They come after ours,
	// and so take the place of them.
	Options []string
}
