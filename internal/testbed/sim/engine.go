package sim

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// engine executes Redis commands: miniredis, without its network and with a clock
// that its node moves.
type engine struct {
	db      *miniredis.Miniredis
	scripts *scripts
	refused string // a command that it does not support and was asked for
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
	s, err := newScripts(db.Server().Dispatch)
	if err != nil {
		return nil, err
	}
	return &engine{db: db, scripts: s}, nil
}

// session is what the engine must remember of a connection besides what
// miniredis does.
type session struct {
	queues bool // in a transaction: commands are queued
	db     bool // has selected another database, which scripts here do not know
}

// execute runs a command and lets the reply be written to peer. sha names a
// script.
func (e *engine) execute(peer *server.Peer, s *session, args []string, sha func(string) string) {
	name := strings.ToUpper(args[0])
	switch {
	case unsupported[name]:
		e.refused = name
		peer.WriteError("ERR lockpick's simulator does not support " + name)
		return
	case s.queues || s.db:
	case (name == "EVAL" || name == "EVALSHA") && len(args) > 2:
		e.scripts.eval(peer, args, sha)
		return
	case name == "SCRIPT" && len(args) > 2 && strings.EqualFold(args[1], "EXISTS"):
		e.scripts.exists(peer, args[2:])
		return
	}
	e.db.Server().Dispatch(peer, args)
	switch name {
	case "MULTI":
		s.queues = true
		e.lend()
	case "EXEC", "DISCARD":
		s.queues = false
	case "SELECT":
		s.db = len(args) > 1 && args[1] != "0"
		e.lend()
	case "EVAL":
		if len(args) > 1 {
			e.scripts.load(args[1], sha(args[1]))
		}
	case "SCRIPT":
		e.script(args[1:], sha)
	}
}

// unsupported are commands that wait or that make the server speak first. In
// miniredis they would do so in goroutines of its own, in an order that does not
// follow from the seed, or hold up the whole world: better no answer than a wrong
// one.
var unsupported = map[string]bool{
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true, "MONITOR": true,
	"BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BLMOVE": true, "BZPOPMIN": true, "BZPOPMAX": true,
	"XREAD": true, "XREADGROUP": true,
}

// script keeps the two caches of scripts in step: what was loaded or flushed in
// miniredis is so here.
func (e *engine) script(args []string, sha func(string) string) {
	switch {
	case len(args) == 2 && strings.EqualFold(args[0], "LOAD"):
		e.scripts.load(args[1], sha(args[1]))
	case len(args) > 0 && strings.EqualFold(args[0], "FLUSH"):
		e.scripts.flush()
	}
}

// lend lets miniredis know the scripts that it may be asked for.
func (e *engine) lend() {
	peer := server.NewPeer(bufio.NewWriter(io.Discard))
	for _, script := range e.scripts.known {
		e.db.Server().Dispatch(peer, []string{"SCRIPT", "LOAD", script})
	}
}

// wipe makes the engine as good as new.
func (e *engine) wipe() {
	e.refused = ""
	e.db.FlushAll()
	peer := server.NewPeer(bufio.NewWriter(io.Discard))
	e.execute(peer, &session{}, []string{"SCRIPT", "FLUSH"}, sha1Hex)
}

// advance moves the engine's clock, forward or back, to the given time and lets
// keys expire. miniredis keeps what is left of a key's life, so a clock that is
// set back makes it longer, as it does in Redis, which keeps the key's end.
func (e *engine) advance(to time.Time, by time.Duration) {
	e.db.SetTime(to)
	if by != 0 {
		e.db.FastForward(by)
	}
}

// replyBuffer collects what the engine answers to one connection.
type replyBuffer struct {
	bytes []byte
}

// Write implements io.Writer.
func (b *replyBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}
