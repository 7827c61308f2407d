package links

import (
	"slices"
	"strings"

	"lockpick/internal/resp"
)

// dialogue tells what a server's replies answer.
type dialogue struct {
	waiting    []awaited // in the order of their answers
	subscribed [3]map[string]bool
	resp3      bool
}

// awaited is what is to be answered: a command or, without one, the name that the
// connection was given.
type awaited struct {
	command *Command
	refusal []byte // the answer, when it is not the server's
	opaque  bool   // from here on nothing is understood
	more    int    // confirmations still to come, when one has
}

func (d *dialogue) await(a awaited) { d.waiting = append(d.waiting, a) }

// opaque reports whether what comes next is not understood.
func (d *dialogue) opaque() bool { return len(d.waiting) > 0 && d.waiting[0].opaque }

// refused takes what comes next when the answer is not the server's.
func (d *dialogue) refused() (awaited, bool) {
	if len(d.waiting) == 0 || d.waiting[0].refusal == nil {
		return awaited{}, false
	}
	return d.take(), true
}

func (d *dialogue) take() awaited {
	a := d.waiting[0]
	d.waiting = d.waiting[1:]
	return a
}

// asked reports whether the server is the one to answer what comes next.
func (d *dialogue) asked() bool {
	return len(d.waiting) > 0 && d.waiting[0].refusal == nil && !d.waiting[0].opaque
}

// awaits reports whether the next answer is to a command that is.
func (d *dialogue) awaits(is func(*Command) bool) bool {
	return d.asked() && d.waiting[0].command != nil && is(d.waiting[0].command)
}

// meaning says what a reply is.
type meaning uint8

const (
	push         meaning = iota // it answers nothing
	confirmation                // of a SUBSCRIBE or its like; the last one of it has the command
	answer
)

// hear takes a reply of the server.
func (d *dialogue) hear(reply []byte) (meaning, awaited) {
	if d.mayBePush(reply) {
		word, channel := leading(reply)
		if k, ok := kinds[word]; ok {
			return d.confirm(word, k, channel)
		}
		if published[word] || resp.IsPush(reply) {
			return push, awaited{}
		}
	}
	if !d.asked() {
		return push, awaited{} // such as that there are too many clients
	}
	a := d.take()
	if a.command != nil {
		d.learn(a.command.Name, reply)
	}
	return answer, a
}

// mayBePush reports whether a reply may be what RESP3 sends as a push. In RESP2
// that is an array as any other, but a connection with subscriptions gets none
// that begin with those words but these.
func (d *dialogue) mayBePush(reply []byte) bool {
	if resp.IsPush(reply) {
		return true
	}
	if d.resp3 || reply[0] != '*' {
		return false
	}
	return d.subscriptions() > 0 || d.awaits(func(m *Command) bool { return subscribes(m.Name) })
}

// confirm takes the confirmation of one channel.
func (d *dialogue) confirm(word string, k kind, channel string) (meaning, awaited) {
	channels := d.subscribed[k.group]
	left := len(channels)
	switch {
	case !k.adds:
		delete(channels, channel)
	case channels == nil:
		d.subscribed[k.group] = map[string]bool{channel: true}
	default:
		channels[channel] = true
	}
	if !d.awaits(func(m *Command) bool { return strings.EqualFold(m.Name, word) }) {
		return push, awaited{}
	}
	a := &d.waiting[0]
	if a.more == 0 {
		a.more = max(len(a.command.Args)-1, 1)
		if len(a.command.Args) == 1 {
			a.more = max(left, 1) // all of them, or that there are none
		}
	}
	if a.more--; a.more > 0 {
		return confirmation, awaited{}
	}
	return confirmation, d.take()
}

// learn takes what a command has changed for the connection.
func (d *dialogue) learn(name string, reply []byte) {
	switch {
	case name == "HELLO" && reply[0] == '%':
		d.resp3 = true
	case name == "HELLO" && reply[0] == '*':
		d.resp3 = false
	case name == "RESET" && reply[0] == '+':
		d.resp3 = false
		d.subscribed = [3]map[string]bool{}
	}
}

func (d *dialogue) subscriptions() int {
	return len(d.subscribed[0]) + len(d.subscribed[1]) + len(d.subscribed[2])
}

// owes reports whether the server is about to answer: its end is not closed
// before, so that what a late command has done is told. It is not waited for what
// may wait itself: a server that does not see its client go would give it an
// element of a list that comes later.
func (d *dialogue) owes() bool {
	return len(d.waiting) > 0 && !slices.ContainsFunc(d.waiting, func(a awaited) bool {
		return a.opaque || a.command != nil && slices.Contains(mayWait, a.command.Name)
	})
}
