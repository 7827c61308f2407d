package links

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"lockpick/faults"
)

func TestPieces(t *testing.T) {
	r := newRig(t)
	r.server.answer = func([]string) string { return "" }
	c := dial(t, r.Link)
	for _, b := range []byte(wire("ECHO a", "ECHO b")) {
		c.write(string(b))
	}
	r.server.wantSeen(t, "ECHO a", "ECHO b")
	for _, b := range []byte("$1\r\na\r\n*2\r\n$1\r\nb\r\n:1\r\n") {
		r.server.say(t, string(b))
	}
	c.wantRead("$1\r\na\r\n", "*2\r\n$1\r\nb\r\n:1\r\n")
	r.await(t, "answered 1.1 $1\r\na", "delivered 1.1", "delivered 1.2")
}

// Messages are longer than what the proxy copies at a time, and the next is ready
// when one is copied.
func TestLongMessages(t *testing.T) {
	const messages = 32
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToClient)
	var text strings.Builder
	var want []string
	for i := range messages {
		word := strings.Repeat(string(rune('a'+i%26)), 70_000+i*1001)
		text.WriteString(wire("ECHO " + word))
		want = append(want, fmt.Sprintf("$%d\r\n%s\r\n", len(word), word))
	}
	c.write(text.String())
	r.awaitUnderway(toClient, messages)
	r.Release(faults.ToClient)
	c.wantRead(want...)
}

func TestPipeline(t *testing.T) {
	const commands = 2000
	r := newRig(t)
	c := dial(t, r.Link)
	var text strings.Builder
	for i := range commands {
		text.WriteString(wire(fmt.Sprintf("ECHO %d", i)))
	}
	go func() { _, _ = c.nc.Write([]byte(text.String())) }()
	for i := range commands {
		word := fmt.Sprint(i)
		c.wantRead(fmt.Sprintf("$%d\r\n%s\r\n", len(word), word))
	}
}

func TestServerDies(t *testing.T) {
	r := newRig(t)
	r.server.answer = func(args []string) string {
		if args[0] == "GET" {
			return ""
		}
		return "+OK\r\n"
	}
	c := dial(t, r.Link)
	c.write(wire("PING"))
	c.wantRead("+OK\r\n")
	c.write(wire("GET k", "GET l"))
	r.server.wantSeen(t, "PING", "GET k", "GET l")
	r.server.die()
	c.wantEnd()
	r.await(t, "closed 1")
	r.want(t, "opened 1", "sending 1.1 PING", "answered 1.1 +OK", "delivered 1.1", "sending 1.2 GET k", "sending 1.3 GET l",
		"lost 1.2", "lost 1.3", "closed 1")
	refused := dial(t, r.Link) // nobody listens: it is closed, and nobody is told
	refused.wantEnd()
}

// What the server has said before it died arrives, and only then the end.
func TestServerDiesBehindHold(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	r.Hold(faults.ToClient)
	c.write(wire("SET k v"))
	r.awaitUnderway(toClient, 1)
	r.server.die()
	r.awaitUnderway(toClient, 2)
	for i := 2; i < 8; i++ {
		c.write(wire("SET k w"))
		r.await(t, fmt.Sprintf("lost 1.%d", i))
	}
	c.wantSilence()
	r.Release(faults.ToClient)
	c.wantRead("+OK\r\n")
	c.wantEnd()
	r.await(t, "delivered 1.1", "closed 1")
}

// The server's end is closed at once when a command waits there: what is pushed
// to the list later is not for a client that is gone.
func TestClientDiesWhileItWaits(t *testing.T) {
	r := newRig(t)
	r.server.answer = func([]string) string { return "" }
	c := dial(t, r.Link)
	c.write(wire("BLPOP l 0"))
	r.server.wantSeen(t, "BLPOP l 0")
	c.hangUp()
	r.server.wantSeen(t, "BLPOP l 0", "hung up")
	r.await(t, "lost 1.1", "closed 1")
}

// A reply that comes when nothing was asked belongs to nobody and is passed on.
func TestServerSpeaksFirst(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	eventually(t, "the server is connected", func() bool {
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		return len(r.server.conns) > 0
	})
	r.server.say(t, "-ERR max number of clients reached\r\n")
	c.wantRead("-ERR max number of clients reached\r\n")
	r.server.die()
	c.wantEnd()
	r.await(t, "closed 1")
	r.want(t, "opened 1", "closed 1")
}

func TestNameIsRefused(t *testing.T) {
	w := newWitness()
	n := newNetwork(t, w)
	l := mustLink(t, n, "client-1", "redis-1", scripted(t, "-NOAUTH Authentication required.\r\n", "+PONG\r\n"))
	c := dial(t, l)
	c.write(wire("PING"))
	c.wantRead("+PONG\r\n")
	w.await(t, "answered 1.1 +PONG")
}

// scripted returns the address of a server that answers each read with the next
// text.
func scripted(t *testing.T, answers ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 4096)
		for i := 0; ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			for range strings.Count(string(b[:n]), "*") {
				if i < len(answers) {
					if _, err := c.Write([]byte(answers[i])); err != nil {
						return
					}
					i++
				}
			}
		}
	}()
	return listener.Addr().String()
}

