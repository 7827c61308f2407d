package sim_test

import (
	"bytes"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/redistest"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// said is a command on one of a few connections.
type said struct {
	conn int
	args []string
}

// speeches are what a node answers itself, and its engine does not: connections 0
// and 1 may speak RESP3, 2 speaks RESP2.
func speeches(protocol string) []said {
	var all []said
	on := func(conn int, args ...string) { all = append(all, said{conn, args}) }
	on(0, "HELLO", protocol)
	on(1, "HELLO", protocol)
	on(0, "UNSUBSCRIBE")
	on(0, "PUNSUBSCRIBE", "x")
	on(0, "SUBSCRIBE")
	on(0, "SUBSCRIBE", "a", "b", "a")
	on(0, "PSUBSCRIBE", "[ac]*", "?")
	on(1, "PUBLISH", "a", "one")
	on(2, "PUBLISH", "nobody", "two")
	on(1, "PUBLISH", "c\r\nd", "three")
	on(1, "PUBLISH", "a")
	on(1, "SUBSCRIBE", "a")
	on(2, "PUBLISH", "a", "")
	for _, args := range [][]string{{"PING"}, {"PING", "word"}, {"GET", "k"}, {"SET", "k"}, {"NONSENSE", "x"}, {"MULTI"}, {"EXEC"}, {"PUBLISH", "a", "self"}, {"HELLO"}} {
		if protocol == "2" || args[0] != "PUBLISH" && args[0] != "HELLO" {
			on(0, args...)
		}
	}
	if protocol == "3" {
		on(0, "DISCARD")
	}
	return append(all, withoutSubscription()...)
}

// withoutSubscription is the rest, while connection 0 still listens.
func withoutSubscription() []said {
	var all []said
	on := func(conn int, args ...string) { all = append(all, said{conn, args}) }
	on(2, "PUBSUB", "NUMSUB", "a", "b", "none")
	on(2, "PUBSUB", "NUMPAT")
	on(2, "PUBSUB", "CHANNELS", "b*")
	on(2, "PUBSUB")
	on(2, "PUBSUB", "nonsense")
	on(2, "EVAL", "return redis.call('publish', 'b', ARGV[1])", "0", "of a script")
	on(2, "EVAL", "return redis.call('subscribe', 'b')", "0")
	on(2, "MULTI")
	on(2, "PUBLISH", "b", "queued")
	on(2, "SET", "k", "v")
	on(2, "EXEC")
	on(2, "MULTI")
	on(2, "PUBLISH", "b", "never")
	on(2, "DISCARD")
	on(0, "UNSUBSCRIBE", "a")
	on(0, "PUNSUBSCRIBE")
	on(0, "UNSUBSCRIBE", "b", "none")
	on(0, "GET", "k")
	on(1, "UNSUBSCRIBE")
	on(1, "PING")
	on(2, "ROLE")
	on(2, "ROLE", "x")
	on(2, "WAIT", "0", "10")
	on(2, "WAIT", "1", "10")
	on(2, "WAIT", "x", "10")
	on(2, "WAIT", "1", "-1")
	on(2, "WAIT", "1", "x")
	on(2, "WAIT", "1")
	on(2, "INFO", "replication")
	return all
}

// known are commands that a node answers in another way than Redis, see
// docs/fidelity.md.
var known = map[string]bool{
	"2> INFO replication": true, // has fewer fields
}

// A node answers what its engine does not as a real Redis.
func TestNodeAnswersAsRedis(t *testing.T) {
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			all := speeches(protocol)
			var got [][3][]byte // what the connections got after each
			t.Run("lockpick", func(t *testing.T) {
				bubble.Use(t)
				lab{t: t, seed: 1}.run(func(w testbed.World) { got = answersOfNode(t, w, all) })
			})
			s := redistest.Start(t)
			conns := [3]*redistest.Conn{s.Dial(t), s.Dial(t), s.Dial(t)}
			for i, one := range all {
				if err := conns[one.conn].Send(one.args...); err != nil {
					t.Fatal(err)
				}
				for c := range conns {
					var want []byte
					for range replies(got[i][c]) {
						b, err := conns[c].Receive()
						if err != nil {
							t.Fatalf("%d> %q: connection %d got %q, and from redis %q: %v", one.conn, one.args, c, got[i][c], want, err)
						}
						want = append(want, b...)
					}
					command := fmt.Sprintf("%d> %s", one.conn, strings.Join(one.args, " "))
					if g, r := comparable(got[i][c]), comparable(want); g != r && !known[command] {
						t.Errorf("%s: connection %d got\n  %q, from redis\n  %q", command, c, g, r)
					}
				}
			}
			for _, c := range conns { // nothing more has come
				if b, err := c.Do("ECHO", "last"); err != nil || string(b) != "$4\r\nlast\r\n" {
					t.Errorf("in the end redis says %q, %v", b, err)
				}
			}
		})
	}
}

// answersOfNode says everything to the first node of a world.
func answersOfNode(t *testing.T, w testbed.World, all []said) [][3][]byte {
	t.Helper()
	o := raw(t, w, "client-1").(*redis.Client).Options()
	var conns [3]net.Conn
	for i := range conns {
		c, err := o.Dialer(outside, o.Network, o.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() //nolint:errcheck // the world ends with it
		conns[i] = c
	}
	got := make([][3][]byte, len(all))
	for i, one := range all {
		if _, err := conns[one.conn].Write(redistest.Command(one.args...)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for c := range conns {
			b := make([]byte, 1<<16)
			if err := conns[c].SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			n, err := conns[c].Read(b)
			if err != nil && n == 0 && c == one.conn {
				t.Errorf("%q: no answer: %v", one.args, err)
			}
			got[i][c] = b[:n]
		}
	}
	return got
}

// replies splits bytes into replies.
func replies(b []byte) [][]byte {
	var all [][]byte
	for c := redistest.NewConn(readOnly{bytes.NewReader(b)}); ; {
		one, err := c.Receive()
		if err != nil {
			return all
		}
		all = append(all, one)
	}
}

// readOnly is a connection that has arrived whole.
type readOnly struct{ r *bytes.Reader }

func (c readOnly) Read(p []byte) (int, error)       { return c.r.Read(p) }
func (c readOnly) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (c readOnly) Close() error                     { return nil }
func (c readOnly) LocalAddr() net.Addr              { return nil }
func (c readOnly) RemoteAddr() net.Addr             { return nil }
func (c readOnly) SetDeadline(time.Time) error      { return nil }
func (c readOnly) SetReadDeadline(time.Time) error  { return nil }
func (c readOnly) SetWriteDeadline(time.Time) error { return nil }

// chance is what no two servers have in common: the offset of replication and the
// number of a connection.
var chance = regexp.MustCompile(`master\r\n:\d+|id\r\n:\d+`)

// comparable puts replies into order, since Redis keeps patterns in none, and
// leaves out what is chance.
func comparable(b []byte) string {
	all := replies(b)
	slices.SortFunc(all, bytes.Compare)
	return chance.ReplaceAllString(string(bytes.Join(all, nil)), "…")
}
