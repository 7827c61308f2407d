package tap

import (
	"bytes"
	"strings"

	"lockpick/internal/engine"
	"lockpick/internal/keyspace"
)

// rehearsal runs scripts on a copy of the keys, for their replies and to know how
// many lines will follow. What they do to the keys is for those lines to tell.
type rehearsal struct {
	*machine
	calls int  // of the script that runs
	vague bool // it has called what is not answered as the server does
}

func newRehearsal() (*rehearsal, error) {
	m, err := newMachine()
	if err != nil {
		return nil, err
	}
	r := &rehearsal{machine: m}
	r.listen()
	return r, nil
}

// listen counts what scripts call.
func (r *rehearsal) listen() {
	r.engine.Deny = func(name string) string {
		r.calls++
		r.vague = r.vague || chancy[name] || aside[name] && name != "SELECT"
		return ""
	}
}

// script answers SCRIPT. The server may know scripts that are not known here.
func (r *rehearsal) script(l Line, resp3 bool) (reply []byte, ok bool) {
	reply = r.execute(resp3, 0, l.Args)
	return reply, !strings.EqualFold(l.Args[1], "EXISTS") && !r.refused()
}

// run runs a script and returns how many calls it makes, untold if that is not sure.
func (r *rehearsal) run(l Line, resp3 bool, keys *engine.Engine) (reply []byte, calls int, ok bool) {
	if l.DB >= databases || !r.copyOf(keys) {
		return nil, untold, false
	}
	r.calls, r.vague = 0, false
	reply = r.execute(resp3, l.DB, l.Args)
	if r.refused() || r.vague || bytes.HasPrefix(reply, []byte("-NOSCRIPT")) {
		return nil, untold, false
	}
	return reply, r.calls, true
}

// refused reports whether the engine was asked for what it does not support. It
// begins anew then, without the scripts: it would not say so a second time.
func (r *rehearsal) refused() bool {
	if r.engine.Refused() == "" {
		return false
	}
	r.engine.Wipe()
	r.connect()
	r.listen()
	return true
}

// copyOf makes the keys and the clock those of another engine. It is false when
// there is a key that cannot be copied.
func (r *rehearsal) copyOf(keys *engine.Engine) bool {
	r.engine.Advance(keys.Now())
	for n := range databases {
		from, to := keys.DB(n), r.engine.DB(n)
		for _, key := range to.Keys() {
			to.Del(key)
		}
		for _, key := range from.Keys() {
			if !keyspace.ReadValue(from, key).Write(to, key) {
				return false
			}
			if left := from.TTL(key); left > 0 {
				to.SetTTL(key, left)
			}
		}
	}
	return true
}
