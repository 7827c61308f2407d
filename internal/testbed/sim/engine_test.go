package sim

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
)

// The node compares its keys after a command only when the engine says that it
// may have written: a command that has changed a key must never be taken for one
// that has not.
func TestEngineKnowsWhenItWrites(t *testing.T) {
	kept := 0 // commands that may write, and did not
	for seed := range uint64(300) {
		e := mustEngine(t)
		e.advance(epoch, 0)
		n := &node{engine: e, clock: epoch}
		g := &generator{rng: rand.New(rand.NewPCG(seed, 0)), now: epoch}
		var conns [connections]simConn
		for i := range conns {
			conns[i].peer = server.NewPeer(bufio.NewWriter(&conns[i].reply))
		}
		was := allKeys(n)
		for _, s := range g.sequence(40) {
			e.wrote = true // for commands that the engine does not come to
			conns[s.conn].ask(t, e, s.args)
			is := allKeys(n)
			if was != is && !e.wrote {
				t.Fatalf("seed %d: %v\nhas changed %s\ninto        %s", seed, s, was, is)
			}
			if s.args[0] == "SET" && !e.wrote {
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
func allKeys(n *node) string {
	all := ""
	for _, name := range n.engine.db.Keys() {
		all += fmt.Sprintf("%q %v %v; ", name, n.read(name), n.engine.db.TTL(name))
	}
	return all
}
