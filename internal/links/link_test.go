package links

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/faults"
)

func TestOneCommand(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	c.write(wire("ECHO a"))
	c.wantRead("$1\r\na\r\n")
	c.hangUp()
	r.await(t, "closed 1")
	r.want(t, "opened 1", "sending 1.1 ECHO a", "answered 1.1 $1\r\na", "delivered 1.1", "closed 1")
	r.server.wantSeen(t, "ECHO a", "hung up")
}

// Whoever watches the server can tell connections by the names that they get
// before all else.
func TestNames(t *testing.T) {
	r := newRig(t)
	other := mustLink(t, r.network, "client-2", "redis-1", r.server.addr())
	var names []string
	r.sending = func(_ context.Context, m *Command) bool {
		names = append(names, m.Conn.Name())
		return false
	}
	for _, l := range []*Link{r.Link, r.Link, other} {
		c := dial(t, l)
		c.write(wire("PING"))
		c.wantRead("+OK\r\n")
	}
	want := []string{"lockpick:client-1:redis-1:1", "lockpick:client-1:redis-1:2", "lockpick:client-2:redis-1:1"}
	if !slices.Equal(names, want) {
		t.Errorf("the names are %q, want %q", names, want)
	}
	var seen []string
	for _, name := range want {
		seen = append(seen, "CLIENT SETNAME "+name, "PING")
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if !slices.Equal(r.server.seen, seen) {
		t.Errorf("the server saw %q, want %q", r.server.seen, seen)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		direction faults.Direction
		applied   bool
	}{{faults.ToNode, false}, {faults.ToClient, true}, {faults.Both, false}} {
		t.Run(string(tt.direction), func(t *testing.T) {
			r := newRig(t)
			c, fine := dial(t, r.Link), dial(t, r.Link)
			fine.write(wire("PING"))
			fine.wantRead("+OK\r\n")
			r.Cut(tt.direction)
			r.Cut(tt.direction)
			c.write(wire("SET k v"))
			r.await(t, "lost 1.1")
			if got := slices.Contains(r.server.saw(), "SET k v"); got != tt.applied {
				t.Errorf("the command reached the server: %v, want %v", got, tt.applied)
			}
			r.Mend(tt.direction)
			c.write(wire("SET k w"))
			r.await(t, "lost 1.2")
			c.wantSilence()
			if got := r.server.saw(); slices.Contains(got, "SET k w") || slices.Contains(got, "hung up") {
				t.Errorf("the server saw %q over a torn connection", got)
			}
			r.Mend(tt.direction)
			c.wantEnd()
			r.await(t, "closed 1")
			fine.write(wire("PING")) // it has sent nothing meanwhile
			fine.wantRead("+OK\r\n")
			again := dial(t, r.Link)
			again.write(wire("SET k x"))
			again.wantRead("+OK\r\n")
		})
	}
}

// A client that hangs up on a cut link leaves the server with its end, until the
// link is mended.
func TestCutHidesHangUp(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	c.write(wire("PING"))
	c.wantRead("+OK\r\n")
	r.Cut(faults.ToNode)
	c.hangUp()
	eventually(t, "the hang-up is lost", func() bool {
		r.Link.mu.Lock()
		defer r.Link.mu.Unlock()
		for c := range r.Link.conns {
			return c.torn
		}
		return false
	})
	r.server.wantSeen(t, "PING")
	r.Mend(faults.ToNode)
	r.server.wantSeen(t, "PING", "hung up")
}

// Nothing passes a link that is cut, also what was sent before.
func TestCutStrikesWhatWouldArrive(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToNode)
	c.write(wire("SET k v"))
	r.awaitUnderway(toNode, 2)
	r.Cut(faults.ToNode)
	r.Release(faults.ToNode)
	r.await(t, "lost 1.1")
	r.Mend(faults.ToNode)
	c.wantEnd()
	r.await(t, "closed 1")
	r.server.wantSeen(t, "hung up")
	if got := r.server.bytes(); got != "" {
		t.Errorf("over a cut link the server got %q", got)
	}
}

