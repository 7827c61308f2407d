package tap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/engine"
	"lockpick/internal/keyspace"
)

// Shadow executes what a server has executed, and says what became of the keys of
// database 0. It is used by one goroutine at a time.
type Shadow struct {
	engine  *engine.Engine
	keys    *keyspace.Keys
	record  func(at time.Time, r history.Record)
	now     time.Time // of what is recorded
	clients map[string]*client
	group   group
	guessed []string // keys whose ends are not known to the millisecond
	lost    string
}

// client is a connection to the server, by its address.
type client struct {
	session *engine.Session
	db      int
	multi   bool // between MULTI and EXEC
}

// group is what was done at one stroke, so that the keys are looked at when all of
// it is done: a command, a transaction, or a script that is known by what it has
// called alone.
type group struct {
	of     *client // nil when there is none
	by     string  // the client's name
	script bool    // what "lua" does is part of it
}

// NewShadow returns that of a server without keys. record is told what became of
// a key, and when by the server's clock; it adds where.
func NewShadow(labels *keyspace.Labels, record func(at time.Time, r history.Record)) (*Shadow, error) {
	e, err := engine.New()
	if err != nil {
		return nil, fmt.Errorf("tap: %w", err)
	}
	s := &Shadow{engine: e, record: record, clients: map[string]*client{}}
	s.keys = keyspace.New(e, labels, func(r history.Record) { s.record(s.now, r) })
	return s, nil
}

// inTransactions are the commands whose effect is that of the lines around them.
var inTransactions = []string{"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH"}

// Apply takes a line, whose command is of the client by. It returns what the server
// has answered, unless that cannot be known: then ok is false.
func (s *Shadow) Apply(l Line, by string) (reply []byte, ok bool) {
	name := strings.ToUpper(l.Args[0])
	if l.From == "lua" {
		if s.group.script {
			l.At = s.now // time stands still in a script, and in a transaction
			s.execute(l, name)
		}
		return nil, false // else its script was executed
	}
	c := s.client(l.From)
	if s.group.of == c && c.multi && !slices.Contains(inTransactions, name) {
		l.At = s.now
	} else {
		s.Advance(l.At)
		s.group = group{of: c, by: by}
	}
	if slices.Contains(inTransactions, name) {
		c.multi = name == "MULTI" || c.multi && name == "WATCH"
		return nil, false
	}
	if reply, ok = s.execute(l, name); !ok || isUnknownScript(reply) {
		s.group.script = true // what it calls, if anything, follows
		return nil, false
	}
	if !c.multi {
		s.close()
	}
	return reply, ok
}

// isUnknownScript reports whether a reply says that a script is not known, here or
// there.
func isUnknownScript(reply []byte) bool { return strings.HasPrefix(string(reply), "-NOSCRIPT") }

// client returns the connection from an address.
func (s *Shadow) client(from string) *client {
	c := s.clients[from]
	if c == nil {
		c = &client{session: engine.NewSession()}
		s.clients[from] = c
	}
	return c
}

// close looks at the keys after what was done at one stroke.
func (s *Shadow) close() {
	if s.group.of != nil {
		for _, was := range s.keys.Compare(s.group.by) {
			if end := s.keys.End(was.Name); !end.IsZero() {
				s.guessed = append(s.guessed, was.Name)
			}
		}
	}
	s.group = group{}
}

// execute lets the engine execute a line. It reports whether that has answered as
// the server did.
func (s *Shadow) execute(l Line, name string) (reply []byte, ok bool) {
	if !s.follows(name) {
		return nil, false
	}
	c := s.client(l.From)
	if c.db != l.DB && name != "SELECT" {
		s.engine.Execute(c.session, []string{"SELECT", fmt.Sprint(l.DB)})
		c.session.Reply()
	}
	c.db = l.DB
	undo := s.linger(l)
	s.engine.Execute(c.session, slices.Clone(l.Args))
	undo()
	return c.session.Reply(), true
}

