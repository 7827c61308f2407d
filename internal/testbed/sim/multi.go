package sim

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
var transactional = map[string]func(e *engine, peer *server.Peer, s *session, args []string){
	"MULTI":   (*engine).multi,
	"EXEC":    (*engine).exec,
	"DISCARD": (*engine).discard,
	"WATCH":   (*engine).watch,
	"RESET":   (*engine).reset,
	"QUIT":    func(e *engine, peer *server.Peer, _ *session, args []string) { e.toMiniredis(peer, args) },
}

func (e *engine) multi(peer *server.Peer, s *session, _ []string) {
	if s.queues {
		peer.WriteError("ERR MULTI calls can not be nested")
		return
	}
	s.queues, s.dirty = true, false
	peer.WriteOK()
}

func (e *engine) exec(peer *server.Peer, s *session, _ []string) {
	switch {
	case !s.queues:
		peer.WriteError("ERR EXEC without MULTI")
		return
	case s.dirty:
		peer.WriteError("EXECABORT Transaction discarded because of previous errors.")
		e.abandon(peer, s)
	case e.touched(peer):
		peer.Block(func(w *server.Writer) { writeNoArray(peer, w) })
	default:
		peer.WriteLen(len(s.queue))
		for _, args := range s.queue {
			e.run(peer, args)
		}
	}
	s.queues, s.queue, s.watched = false, nil, nil
}

// touched reports whether a watched key has changed, and watches none any more.
func (e *engine) touched(peer *server.Peer) bool {
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

func (e *engine) unwatch(peer *server.Peer) {
	twin := mute()
	twin.Ctx = peer.Ctx
	e.toMiniredis(twin, []string{"UNWATCH"})
}

// abandon ends a transaction.
func (e *engine) abandon(peer *server.Peer, s *session) {
	e.unwatch(peer)
	s.queues, s.queue, s.watched = false, nil, nil
}

func (e *engine) discard(peer *server.Peer, s *session, _ []string) {
	if !s.queues {
		peer.WriteError("ERR DISCARD without MULTI")
		return
	}
	e.abandon(peer, s)
	peer.WriteOK()
}

func (e *engine) watch(peer *server.Peer, s *session, args []string) {
	if s.queues {
		peer.WriteError("ERR WATCH inside MULTI is not allowed")
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
		peer.WriteOK()
		return
	}
	e.toMiniredis(peer, fresh)
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
func (e *engine) reset(peer *server.Peer, s *session, _ []string) {
	e.unwatch(peer)
	*s = session{number: s.number}
	peer.Ctx, peer.Resp3, peer.ClientName = nil, false, ""
	peer.WriteInline("RESET")
}

// writeNoArray writes the array that is not there.
func writeNoArray(peer *server.Peer, w *server.Writer) {
	if peer.Resp3 {
		w.WriteRaw("_\r\n")
	} else {
		w.WriteRaw("*-1\r\n")
	}
}