// Sending that blocks holds up its direction of its connection, and nothing else.
func TestSendingBlocks(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*rig)
	}{
		{"until the reset", func(r *rig) { r.Reset() }},
		{"until the network is closed", func(r *rig) {
			if err := r.network.Close(); err != nil {
				r.t.Error(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			ended := make(chan struct{})
			r.sending = func(ctx context.Context, m *Command) bool {
				if m.Name == "GET" {
					<-ctx.Done()
					close(ended)
				}
				return false
			}
			c, fine := dial(t, r.Link), dial(t, r.Link)
			c.write(wire("PING"))
			c.wantRead("+OK\r\n")
			c.write(wire("GET k", "PING"))
			r.await(t, "sending 1.2 GET k")
			r.server.mu.Lock()
			pusher := r.server.conns[0]
			r.server.mu.Unlock()
			if _, err := pusher.Write([]byte(">2\r\n$1\r\na\r\n$1\r\nb\r\n")); err != nil {
				t.Fatal(err)
			}
			c.wantRead(">2\r\n$1\r\na\r\n$1\r\nb\r\n")
			fine.write(wire("PING"))
			fine.wantRead("+OK\r\n")
			if got := r.server.saw(); slices.Contains(got, "GET k") {
				t.Errorf("the server saw %q", got)
			}
			tt.end(r)
			<-ended
			c.wantEnd()
			r.await(t, "lost 1.2", "closed 1")
			if slices.Contains(r.all(), "sending 1.3 PING") {
				t.Error("after the end a command was sent")
			}
		})
	}
}

// A fault that a hook causes strikes what the hook is told of, and not before.
func TestHooksStrike(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prime   func(*rig)
		applied bool
	}{
		{"cut before the command is sent", func(r *rig) {
			r.sending = func(context.Context, *Command) bool { r.Cut(faults.ToNode); return false }
		}, false},
		{"cut when it is applied", func(r *rig) {
			r.answered = func(*Command, []byte) bool { r.Cut(faults.ToClient); return false }
		}, true},
		{"reset when it is applied", func(r *rig) {
			r.answered = func(*Command, []byte) bool { r.Reset(); return false }
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			tt.prime(r)
			c := dial(t, r.Link)
			c.write(wire("SET k v"))
			r.await(t, "lost 1.1")
			if got := slices.Contains(r.server.saw(), "SET k v"); got != tt.applied {
				t.Errorf("the command was applied: %v, want %v", got, tt.applied)
			}
		})
	}
}

// Delivered comes before the client can do anything about the reply.
func TestDeliveredComesFirst(t *testing.T) {
	var clientReads bool // the race detector would say if it were not so
	s := newServer(t)
	n := New(Hooks{Delivered: func(*Command) { clientReads = true }})
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	c := dial(t, mustLink(t, n, "client-1", "redis-1", s.addr()))
	for range 100 {
		clientReads = false
		c.write(wire("PING"))
		c.wantRead("+OK\r\n")
		if !clientReads {
			t.Fatal("the client has read a reply that was not said to be delivered")
		}
	}
}

func TestNetworkCloses(t *testing.T) {
	r := newRig(t)
	r.server.answer = func([]string) string { return "" }
	waiting, idle := dial(t, r.Link), dial(t, r.Link)
	waiting.write(wire("GET k"))
	r.server.wantSeen(t, "GET k")
	for range 2 {
		if err := r.network.Close(); err != nil {
			t.Fatal(err)
		}
	}
	waiting.wantEnd()
	idle.wantEnd()
	if _, err := net.Dial("tcp", r.Addr()); err == nil {
		t.Error("somebody still listens")
	}
	if got := r.all(); !slices.Contains(got, "lost 1.1") || !slices.Contains(got, "closed 1") {
		t.Errorf("when Close has returned, hooks were told %q", got)
	}
	if _, err := r.network.Link("a", "b", "127.0.0.1:1"); err == nil {
		t.Error("a closed network makes a link")
	}
}

// Whoever connects while the network is being closed is not carried.
func TestConnectWhileItCloses(t *testing.T) {
	r := newRig(t)
	r.shut()
	c := dial(t, r.Link)
	c.wantEnd()
	r.await(t, "closed 1")
}

// A client that reads nothing keeps nobody from a reset, nor from closing, though
// no more fits into its socket.
func TestClientThatDoesNotRead(t *testing.T) {
	const commands = 64
	r := newRig(t)
	word := strings.Repeat("x", 256<<10)
	reply := fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	r.server.answer = func([]string) string { return reply }
	for i, end := range []func(){r.Reset, func() {
		if err := r.network.Close(); err != nil {
			t.Error(err)
		}
	}} {
		c := dial(t, r.Link)
		c.write(strings.Repeat(wire("GET k"), commands))
		r.await(t, fmt.Sprintf("answered %d.%d %s", i+1, commands, strings.TrimSpace(reply)))
		end()
		r.await(t, fmt.Sprintf("lost %d.%d", i+1, commands), fmt.Sprintf("closed %d", i+1))
	}
}

func TestLinkNames(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct{ from, to string }{
		{"", "redis-1"}, {"client-1", ""}, {"client 1", "redis-1"}, {"client-1", "rédis"}, {"a\n", "b"},
		{"client-1", "redis-1"}, {"client-1:redis-1", ""},
	} {
		if _, err := r.network.Link(tt.from, tt.to, r.server.addr()); err == nil {
			t.Errorf("there is a link %q %q", tt.from, tt.to)
		}
		if _, err := r.network.Raw(tt.from, tt.to, r.server.addr()); err == nil {
			t.Errorf("there is a raw link %q %q", tt.from, tt.to)
		}
	}
}
