package links

import (
	"context"
	"slices"
	"testing"

	"lockpick/faults"
)

func TestRefuse(t *testing.T) {
	r := newRig(t)
	release := make(chan struct{})
	r.server.answer = func(args []string) string {
		if args[0] == "GET" {
			<-release
		}
		return "+" + args[0] + "\r\n"
	}
	var refused []uint64
	r.answered = func(m *Command, _ []byte) bool {
		if m.Refused {
			refused = append(refused, m.Number)
		}
		return false
	}
	all := r.Refuse(nil, "LOADING")
	some := r.Refuse([]string{"SET", "EVAL"}, "OOM no")
	c := dial(t, r.Link)
	c.write(wire("HELLO 2"))
	c.wantRead("+HELLO\r\n") // what sets the connection up is not refused
	r.server.wantSeen(t, "HELLO 2")
	c.write(wire("PING"))
	c.wantRead("-LOADING\r\n")
	all()
	all()
	c.write(wire("get k", "set k v", "EVAL s 0", "TTL k"))
	r.server.wantSeen(t, "HELLO 2", "get k", "TTL k")
	c.wantRead("+get\r\n", "-OOM no\r\n", "-OOM no\r\n", "+TTL\r\n")
	c.write(wire("GET k", "SET k v"))
	r.server.wantSeen(t, "HELLO 2", "get k", "TTL k", "GET k")
	c.wantSilence() // a refusal does not overtake
	close(release)
	c.wantRead("+GET\r\n", "-OOM no\r\n")
	some()
	c.write(wire("SET k v"))
	c.wantRead("+SET\r\n")
	if want := []uint64{2, 4, 5, 8}; !slices.Equal(refused, want) {
		t.Errorf("refused are %v, want %v", refused, want)
	}
}

// A refusal is the node's: the command has to get there first, and the error back.
func TestRefusalIsStruck(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToNode)
	c.write(wire("SET k v", "PING"))
	r.awaitUnderway(toNode, 3)
	r.Refuse([]string{"SET"}, "BUSY")
	r.Release(faults.ToNode)
	c.wantRead("-BUSY\r\n", "+OK\r\n")
	r.Cut(faults.ToClient)
	c.write(wire("SET k v"))
	r.await(t, "answered 1.3 -BUSY", "lost 1.3")
	r.server.wantSeen(t, "PING")
}

// Nobody waits for the refusal when the client has hung up.
func TestRefusalOfClientThatIsGone(t *testing.T) {
	r := newRig(t)
	var all []*Command
	r.sending = func(_ context.Context, m *Command) bool {
		all = append(all, m)
		return false
	}
	c := dial(t, r.Link)
	r.Hold(faults.ToNode)
	c.write(wire("SET k v", "PING"))
	r.awaitUnderway(toNode, 3)
	c.hangUp()
	r.await(t, "lost 1.1", "lost 1.2")
	r.Refuse([]string{"SET"}, "BUSY")
	r.Release(faults.ToNode)
	r.server.wantSeen(t, "PING", "hung up")
	r.await(t, "closed 1")
	if all[0].Refused || slices.Contains(r.all(), "answered 1.1 -BUSY") {
		t.Error("the command was refused after it was lost")
	}
}

func TestRefusalBehindLateAnswer(t *testing.T) {
	r := newRig(t)
	r.server.answer = func([]string) string { return "" }
	r.Refuse([]string{"SET"}, "BUSY")
	c := dial(t, r.Link)
	c.write(wire("GET k", "SET k v", "PING"))
	r.server.wantSeen(t, "GET k", "PING")
	c.hangUp()
	r.await(t, "lost 1.1", "lost 1.2", "lost 1.3")
	r.server.say(t, "+1\r\n+PONG\r\n")
	r.server.wantSeen(t, "GET k", "PING", "hung up")
	r.await(t, "closed 1", "answered 1.1 +1", "answered 1.3 +PONG")
	if slices.Contains(r.all(), "answered 1.2 -BUSY") {
		t.Error("a refusal was answered that nobody waits for")
	}
}
