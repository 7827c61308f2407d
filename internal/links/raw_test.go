package links

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/faults"
)

func newRawRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, server: newServer(t), witness: newWitness()}
	r.network = newNetwork(t, r.witness)
	l, err := r.network.Raw("redis-2", "redis-1", r.server.addr())
	if err != nil {
		t.Fatal(err)
	}
	r.Link = l
	return r
}

func TestRaw(t *testing.T) {
	r := newRawRig(t)
	c := dial(t, r.Link)
	c.write(wire("PING"))
	c.wantRead("+OK\r\n")
	c.write("\x00\xff no RESP")
	eventually(t, "the bytes arrive as they are", func() bool { return r.server.bytes() == wire("PING")+"\x00\xff no RESP" })
	r.Link.mu.Lock()
	for one := range r.Link.conns {
		if name := one.Name(); name != "" {
			t.Errorf("on a raw link a connection has the name %q", name)
		}
	}
	r.Link.mu.Unlock()
	c.hangUp()
	r.await(t, "closed 1")
	r.want(t, "opened 1", "closed 1")
}

func TestRawIsStruck(t *testing.T) {
	r := newRawRig(t)

	r.Hold(faults.Both)
	c := dial(t, r.Link)
	c.write("some")
	r.awaitUnderway(toNode, 1)
	c.write("thing")
	r.awaitUnderway(toNode, 2)
	c.wantSilence()
	r.Release(faults.Both)
	eventually(t, "what was held arrives", func() bool { return r.server.bytes() == "something" })

	r.Slow(faults.ToClient, 50*time.Millisecond)
	start := time.Now()
	r.server.say(t, "+late\r\n")
	c.wantRead("+late\r\n")
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("over a slow link it took %v", took)
	}
	r.Slow(faults.ToClient, -50*time.Millisecond)

	r.Cut(faults.ToClient)
	r.server.say(t, "+lost\r\n")
	c.wantSilence()
	r.Mend(faults.ToClient)
	c.wantEnd()

	c = dial(t, r.Link)
	r.await(t, "opened 2")
	r.Reset()
	c.wantEnd()
	r.await(t, "closed 1", "closed 2")
}

// A connection that is not in RESP, or no more, is carried as it is.
func TestNoRESP(t *testing.T) {
	tests := []struct {
		name string
		say  string // after an ECHO that is understood, unless it is first
		hear string
	}{
		{"inline", "PING\r\n", "+PONG\r\n"},
		{"not Redis", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"},
		{"an empty array", "*0\r\n" + wire("PING"), "+PONG\r\n"},
		{"monitor", wire("MONITOR", "PING"), "+OK\r\n+1.2 [0 127.0.0.1:1] \"GET\" \"k\"\r\n"},
		{"synchronization", wire("PSYNC ? -1"), "+FULLRESYNC 1 0\r\n$5\r\nREDIS*1\r\n"},
		{"no replies", wire("client reply off", "SET k v"), "x"},
		{"half a command", "*2\r\n$3?", "-ERR Protocol error\r\n"},
	}
	for _, tt := range tests {
		for _, first := range []bool{true, false} {
			t.Run(tt.name+map[bool]string{true: " first", false: ""}[first], func(t *testing.T) {
				r := newRig(t)
				r.server.answer = func([]string) string { return "" }
				c := dial(t, r.Link)
				begin, hear := "", ""
				if !first {
					begin, hear = wire("ECHO a"), "$1\r\na\r\n"
				}
				c.write(begin + tt.say)
				eventually(t, "all of it arrives", func() bool { return strings.HasSuffix(r.server.bytes(), begin+tt.say) })
				r.server.say(t, hear+tt.hear)
				c.wantBytes(hear + tt.hear)
				c.write("and so on")
				eventually(t, "what comes then arrives", func() bool { return strings.HasSuffix(r.server.bytes(), tt.say+"and so on") })
				r.server.say(t, "$9\r\nlikewise")
				c.wantBytes("$9\r\nlikewise")
				c.hangUp()
				r.await(t, "closed 1")
				want := []string{"opened 1", "closed 1"}
				if !first {
					want = []string{"opened 1", "sending 1.1 ECHO a", "answered 1.1 $1\r\na", "delivered 1.1", "closed 1"}
				}
				r.want(t, want...)
			})
		}
	}
}

// wantBytes reads what must come, in whatever pieces.
func (c *client) wantBytes(want string) {
	c.t.Helper()
	if err := c.nc.SetReadDeadline(time.Now().Add(bound)); err != nil {
		c.t.Fatal(err)
	}
	got := make([]byte, 0, len(want))
	for len(got) < len(want) {
		b := make([]byte, len(want)-len(got))
		n, err := c.nc.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			c.t.Fatalf("the client reads %q, %v; want %q", got, err, want)
		}
	}
	if string(got) != want {
		c.t.Fatalf("the client reads %q, want %q", got, want)
	}
}

// TLS begins with a byte that RESP has not, and the server must see it first.
func TestTLSIsLeftAlone(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	const hello = "\x16\x03\x01\x02\x00"
	c.write(hello)
	eventually(t, "the hello arrives", func() bool { return r.server.bytes() == hello })
	r.server.say(t, "\x16\x03\x03")
	c.wantBytes("\x16\x03\x03")

	c = dial(t, r.Link) // its end is not waited for as an answer
	c.write(hello)
	c.hangUp()
	r.server.wantSeen(t, "hung up")
}

// What a server says that is no reply leaves nobody waiting.
func TestGarbledServer(t *testing.T) {
	r := newRig(t)
	r.server.answer = func([]string) string { return "" }
	c := dial(t, r.Link)
	c.write(wire("GET a", "GET b", "GET c") + "*1\r\n$4\r\nPI")
	r.server.wantSeen(t, "GET a", "GET b", "GET c")
	r.server.say(t, "+1\r\n?garbage\r\n")
	c.wantBytes("+1\r\n?garbage\r\n")
	r.await(t, "delivered 1.1", "lost 1.2", "lost 1.3")
	c.write("NG\r\n")
	eventually(t, "the rest arrives", func() bool { return strings.HasSuffix(r.server.bytes(), wire("PING")) })
	c.write(wire("PING"))
	eventually(t, "the rest arrives", func() bool { return strings.HasSuffix(r.server.bytes(), wire("PING", "PING")) })
	if got := r.all(); slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "sending 1.4") }) {
		t.Errorf("hooks were told %q", got)
	}
}

// Half a message at the end is carried too.
func TestHalfReply(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	c.write(wire("PING"))
	c.wantRead("+OK\r\n")
	r.server.say(t, "$5\r\nab")
	c.wantSilence()
	r.server.die()
	c.wantBytes("$5\r\nab")
	c.wantEnd()
}

func TestHalfCommand(t *testing.T) {
	r := newRig(t)
	c := dial(t, r.Link)
	c.write(wire("PING") + "*1\r\n$4\r\nPI")
	c.wantRead("+OK\r\n")
	c.hangUp()
	r.server.wantSeen(t, "PING", "hung up")
	if got := r.server.bytes(); !strings.HasSuffix(got, "*1\r\n$4\r\nPI") {
		t.Errorf("the server got %q", got)
	}
}
