package tap

import (
	"bytes"
	"strings"
)

// Apply executes what a line tells, by the client, and records how that has changed
// the keys, at the line's time: at once, but of a script or a transaction only when
// it is complete, which may be at the next line, or when the shadow is told to do
// something else. It keeps the line. The client of a script's lines is that of the
// script.
//
// The reply is what a server in that state answers. That of a command of a
// transaction is its part of EXEC's. That of a script takes it that the server lets
// it write: of READONLY and OOM inside of a script MONITOR tells nothing. ok is false
// when the reply is not known: of the lines of scripts, of scripts that are not known
// or whose commands throw dice or look at the clock, and of what does not follow from
// the keys, such as INFO, PUBLISH, TIME and SCAN. Elements without an order, as those
// of HGETALL, come in that of the alphabet.
func (s *Shadow) Apply(l Line, client string) (reply []byte, ok bool) {
	name := strings.ToUpper(l.Args[0])
	if l.From == Lua {
		if s.mark == "" {
			s.called(l, name)
		}
		return nil, false
	}
	t := s.talk(l.From)
	if s.from != l.From || !t.queues { // what came before is complete
		s.settle()
	}
	switch {
	case s.mark == "":
		s.from, s.client, s.awaited = l.From, client, 0
		s.advance(l.At)
		reply, ok = s.answer(l, name, t.resp3)
	case name == "EVAL" && l.Args[len(l.Args)-1] == s.mark:
		s.from, s.client, s.awaited, s.mark = l.From, client, untold, ""
	}
	reply, ok = t.heed(l, name, reply, ok)
	s.remember(l.From, t)
	if !t.queues && s.awaited == 0 {
		s.settle()
	}
	return reply, ok
}

// answer carries out a command that a client has sent.
func (s *Shadow) answer(l Line, name string, resp3 bool) (reply []byte, ok bool) {
	switch {
	case name == "SCRIPT":
		return s.rehearsal.script(l, resp3)
	case name == "EVAL", name == "EVALSHA":
		reply, s.awaited, ok = s.rehearsal.run(l, resp3, s.machine.engine)
		return reply, ok
	case runs[name]:
		s.awaited = untold
		return nil, false
	default:
		return s.execute(l, name, resp3)
	}
}

// called carries out what a script has called. The script goes by the time at which
// it began as to which keys have ended; a key that ends before this line is taken
// for ended all the same.
func (s *Shadow) called(l Line, name string) {
	s.advance(l.At)
	if !s.machine.engine.ReadOnly(name) {
		s.execute(l, name, false)
	}
	if s.awaited > 0 {
		s.awaited--
	} else {
		s.awaited = untold // the rehearsal was wrong
	}
	if s.awaited == 0 && !s.talk(s.from).queues {
		s.settle()
	}
}

// execute lets the engine carry a command out.
func (s *Shadow) execute(l Line, name string, resp3 bool) (reply []byte, ok bool) {
	if aside[name] {
		return nil, false
	}
	if l.DB < databases && !chancy[name] {
		if reply = s.machine.execute(resp3, l.DB, l.Args); !bytes.HasPrefix(reply, []byte(refusal)) {
			if s.machine.engine.Wrote() {
				s.changed = true
				s.linger(l.DB)
			}
			return reply, true
		}
	}
	if s.strayed == "" {
		s.strayed = name
	}
	return nil, false
}

// refusal is how the engine answers what it does not support.
const refusal = "-ERR lockpick's simulator does not support "

// databases is how many the engine has.
const databases = 16

// runs are the commands that run a script, in a way that the engine does not have.
var runs = names("EVAL_RO EVALSHA_RO FCALL FCALL_RO")

// chancy are the commands that change keys in a way that their line does not tell.
var chancy = names("SPOP")

// aside are the commands that change no key, and whose reply does not follow from
// the keys. What they do to their connection is talk's to know.
var aside = names("ASKING AUTH CLIENT CLUSTER COMMAND DBSIZE DISCARD DUMP EXEC FUNCTION HELLO HRANDFIELD HSCAN INFO LASTSAVE LATENCY LOLWUT " +
	"MEMORY MULTI OBJECT PSUBSCRIBE PUBLISH PUBSUB PUNSUBSCRIBE QUIT RANDOMKEY READONLY READWRITE REPLCONF RESET ROLE SCAN SELECT " +
	"SORT_RO SPUBLISH SRANDMEMBER SSCAN SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE TIME UNSUBSCRIBE UNWATCH WAIT WATCH XREAD ZRANDMEMBER ZSCAN")

func names(list string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(list) {
		all[name] = true
	}
	return all
}
