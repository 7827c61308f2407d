package engine

import (
	"bufio"
	"bytes"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// transactional are the commands that are never queued. miniredis checks a
// command when it is queued; Redis checks no more than its name and how many
// arguments it has, and the rest in EXEC. So the queue is kept here, and
// miniredis is left the watched keys.
var transactional = map[string]func(e *Engine, s *Session, args []string){
	"MULTI":   (*Engine).multi,
	"EXEC":    (*Engine).exec,
	"DISCARD": (*Engine).discard,
	"WATCH":   (*Engine).watch,
	"RESET":   (*Engine).reset,
	"QUIT":    func(e *Engine, s *Session, args []string) { e.toMiniredis(s.Peer, args) },
}

func (e *Engine) multi(s *Session, _ []string) {
	if s.queues {
		s.Peer.WriteError("ERR MULTI calls can not be nested")
		return
	}
	s.queues, s.dirty = true, false
	s.Peer.WriteOK()
}

func (e *Engine) exec(s *Session, _ []string) {
	switch {
	case !s.queues:
		s.Peer.WriteError("ERR EXEC without MULTI")
		return
	case s.dirty:
		s.Peer.WriteError("EXECABORT Transaction discarded because of previous errors.")
		e.abandon(s)
	case e.touched(s.Peer):
		s.Peer.Block(func(w *server.Writer) { writeNoArray(s.Peer, w) })
	default:
		s.Peer.WriteLen(len(s.queue))
		for _, args := range s.queue {
			e.run(s.Peer, args)
		}
	}
	s.queues, s.queue, s.watched = false, nil, nil
}

// touched reports whether a watched key has changed, and watches none any more.
func (e *Engine) touched(peer *server.Peer) bool {
	var b bytes.Buffer
	twin := server.NewPeer(bufio.NewWriter(&b))
	twin.Ctx = peer.Ctx
	e.toMiniredis(twin, []string{"MULTI"})
	twin.Flush()
	b.Reset()
	e.toMiniredis(twin, []string{"EXEC"})
	twin.Flush()
	peer.Ctx = twin.Ctx
	return b.String() == "*-1\r\n"
}

// unwatch answers UNWATCH, in a transaction too, where it comes too late to
// matter.
func unwatch(c *call) bool {
	c.engine.asking.watched = nil
	return false
}

func (e *Engine) unwatch(peer *server.Peer) {
	twin := mute()
	twin.Ctx = peer.Ctx
	e.toMiniredis(twin, []string{"UNWATCH"})
}

// abandon ends a transaction.
func (e *Engine) abandon(s *Session) {
	e.unwatch(s.Peer)
	s.queues, s.queue, s.watched = false, nil, nil
}

func (e *Engine) discard(s *Session, _ []string) {
	if !s.queues {
		s.Peer.WriteError("ERR DISCARD without MULTI")
		return
	}
	e.abandon(s)
	s.Peer.WriteOK()
}

func (e *Engine) watch(s *Session, args []string) {
	if s.queues {
		s.Peer.WriteError("ERR WATCH inside MULTI is not allowed")
		return
	}
	fresh := []string{args[0]} // miniredis would take a key that is watched again for unchanged
	for _, key := range args[1:] {
		if k := (watchedKey{s.db, key}); !slices.Contains(s.watched, k) {
			s.watched = append(s.watched, k)
			fresh = append(fresh, key)
		}
	}
	if len(fresh) == 1 {
		s.Peer.WriteOK()
		return
	}
	e.toMiniredis(s.Peer, fresh)
}

// removal lets miniredis answer a command that takes elements out of a hash or a
// sorted set, of which a watched key would not know.
func removal(c *call) bool {
	if c.name == "ZREMRANGEBYSCORE" {
		if _, problem := betweenScores(c.args[2], c.args[3]); problem != "" {
			return c.fail(problem)
		}
		c.args = []string{c.args[0], c.args[1], plainEnd(c.args[2]), plainEnd(c.args[3])}
	}
	before := c.elements()
	c.engine.toMiniredis(c.peer, plainIntegers(c.name, c.args))
	if after := c.elements(); after != before {
		c.touch()
	}
	return true
}

// elements counts what is in a hash or a sorted set.
func (c *call) elements() int {
	switch c.key() {
	case "hash":
		fields, _ := c.db().HKeys(c.args[1]) // the error says that it is none
		return len(fields)
	case "zset":
		set, _ := c.db().SortedSet(c.args[1]) // the error says that it is none
		return len(set)
	}
	return 0
}

// touch lets those who watch a hash or a sorted set know that it has changed, by
// writing one of its elements again.
func (c *call) touch() {
	key := c.args[1]
	switch c.key() {
	case "hash":
		if fields, err := c.db().HKeys(key); err == nil {
			c.db().HSet(key, fields[0], c.db().HGet(key, fields[0]))
		}
	case "zset":
		if all, ok := c.sortedSet(); ok {
			if _, err := c.db().ZAdd(key, all[0].score, all[0].member); err != nil {
				panic(err) // it is a sorted set
			}
		}
	}
}

// flush lets miniredis answer FLUSHALL and FLUSHDB, of which watched keys would
// not know.
func flush(c *call) bool {
	if len(c.args) > 2 || len(c.args) == 2 && !strings.EqualFold(c.args[1], "SYNC") && !strings.EqualFold(c.args[1], "ASYNC") {
		return c.fail(errSyntax)
	}
	for i := range databases {
		if i != c.engine.asking.db && c.name == "FLUSHDB" {
			continue
		}
		for _, key := range c.engine.db.DB(i).Keys() {
			c.engine.db.DB(i).Del(key)
		}
	}
	c.peer.WriteOK()
	return true
}

// reset makes the connection as good as new.
func (e *Engine) reset(s *Session, _ []string) {
	e.abandon(s)
	s.dirty, s.db = false, 0
	s.Peer.Ctx, s.Peer.Resp3, s.Peer.ClientName = nil, false, ""
	s.Peer.WriteInline("RESET")
}

// writeNoArray writes the array that is not there.
func writeNoArray(peer *server.Peer, w *server.Writer) {
	if peer.Resp3 {
		w.WriteRaw("_\r\n")
	} else {
		w.WriteRaw("*-1\r\n")
	}
}
