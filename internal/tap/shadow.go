package tap

import (
	"fmt"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
)

// Shadow is what the keys of a server are, as its MONITOR tells. It starts without
// keys, as a server that has just been started does; a server that has some is
// read with Sync. All times are of the server's clock, which may be set back. It
// is used by one goroutine at a time.
//
// It needs to hear every line. It does not follow commands that wait (BLPOP),
// choose at random (SPOP), or that the engine does not have, see Strayed.
type Shadow struct {
	machine   *machine
	keys      *keyspace.Keys
	rehearsal *rehearsal
	record    func(at time.Time, r history.Record)

	at   time.Time // of what is being recorded
	text string    // that goes with it

	talks   map[string]*talk // by From, those that are not as they began
	from    string           // whose line came last, but for those of scripts
	client  string           // and that client
	awaited int              // lines of its script that are still to come, or untold
	changed bool             // keys may have changed since they were last compared
	guessed []string         // keys whose ends may be a millisecond off

	strayed string
	syncs   int    // so far
	mark    string // the line up to which all was read by Sync; "" once it has come
}

// untold is the number of a script's calls when it is not known.
const untold = -1

// lastMoment is how long after its end a key still lives: Redis takes it for gone
// when its clock, which counts milliseconds, shows a later one. The clock of lines
// counts microseconds.
const lastMoment = time.Millisecond - time.Nanosecond

// NewShadow returns the shadow of a server without keys. record takes what happened
// to the keys of database 0 and when; it adds who saw it.
func NewShadow(labels *keyspace.Labels, record func(at time.Time, r history.Record)) (*Shadow, error) {
	m, err := newMachine()
	if err != nil {
		return nil, fmt.Errorf("tap: shadow: %w", err)
	}
	r, err := newRehearsal()
	if err != nil {
		return nil, fmt.Errorf("tap: shadow: %w", err)
	}
	s := &Shadow{machine: m, rehearsal: r, record: record, talks: map[string]*talk{}}
	s.keys = keyspace.New(m.engine, labels, s.observe)
	return s, nil
}

// Strayed returns the name of the first command since Sync that the shadow could
// not follow and that may have changed keys, "" when there was none. From then on
// its keys may be other than the server's, until Sync.
func (s *Shadow) Strayed() string { return s.strayed }

// Guessed returns, once, the keys that have got an end of which the lines tell to a
// millisecond or, on a machine that is busy, a few. See Correct.
func (s *Shadow) Guessed() []string {
	guessed := s.guessed
	s.guessed = nil
	return guessed
}

// End is when a key ends, as far as is known, the zero time for one that does not
// or is not there.
func (s *Shadow) End(key string) time.Time {
	end := s.keys.End(key)
	if end.IsZero() {
		return end
	}
	return end.Add(-lastMoment)
}

// Correct says when a key ends: what PEXPIRETIME has answered while the key was as it
// is now. Nothing is recorded.
func (s *Shadow) Correct(key string, end time.Time) { s.keys.Correct(key, end.Add(lastMoment)) }

// Advance records every key that has expired by then, at its end. No line may come
// later that has an earlier time: it would find those keys gone.
func (s *Shadow) Advance(now time.Time) {
	s.settle()
	s.advance(now)
}

// Look records every key, with the text. Its now is that of Advance.
func (s *Shadow) Look(now time.Time, text string) {
	s.Advance(now)
	s.keys.Look(text)
}

// Evict takes a key away, if it is there, which no client did, and records that
// with the text. Its at is Advance's now.
func (s *Shadow) Evict(at time.Time, key, text string) {
	s.Advance(at)
	s.keys.Evict(key, text)
}

// advance moves the clock by way of the ends of keys, so that each expires at its
// time.
func (s *Shadow) advance(to time.Time) {
	e := s.machine.engine
	for end := s.keys.NextEnd(); !end.IsZero() && !end.After(to); end = s.keys.NextEnd() {
		if s.changed { // perhaps the end, by a script that still runs
			s.settle()
			continue
		}
		e.Advance(end)
		if ended := end.Add(-lastMoment); ended.After(s.at) {
			s.at = ended
		}
		s.keys.Expire()
	}
	e.Advance(to)
	s.at = to
}

// settle records what the commands since the last time have made of the keys.
func (s *Shadow) settle() {
	if !s.changed {
		return
	}
	s.changed = false
	for _, was := range s.keys.Compare(s.client) {
		if !s.keys.End(was.Name).IsZero() {
			s.guessed = append(s.guessed, was.Name)
		}
	}
}

// linger lets keys whose end is a millisecond of Redis' live through it. An end
// that was moved there before is no whole millisecond.
func (s *Shadow) linger(n int) {
	db, now := s.machine.engine.DB(n), s.machine.engine.Now()
	for _, key := range db.Keys() {
		if left := db.TTL(key); left > 0 && now.Add(left).Nanosecond()%int(time.Millisecond) == 0 {
			db.SetTTL(key, left+lastMoment)
		}
	}
}

// observe passes a record on, with what Redis says that the key has left to live.
// One in its last millisecond has nothing left, which a record cannot say.
func (s *Shadow) observe(r history.Record) {
	if r.TTL > 0 {
		r.TTL = max(r.TTL-lastMoment, time.Nanosecond)
	}
	if r.Text == "" {
		r.Text = s.text
	}
	s.record(s.at, r)
}
