package links

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockpick/internal/resp"
)

// array is a reply with those strings; "nil" is none, and digits are a number.
func array(mark string, words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d\r\n", mark, len(words))
	for _, w := range words {
		switch {
		case w == "nil":
			b.WriteString("$-1\r\n")
		case strings.Trim(w, "0123456789") == "":
			fmt.Fprintf(&b, ":%s\r\n", w)
		default:
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	return b.String()
}

const hello2, hello3 = "*2\r\n$5\r\nproto\r\n:2\r\n", "%1\r\n$5\r\nproto\r\n:3\r\n"

// step is a command, or a reply with what it is to be: "push", "confirms" or the
// command that it answers.
type step struct{ ask, hear, want string }

var dialogues = []struct {
	name  string
	steps []step
}{
	{"an array that looks like a message answers who has no subscription", []step{
		{"LRANGE l 0 -1", array("*", "message", "a", "b"), "LRANGE"},
		{"EVAL s 0", array("*", "subscribe", "a", "1"), "EVAL"},
	}},
	{"an array that looks like a message answers in RESP3", []step{
		{"HELLO 3", hello3, "HELLO"},
		{"SUBSCRIBE a", array(">", "subscribe", "a", "1"), "SUBSCRIBE"},
		{"LRANGE l 0 -1", array("*", "message", "a", "b"), "LRANGE"},
		{"", array(">", "message", "a", "b"), "push"},
	}},
	{"messages come between confirmations", []step{
		{"SUBSCRIBE a b", array("*", "subscribe", "a", "1"), "confirms"},
		{"", array("*", "message", "a", "x"), "push"},
		{"", array("*", "subscribe", "b", "2"), "SUBSCRIBE"},
		{"", array("*", "pmessage", "p*", "p", "x"), "push"},
		{"", array("*", "smessage", "a", "x"), "push"},
		{"PING", array("*", "pong", ""), "PING"},
	}},
	{"UNSUBSCRIBE of all is confirmed for each", []step{
		{"SUBSCRIBE a b a", array("*", "subscribe", "a", "1"), "confirms"},
		{"", array("*", "subscribe", "b", "2"), "confirms"},
		{"", array("*", "subscribe", "a", "2"), "SUBSCRIBE"},
		{"PSUBSCRIBE p", array("*", "psubscribe", "p", "3"), "PSUBSCRIBE"},
		{"UNSUBSCRIBE", array("*", "unsubscribe", "b", "2"), "confirms"},
		{"", array("*", "unsubscribe", "a", "1"), "UNSUBSCRIBE"},
		{"UNSUBSCRIBE", array("*", "unsubscribe", "nil", "1"), "UNSUBSCRIBE"},
		{"PUNSUBSCRIBE p", array("*", "punsubscribe", "p", "0"), "PUNSUBSCRIBE"},
		{"LRANGE l 0 -1", array("*", "message", "a", "b"), "LRANGE"},
	}},
	{"UNSUBSCRIBE without a subscription", []step{
		{"UNSUBSCRIBE", array("*", "unsubscribe", "nil", "0"), "UNSUBSCRIBE"},
		{"UNSUBSCRIBE a b", array("*", "unsubscribe", "a", "0"), "confirms"},
		{"", array("*", "unsubscribe", "b", "0"), "UNSUBSCRIBE"},
	}},
	{"a SUBSCRIBE that fails, or is queued, is answered", []step{
		{"SUBSCRIBE", "-ERR wrong number of arguments for 'subscribe' command\r\n", "SUBSCRIBE"},
		{"MULTI", "+OK\r\n", "MULTI"},
		{"SUBSCRIBE a", "+QUEUED\r\n", "SUBSCRIBE"},
		{"EXEC", "*1\r\n" + array("*", "subscribe", "a", "1"), "EXEC"},
	}},
	{"a subscription that the server takes back is a push", []step{
		{"SSUBSCRIBE a", array("*", "ssubscribe", "a", "1"), "SSUBSCRIBE"},
		{"PING", array("*", "sunsubscribe", "a", "0"), "push"},
		{"", "+PONG\r\n", "PING"},
	}},
	{"back to RESP2 with subscriptions", []step{
		{"HELLO 3", hello3, "HELLO"},
		{"SUBSCRIBE a", array(">", "subscribe", "a", "1"), "SUBSCRIBE"},
		{"HELLO 2", hello2, "HELLO"},
		{"", array("*", "message", "a", "x"), "push"},
	}},
	{"HELLO that fails changes nothing", []step{
		{"SUBSCRIBE a", array("*", "subscribe", "a", "1"), "SUBSCRIBE"},
		{"HELLO 4", "-NOPROTO unsupported protocol version\r\n", "HELLO"},
		{"", array("*", "message", "a", "x"), "push"},
	}},
	{"RESET forgets", []step{
		{"HELLO 3", hello3, "HELLO"},
		{"SUBSCRIBE a", array(">", "subscribe", "a", "1"), "SUBSCRIBE"},
		{"RESET", "+RESET\r\n", "RESET"},
		{"LRANGE l 0 -1", array("*", "message", "a", "b"), "LRANGE"},
		{"SUBSCRIBE a", array("*", "subscribe", "a", "1"), "SUBSCRIBE"},
		{"", array("*", "message", "a", "x"), "push"},
	}},
	{"pushes that are no messages", []step{
		{"GET k", array(">", "invalidate", "nil"), "push"},
		{"", "$-1\r\n", "GET"},
	}},
	{"nobody has asked", []step{{"", "-ERR max number of clients reached\r\n", "push"}}},
}

func TestDialogue(t *testing.T) {
	for _, tt := range dialogues {
		t.Run(tt.name, func(t *testing.T) {
			var d dialogue
			for _, s := range tt.steps {
				if s.ask != "" {
					args := strings.Fields(s.ask)
					d.await(awaited{command: &Command{Name: args[0], Args: args}})
				}
				got := "push"
				switch what, a := d.hear([]byte(s.hear)); {
				case a.command != nil:
					got = a.command.Name
				case what == confirmation:
					got = "confirms"
				}
				if got != s.want {
					t.Fatalf("%q is %s, want %s", s.hear, got, s.want)
				}
			}
			if len(d.waiting) > 0 {
				t.Errorf("%d are still to be answered", len(d.waiting))
			}
		})
	}
}

// A refusal is not answered by the server, and what it says then is not of it.
func TestDialogueWithRefusals(t *testing.T) {
	var d dialogue
	ask := func(name string, refusal []byte) {
		d.await(awaited{command: &Command{Name: name, Args: []string{name}}, refusal: refusal})
	}
	ask("GET", nil)
	ask("SET", []byte("-NO\r\n"))
	if _, ok := d.refused(); ok {
		t.Error("a refusal overtakes")
	}
	if _, a := d.hear([]byte("+1\r\n")); a.command == nil || a.command.Name != "GET" {
		t.Errorf("%v is answered", a)
	}
	if what, a := d.hear([]byte("+2\r\n")); what != push || a.command != nil {
		t.Errorf("%v is answered by the server", a)
	}
	if a, ok := d.refused(); !ok || a.command.Name != "SET" {
		t.Errorf("%v is refused", a)
	}
}

// FuzzDialogue lets a server say what it likes: whatever it says, each command is
// answered at most once, in order.
func FuzzDialogue(f *testing.F) {
	f.Add("SUBSCRIBE a b\nGET k\nUNSUBSCRIBE", []byte(array("*", "subscribe", "a", "1")+"+x\r\n"+array("*", "message", "a", "b")))
	f.Add("HELLO 3\nSUBSCRIBE a", []byte("%1\r\n$5\r\nproto\r\n:3\r\n"+array(">", "subscribe", "a", "1")))
	f.Add("PING", []byte(array("*", "unsubscribe", "nil", "0")+">0\r\n"))
	f.Fuzz(func(t *testing.T, commands string, said []byte) {
		var d dialogue
		var asked, answered []*Command
		for line := range strings.Lines(commands) {
			if args := strings.Fields(line); len(args) > 0 {
				m := &Command{Name: strings.ToUpper(args[0]), Args: args}
				asked = append(asked, m)
				d.await(awaited{command: m})
			}
		}
		var r resp.Replies
		replies, _ := r.Feed(said)
		for _, reply := range replies {
			what, a := d.hear(reply)
			if a.command != nil {
				answered = append(answered, a.command)
			} else if what == answer {
				t.Fatalf("%q answers nothing", reply)
			}
		}
		if !slices.Equal(answered, asked[:len(answered)]) {
			t.Fatalf("not in order: %v of %v", answered, asked)
		}
		if len(answered)+len(d.waiting) != len(asked) {
			t.Fatalf("%d of %d are answered, and %d wait", len(answered), len(asked), len(d.waiting))
		}
	})
}

func FuzzLeading(f *testing.F) {
	f.Add("message", "a")
	f.Add("", "a\r\nb")
	f.Fuzz(func(t *testing.T, a, b string) {
		reply := fmt.Sprintf("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n", len(a), a, len(b), b)
		if first, second := leading([]byte(reply)); first != a || second != b {
			t.Errorf("%q begins with %q and %q", reply, first, second)
		}
		leading([]byte(a)) // it may be anything, but must not panic
	})
}
