package engine

import (
	"bufio"

	"github.com/alicebob/miniredis/v2/server"
)

// Session is an engine's side of one connection: the protocol that it speaks, the
// database that it has selected, its transaction and the keys that it watches,
// and the reply that is being written. It is used by its engine's goroutine.
type Session struct {
	// Peer is where the reply is written. Whoever answers a command in the engine's
	// place writes there too.
	Peer *server.Peer

	reply   replyBuffer
	queues  bool       // in a transaction: commands are queued
	queue   [][]string // until EXEC
	watched []watchedKey
	dirty   bool // a command was refused while it queued: EXEC will fail
	number  int  // of the connection, 0 until it is asked for
	db      int  // the database it has selected
}

// watchedKey is a key that WATCH was told, in its database.
type watchedKey struct {
	db  int
	key string
}

// replySize is that of a session's buffer, in bytes. A reply may be longer; those
// of locks are not.
const replySize = 1 << 10

// NewSession returns that of a new connection, which speaks RESP2.
func NewSession() *Session {
	s := &Session{}
	s.Peer = server.NewPeer(bufio.NewWriterSize(&s.reply, replySize))
	return s
}

// Reply takes what was written since it was last called: the bytes that go to the
// client. They are the caller's.
func (s *Session) Reply() []byte {
	s.Peer.Flush()
	b := s.reply.bytes
	s.reply.bytes = nil
	return b
}

// Queues reports whether the connection is in a transaction: what it sends waits
// for EXEC.
func (s *Session) Queues() bool { return s.queues }

// Queue returns what waits.
func (s *Session) Queue() [][]string { return s.queue }

// replyBuffer collects what is written to a peer.
type replyBuffer struct {
	bytes []byte
}

// Write implements io.Writer.
func (b *replyBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}