// linger sets the clock for a line. Redis lets a key live through the millisecond
// of its end, and the engine does not: in that millisecond the clock is set to
// just before it. What is given a time to live then is given the rest of it
// by undo.
func (s *Shadow) linger(l Line) (undo func()) {
	s.now = l.At
	next := s.keys.NextEnd()
	if next.IsZero() || next.After(l.At) {
		s.engine.Advance(l.At)
		return func() {}
	}
	s.engine.Advance(next.Add(-time.Nanosecond))
	was := s.ends()
	return func() {
		if slices.ContainsFunc(l.Args, func(a string) bool {
			return slices.Contains([]string{"EXAT", "PXAT", "EXPIREAT", "PEXPIREAT"}, strings.ToUpper(a))
		}) {
			return
		}
		for key, ttl := range s.ends() {
			if was[key] != ttl {
				s.engine.DB(0).SetTTL(key, ttl+time.Millisecond)
			}
		}
	}
}

// ends are the times to live of the keys that have one.
func (s *Shadow) ends() map[string]time.Duration {
	ends := map[string]time.Duration{}
	db := s.engine.DB(0)
	for _, key := range db.Keys() {
		if ttl := db.TTL(key); ttl > 0 {
			ends[key] = ttl
		}
	}
	return ends
}

// harmless are the commands that the engine does not execute and that change no
// key, in Redis 7.
var harmless = strings.Fields("ACL ASKING AUTH BGREWRITEAOF BGSAVE CLUSTER COMMAND CONFIG DEBUG FAILOVER FUNCTION INFO LASTSAVE LATENCY " +
	"LOLWUT MEMORY MODULE MONITOR OBJECT PSUBSCRIBE PSYNC PUBSUB PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF REPLICAOF RESET ROLE SAVE " +
	"SHUTDOWN SLAVEOF SLOWLOG SPUBLISH SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE WAIT WAITAOF XREAD")

// byCalls are the commands that change keys by what they call, which MONITOR
// prints.
var byCalls = []string{"FCALL", "FCALL_RO", "EVAL_RO", "EVALSHA_RO"}

// atRandom are the commands that change keys by chance.
var atRandom = []string{"SPOP"}

// follows reports whether the engine can do what the server did. One of which it
// matters and that it cannot is remembered.
func (s *Shadow) follows(name string) bool {
	if s.engine.Supports(name) && !slices.Contains(atRandom, name) {
		return true
	}
	if s.lost == "" && engine.Known(name) && !slices.Contains(harmless, name) && !slices.Contains(byCalls, name) {
		s.lost = name
	}
	return false
}

// Guessed returns, once, the keys whose ends may be wrong by a millisecond or, on a
// machine that is busy, some: a line of MONITOR says when a command began, and the
// server takes the time from which a key lives a moment later.
func (s *Shadow) Guessed() []string {
	guessed := s.guessed
	s.guessed = nil
	return guessed
}

// End is when a key ends, as far as is known, the zero time for one that does not
// or is not there.
func (s *Shadow) End(key string) time.Time { return s.keys.End(key) }

// Correct says when a key really ends, as PEXPIRETIME tells of the key as it is now.
func (s *Shadow) Correct(key string, ends time.Time) { s.keys.Correct(key, ends) }

// Lost is the first command that may have changed keys in a way that the shadow
// could not follow, "" when there was none. After a Sync it is forgotten.
func (s *Shadow) Lost() string { return s.lost }

// Advance records each key that has expired by the time that the server's clock
// shows, as of when it ended.
func (s *Shadow) Advance(to time.Time) {
	s.close()
	for next := s.keys.NextEnd(); !next.IsZero() && !to.Before(next.Add(time.Millisecond)); next = s.keys.NextEnd() {
		s.now = next
		s.engine.Advance(next)
		s.keys.Expire()
	}
	s.now = to
}

// Evict takes a key away, which no client did, and records that with the text.
func (s *Shadow) Evict(at time.Time, key, text string) {
	s.Advance(at)
	s.keys.Evict(key, text)
}

// Look records every key, with the text.
func (s *Shadow) Look(at time.Time, text string) {
	s.Advance(at)
	s.engine.Advance(at)
	s.keys.Expire() // one that ends this very millisecond
	s.keys.Look(text)
}
