// Package engine executes Redis commands as redis-server does: miniredis without
// network, with a clock that its owner moves.
//
// What miniredis answers in another way than Redis is answered here, see
// newAnswers; docs/fidelity.md says what still differs. It knows neither who
// sends a command nor what becomes of the reply.
//
// The rule that surprises: what it cannot do as Redis does it refuses, and
// remembers, see Engine.Refused. No answer is better than a wrong one.
package engine

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Engine is a Redis server of its own. It is used by one goroutine at a time.
type Engine struct {
	// Publish answers PUBLISH, be it of a connection, a transaction or a script: it
	// returns how many hear the message. Without it nobody does.
	Publish func(channel, message string) int

	// Deny returns the error with which a command that a script calls is refused, ""
	// to let it be carried out. name is in capitals. Without it none is refused.
	Deny func(name string) string

	db      *miniredis.Miniredis
	scripts *scripts
	refused string // a command that it does not support and was asked for

	answers map[string]func(*call) bool
	now     time.Time // what its clock shows
	asking  *Session  // whose command is being executed
	wrote   bool      // it, or what it called, may have changed a key
	opened  int       // connections that had a number, for CLIENT ID
}

// New returns an engine without keys, whose clock was never set: the owner begins
// with Advance. It is called outside of virtual time; the engine may be used in it.
func New() (*Engine, error) {
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
	e := &Engine{db: db, answers: newAnswers()}
	e.scripts, err = newScripts(e.runOfScript)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Execute carries a command out, of at least one word, and keeps args. What it
// replies is taken with s.Reply.
func (e *Engine) Execute(s *Session, args []string) {
	e.asking, e.wrote = s, false
	name := strings.ToUpper(args[0])
	if text := Misuse(name, args); text != "" {
		s.dirty = true
		if name == "EXEC" {
			text = strings.Replace(text, "ERR", "EXECABORT Transaction discarded because of:", 1)
			e.abandon(s)
		}
		writeError(s.Peer, text)
		return
	}
	switch {
	case transactional[name] != nil:
		transactional[name](e, s, args)
	case s.queues:
		s.queue = append(s.queue, args)
		s.Peer.WriteInline("QUEUED")
	default:
		e.run(s.Peer, args)
	}
}

// Reject answers a command with an error in place of executing it. A transaction
// that it is part of is not executed either. name is in capitals.
func (e *Engine) Reject(s *Session, name, text string) {
	if s.queues {
		if s.dirty = true; name == "EXEC" {
			e.abandon(s)
			text = "EXECABORT Transaction discarded because of: " + text
		}
	}
	s.Peer.WriteError(text)
}

// Wrote reports whether the command that was executed last may have changed a
// key. It errs on the side of yes.
func (e *Engine) Wrote() bool { return e.wrote }

// Refused returns the name of a command that was asked for and that the engine
// does not support, "" when there was none. What its caller made of the refusal
// says nothing of the caller.
func (e *Engine) Refused() string { return e.refused }

// Writes reports whether a command of that name, in capitals, writes, of itself:
// a script does not.
func (e *Engine) Writes(name string) bool {
	return !SetsUp(name) && !neutral[name] && e.db.Server().IsRegisteredCommand(name) &&
		!e.db.IsReadOnlyCommand(name)
}

// ReadOnly reports whether a command of that name, in capitals, only reads, and
// calls nothing that writes. Not every command either is that or Writes.
func (e *Engine) ReadOnly(name string) bool { return e.db.IsReadOnlyCommand(name) }

// neutral are commands that miniredis does not count as reads, and that do not
// write.
var neutral = map[string]bool{
	"EVAL": true, "EVALSHA": true, "SCRIPT": true, "MULTI": true, "EXEC": true, "DISCARD": true, "WATCH": true, "UNWATCH": true,
	"PING": true, "ECHO": true, "TIME": true, "QUIT": true, "INFO": true, "WAIT": true, "CLUSTER": true,
	"PUBLISH": true, "PUBSUB": true, "SUBSCRIBE": true, "UNSUBSCRIBE": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true,
}

// DB returns database number n, from 0 to 15, for reading and writing keys past
// commands: no script, transaction or hook sees it.
func (e *Engine) DB(n int) *miniredis.RedisDB { return e.db.DB(n) }

// Now returns what the engine's clock shows.
func (e *Engine) Now() time.Time { return e.now }

// Advance moves the engine's clock, forward or back, to the given time and lets
// keys expire. miniredis keeps what is left of a key's life, so a clock that is
// set back makes it longer, as it does in Redis, which keeps the key's end.
func (e *Engine) Advance(to time.Time) {
	by := to.Sub(e.now)
	e.now = to
	e.db.SetTime(to)
	if by != 0 {
		e.db.FastForward(by)
	}
}

// ForgetScripts empties the script cache, as a restart does.
func (e *Engine) ForgetScripts() { e.scripts.flush() }

// Wipe makes the engine as good as new: it has no keys, no scripts and no hooks,
// and has refused nothing. Its sessions must not be used any more.
func (e *Engine) Wipe() {
	e.Publish, e.Deny, e.refused = nil, nil, ""
	e.db.FlushAll()
	e.scripts.flush()
}

// run carries a command out: one that a connection sent, a queued one at EXEC, or
// one of a script.
func (e *Engine) run(peer *server.Peer, args []string) {
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
	e.wrote = e.wrote || !c.unchanged && e.Writes(name)
}

// runOfScript carries out a command of a script, whose name is in capitals.
func (e *Engine) runOfScript(peer *server.Peer, args []string) {
	if e.Deny != nil {
		if text := e.Deny(args[0]); text != "" {
			peer.WriteError(text)
			return
		}
	}
	e.run(peer, args)
}

// refuse gives no answer, which is better than a wrong one.
func (e *Engine) refuse(peer *server.Peer, name string) {
	e.refused = name
	peer.WriteError("ERR lockpick's simulator does not support " + name)
}

// toMiniredis lets miniredis answer.
func (e *Engine) toMiniredis(peer *server.Peer, args []string) { e.db.Server().Dispatch(peer, args) }

// mute is a peer whose replies nobody reads.
func mute() *server.Peer { return server.NewPeer(bufio.NewWriter(io.Discard)) }
