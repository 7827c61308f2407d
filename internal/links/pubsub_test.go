package links

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockpick/faults"
)

// subscription is a server's confirmation of each channel of a command.
func subscription(mark string, args []string, count int) string {
	var b strings.Builder
	for i, channel := range args[1:] {
		fmt.Fprintf(&b, "%s3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:%d\r\n", mark, len(args[0]), strings.ToLower(args[0]), len(channel), channel, count+i+1)
	}
	return b.String()
}

func TestPushes(t *testing.T) {
	for _, tt := range []struct {
		name, mark string
		hello      string // the answer to HELLO
	}{
		{"RESP2", "*", ""},
		{"RESP2 by HELLO", "*", "*2\r\n$5\r\nproto\r\n:2\r\n"},
		{"RESP3", ">", "%1\r\n$5\r\nproto\r\n:3\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.server.answer = func(args []string) string {
				switch args[0] {
				case "HELLO":
					return tt.hello
				case "SUBSCRIBE", "PSUBSCRIBE":
					return subscription(tt.mark, args, 0)
				default:
					return "+PONG\r\n"
				}
			}
			c := dial(t, r.Link)
			if tt.hello != "" {
				c.write(wire("HELLO 3"))
				c.wantRead(tt.hello)
			}
			c.write(wire("SUBSCRIBE a b", "PSUBSCRIBE p*", "PING"))
			c.wantRead(
				tt.mark+"3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", tt.mark+"3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n",
				tt.mark+"3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:1\r\n", "+PONG\r\n")
			message := tt.mark + "3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"
			r.server.say(t, message)
			c.wantRead(message)

			r.Hold(faults.ToClient)
			r.server.say(t, message)
			r.awaitUnderway(toClient, 1)
			c.wantSilence()
			r.Release(faults.ToClient)
			c.wantRead(message)
			r.Cut(faults.ToClient)
			r.server.say(t, message)
			c.wantSilence()
			r.Mend(faults.ToClient)
			c.wantEnd()
			r.await(t, "closed 1")
			for _, e := range r.all() {
				switch {
				case strings.HasPrefix(e, "lost"):
					t.Errorf("a subscription is %s", e)
				case strings.HasPrefix(e, "answered") && strings.Contains(e, "subscribe"):
					t.Errorf("a confirmation is %q", e)
				}
			}
		})
	}
}

// A subscription whose confirmation is held is not delivered until it comes.
func TestConfirmationIsStruck(t *testing.T) {
	r := newRig(t)
	r.server.answer = func(args []string) string { return subscription("*", args, 0) }
	c := dial(t, r.Link)
	r.Hold(faults.ToClient)
	c.write(wire("SUBSCRIBE a b"))
	r.awaitUnderway(toClient, 2)
	if slices.Contains(r.all(), "delivered 1.1") {
		t.Error("a confirmation that is held was delivered")
	}
	r.Cut(faults.ToClient)
	r.Release(faults.ToClient)
	r.await(t, "lost 1.1")
}
