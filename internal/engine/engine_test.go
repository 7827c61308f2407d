package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Who owns an engine looks at its keys after a command only when it says that it
// may have written: a command that has changed a key must never be taken for one
// that has not.
func TestEngineKnowsWhenItWrites(t *testing.T) {
	kept := 0 // commands that may write, and did not
	for seed := range uint64(300) {
		e := mustEngine(t)
		e.Advance(epoch)
		g := &generator{rng: rand.New(rand.NewPCG(seed, 0)), now: epoch}
		var sessions [connections]*Session
		for i := range sessions {
			sessions[i] = NewSession()
		}
		was := allKeys(e)
		for _, s := range g.sequence(40) {
			ask(e, sessions[s.conn], s.args...)
			is := allKeys(e)
			if was != is && !e.Wrote() {
				t.Fatalf("seed %d: %v\nhas changed %s\ninto        %s", seed, s, was, is)
			}
			if s.args[0] == "SET" && !e.Wrote() {
				kept++
			}
			was = is
		}
	}
	if kept == 0 {
		t.Error("no SET was refused")
	}
}

// allKeys says every key with its value and what it has left to live.
func allKeys(e *Engine) string {
	all := e.db.Dump()
	for _, name := range e.DB(0).Keys() {
		all += fmt.Sprintf("%q %v; ", name, e.DB(0).TTL(name))
	}
	return all
}
