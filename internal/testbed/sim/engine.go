package sim

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// engine executes Redis commands as redis-server does: miniredis, without its
// network and with a clock that its node moves. What miniredis answers in another
// way than Redis is answered here, see newAnswers; docs/fidelity.md says what still
// differs.
type engine struct {
	db      *miniredis.Miniredis
	scripts *scripts
	refused string // a command that it does not support and was asked for

	answers map[string]func(*call) bool
	now     time.Time // what its clock shows
	hash    func(script string) string
	asking  *session // whose command is being executed
	wrote   bool     // it, or what it called, may have changed a key
	opened  int      // connections that had a number, for CLIENT ID
}

// newEngine starts miniredis. It is called outside of virtual time.
func newEngine() (*engine, error) {
	db := miniredis.NewMiniRedis()
	// the only way to a server that listens nowhere; the connection is not needed
	c, err := db.Dial()
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	db.Seed(1) // else it throws the process's dice
	e := &engine{db: db, asking: &session{}, hash: sha1Hex, answers: newAnswers()}
	e.scripts, err = newScripts(e.run)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// session is what the engine remembers of a connection besides what miniredis
// does.
type session struct {
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

// execute runs a command and lets the reply be written to peer. sha names a
// script.
func (e *engine) execute(peer *server.Peer, s *session, args []string, sha func(string) string) {
	e.hash, e.asking, e.wrote = sha, s, false
	name := strings.ToUpper(args[0])
	if text := misuse(name, args); text != "" {
		s.dirty = true
		if name == "EXEC" {
			text = strings.Replace(text, "ERR", "EXECABORT Transaction discarded because of:", 1)
			e.abandon(peer, s)
		}
		writeError(peer, text)
		return
	}
	switch {
	case transactional[name] != nil:
		transactional[name](e, peer, s, args)
	case s.queues:
		s.queue = append(s.queue, args)
		peer.WriteInline("QUEUED")
	default:
		e.run(peer, args)
	}
}

// refuse gives no answer, which is better than a wrong one.
func (e *engine) refuse(peer *server.Peer, name string) {
	e.refused = name
	peer.WriteError("ERR lockpick's simulator does not support " + name)
}

// run carries a command out: one that a connection sent, a queued one at EXEC, or
// one of a script.
func (e *engine) run(peer *server.Peer, args []string) {
	name := strings.ToUpper(args[0])
	c := &call{engine: e, peer: peer, name: name, args: args}
	answer := e.answers[name]
	_, isUnsupported := unsupported[name]
	switch {
	case answer != nil && answer(c):
	case isUnsupported || !e.db.Server().IsRegisteredCommand(name):
		e.refuse(peer, name)
		return
	default:
		e.toMiniredis(peer, plainIntegers(name, args))
	}
	e.wrote = e.wrote || !c.unchanged && e.writes(name)
}

// writes reports whether a command of that name writes, of itself.
func (e *engine) writes(name string) bool {
	return !setUp[name] && !neutral[name] && e.db.Server().IsRegisteredCommand(name) &&
		!e.db.IsReadOnlyCommand(name)
}

// neutral are commands that miniredis does not count as reads, and that do not
// write.
var neutral = map[string]bool{
	"EVAL": true, "EVALSHA": true, "SCRIPT": true, "MULTI": true, "EXEC": true, "DISCARD": true, "WATCH": true, "UNWATCH": true,
	"PING": true, "ECHO": true, "TIME": true, "QUIT": true, "INFO": true, "WAIT": true, "CLUSTER": true,
	"PUBLISH": true, "PUBSUB": true, "SUBSCRIBE": true, "UNSUBSCRIBE": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true,
}

// toMiniredis lets miniredis answer.
func (e *engine) toMiniredis(peer *server.Peer, args []string) { e.db.Server().Dispatch(peer, args) }

// wipe makes the engine as good as new.
func (e *engine) wipe() {
	e.refused = ""
	e.db.FlushAll()
	e.scripts.flush()
}

// advance moves the engine's clock, forward or back, to the given time and lets
// keys expire. miniredis keeps what is left of a key's life, so a clock that is
// set back makes it longer, as it does in Redis, which keeps the key's end.
func (e *engine) advance(to time.Time, by time.Duration) {
	e.now = to
	e.db.SetTime(to)
	if by != 0 {
		e.db.FastForward(by)
	}
}

// mute is a peer whose replies nobody reads.
func mute() *server.Peer { return server.NewPeer(bufio.NewWriter(io.Discard)) }

// replyBuffer collects what the engine answers to one connection.
type replyBuffer struct {
	bytes []byte
}

// Write implements io.Writer.
func (b *replyBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}