func TestHold(t *testing.T) {
	for _, tt := range []struct {
		direction faults.Direction
		dir, kept int // with the name that the connection is given
		applied   []string
	}{{faults.ToNode, toNode, 4, nil}, {faults.ToClient, toClient, 3, []string{"ECHO a", "ECHO b", "ECHO c"}}} {
		t.Run(string(tt.direction), func(t *testing.T) {
			r := newRig(t)
			c := dial(t, r.Link)
			r.Hold(tt.direction)
			r.Hold(tt.direction)
			c.write(wire("ECHO a", "ECHO b", "ECHO c"))
			r.awaitUnderway(tt.dir, tt.kept)
			r.Release(tt.direction)
			c.wantSilence()
			r.server.wantSeen(t, tt.applied...)
			r.Release(tt.direction)
			c.wantRead("$1\r\na\r\n", "$1\r\nb\r\n", "$1\r\nc\r\n")
			r.server.wantSeen(t, "ECHO a", "ECHO b", "ECHO c")
		})
	}
}

// The request that arrives after its client has given up.
func TestHoldOutlivesClient(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToNode)
	c.write(wire("SET k v", "GET k"))
	r.awaitUnderway(toNode, 3)
	c.hangUp()
	r.await(t, "lost 1.1", "lost 1.2")
	r.server.wantSeen(t)
	r.Release(faults.ToNode)
	r.server.wantSeen(t, "SET k v", "GET k", "hung up")
	r.await(t, "closed 1")
	r.want(t, "opened 1", "sending 1.1 SET k v", "sending 1.2 GET k", "lost 1.1", "lost 1.2",
		"answered 1.1 +OK", "answered 1.2 +OK", "closed 1")
}

// A client that writes and hangs up at once, held up before it is on the link.
func TestHangUpWhileSending(t *testing.T) {
	r := newRig(t)
	goOn := make(chan struct{})
	r.sending = func(context.Context, *Command) bool { <-goOn; return false }
	c := dial(t, r.Link)
	c.write(wire("SET k v"))
	c.hangUp()
	r.await(t, "sending 1.1 SET k v")
	r.Hold(faults.ToNode)
	close(goOn)
	r.await(t, "lost 1.1")
	r.server.wantSeen(t)
	r.Release(faults.ToNode)
	r.server.wantSeen(t, "SET k v", "hung up")
	r.await(t, "closed 1")
}

func TestHeldReplyOfClientThatIsGone(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToClient)
	c.write(wire("SET k v"))
	r.awaitUnderway(toClient, 1)
	c.hangUp()
	r.await(t, "lost 1.1", "closed 1")
	r.server.wantSeen(t, "SET k v", "hung up")
}

func TestSlow(t *testing.T) {
	const by = 60 * time.Millisecond
	for _, d := range []faults.Direction{faults.ToNode, faults.ToClient, faults.Both} {
		t.Run(string(d), func(t *testing.T) {
			r := newRig(t)
			c := dial(t, r.Link)
			least := by
			if d == faults.Both {
				least = 2 * by
			}
			r.Slow(d, by)
			start := time.Now()
			c.write(wire("ECHO a", "ECHO b", "ECHO c", "ECHO d", "ECHO e"))
			c.wantRead("$1\r\na\r\n", "$1\r\nb\r\n", "$1\r\nc\r\n", "$1\r\nd\r\n", "$1\r\ne\r\n")
			if took := time.Since(start); took < least || took > least+4*by {
				t.Errorf("a pipeline took %v, want about %v", took, least)
			}
			start = time.Now()
			c.write(wire("ECHO a"))
			eventually(t, "the command is sent", func() bool { return slices.Contains(r.all(), "sending 1.6 ECHO a") })
			if d != faults.ToClient {
				r.awaitUnderway(toNode, 1)
			}
			r.Slow(d, -by)
			c.write(wire("ECHO b"))
			c.wantRead("$1\r\na\r\n", "$1\r\nb\r\n") // in order
			if took := time.Since(start); d == faults.ToNode && took < by {
				t.Errorf("what was under way took %v, want at least %v", took, by)
			}
			start = time.Now()
			c.write(wire("ECHO a"))
			c.wantRead("$1\r\na\r\n")
			if took := time.Since(start); took >= by {
				t.Errorf("after the link is fast again a command takes %v", took)
			}
		})
	}
}

// What is held is slow after its release.
func TestSlowAfterHold(t *testing.T) {
	const by = 50 * time.Millisecond
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToNode)
	c.write(wire("PING"))
	r.awaitUnderway(toNode, 2)
	r.Slow(faults.ToNode, by)
	start := time.Now()
	r.Release(faults.ToNode)
	c.wantRead("+OK\r\n")
	if took := time.Since(start); took < by {
		t.Errorf("it arrived after %v, want at least %v", took, by)
	}
}

func TestReset(t *testing.T) {
	r := newRig(t)
	idle, waiting, held := dial(t, r.Link), dial(t, r.Link), dial(t, r.Link)
	r.server.answer = func([]string) string { return "" }
	waiting.write(wire("BLPOP l 0"))
	r.server.wantSeen(t, "BLPOP l 0")
	r.Hold(faults.ToNode)
	held.write(wire("SET k v"))
	r.awaitUnderway(toNode, 2)
	eventually(t, "three are open", func() bool {
		n := 0
		for _, e := range r.all() {
			if strings.HasPrefix(e, "opened") {
				n++
			}
		}
		return n == 3
	})
	r.Reset()
	for _, c := range []*client{idle, waiting, held} {
		c.wantEnd()
	}
	r.await(t, "closed 1", "closed 2", "closed 3")
	r.Release(faults.ToNode)
	r.server.wantSeen(t, "BLPOP l 0", "hung up", "hung up", "hung up")
	r.server.answer = func([]string) string { return "+PONG\r\n" }
	c := dial(t, r.Link)
	c.write(wire("PING"))
	c.wantRead("+PONG\r\n")
}

func TestDrop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prime  func(*rig)
		seen   []string
		events []string
	}{
		{
			"request", func(r *rig) {
				r.sending = func(_ context.Context, m *Command) bool { return m.Number == 2 }
			},
			[]string{"ECHO a"},
			[]string{"delivered 1.1", "lost 1.2", "lost 1.3"},
		},
		{
			"reply", func(r *rig) {
				r.answered = func(m *Command, _ []byte) bool { return m.Number == 2 }
			},
			[]string{"ECHO a", "ECHO b"},
			[]string{"delivered 1.1", "answered 1.2 $1\r\nb", "lost 1.2", "lost 1.3"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			tt.prime(r)
			c := dial(t, r.Link)
			for i, word := range []string{"a", "b", "c"} {
				c.write(wire("ECHO " + word))
				if i == 0 {
					c.wantRead("$1\r\na\r\n")
				} else {
					r.await(t, tt.events[len(tt.events)-2+i-1])
				}
			}
			r.await(t, tt.events...)
			c.wantSilence()
			r.server.wantSeen(t, tt.seen...)
			fine := dial(t, r.Link) // it alone is struck
			fine.write(wire("ECHO d"))
			fine.wantRead("$1\r\nd\r\n")
			c.hangUp()
			r.await(t, "closed 1")
		})
	}
}

// What was sent before the message that is dropped still arrives.
func TestDropBehindHeld(t *testing.T) {
	r := newRig(t)
	r.sending = func(_ context.Context, m *Command) bool { return m.Number == 2 }
	c := dial(t, r.Link)
	r.Hold(faults.ToNode)
	c.write(wire("SET k v", "SET k w"))
	r.await(t, "lost 1.2")
	c.hangUp()
	r.await(t, "lost 1.1")
	r.awaitUnderway(toNode, 3)
	r.Release(faults.ToNode)
	r.server.wantSeen(t, "SET k v", "hung up")
}
