package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"lockpick/checker/history"
)

// listeners are a node's subscriptions, in the order in which they were made.
type listeners struct {
	all  []listener
	peak int // at once, at most
}

type listener struct {
	conn    *conn
	name    string // of a channel, or a pattern
	pattern bool
}

// open drops the subscriptions of connections that are no more.
func (ls *listeners) open(w *world) []listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	ls.all = slices.DeleteFunc(ls.all, func(l listener) bool { return l.conn.err != nil || l.conn.reset })
	return ls.all
}

// of counts the subscriptions of a connection.
func (ls *listeners) of(c *conn) int {
	count := 0
	for _, l := range ls.all {
		if l.conn == c {
			count++
		}
	}
	return count
}

// subscribe answers SUBSCRIBE and PSUBSCRIBE.
func (n *node) subscribe(cmd *command) bool {
	c, pattern := cmd.conn, cmd.packet.Name == "PSUBSCRIBE"
	n.listeners.open(n.world)
	for _, name := range cmd.args[1:] {
		l := listener{c, name, pattern}
		if !slices.Contains(n.listeners.all, l) {
			n.listeners.all = append(n.listeners.all, l)
		}
		n.confirm(c, strings.ToLower(cmd.packet.Name), &name)
	}
	n.listeners.peak = max(n.listeners.peak, len(n.listeners.all))
	return true
}

// unsubscribe answers UNSUBSCRIBE and PUNSUBSCRIBE.
func (n *node) unsubscribe(cmd *command) bool {
	c, pattern := cmd.conn, cmd.packet.Name == "PUNSUBSCRIBE"
	names := cmd.args[1:]
	if len(names) == 0 {
		for _, l := range n.listeners.all {
			if l.conn == c && l.pattern == pattern {
				names = append(names, l.name)
			}
		}
	}
	kind := strings.ToLower(cmd.packet.Name)
	if len(names) == 0 {
		n.confirm(c, kind, nil)
	}
	for _, name := range names {
		n.listeners.all = slices.DeleteFunc(n.listeners.all, func(l listener) bool { return l == listener{c, name, pattern} })
		n.confirm(c, kind, &name)
	}
	return true
}

// confirm writes the answer to one channel of a (un)subscription.
func (n *node) confirm(c *conn, kind string, name *string) {
	c.session.Peer.Block(func(w *server.Writer) {
		w.WritePushLen(3)
		w.WriteBulk(kind)
		if name == nil {
			w.WriteNull()
		} else {
			w.WriteBulk(*name)
		}
		w.WriteInt(n.listeners.of(c))
	})
}

// deaf answers what a connection may not ask while it listens: in RESP2 a
// connection that has subscribed hears nothing but messages.
func (n *node) deaf(cmd *command) bool {
	c := cmd.conn
	if c.session.Peer.Resp3 || n.listeners.of(c) == 0 {
		return false
	}
	switch name := cmd.packet.Name; {
	case subscribing[name], name == "QUIT":
		return false
	case name == "PING":
		word := ""
		if len(cmd.args) > 1 {
			word = cmd.args[1]
		}
		c.session.Peer.WriteStrings([]string{"pong", word})
	default:
		text := fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
			strings.ToLower(cmd.args[0]))
		if cmd.packet.Name == "EXEC" { // which Redis refuses in words of its own
			text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
		}
		c.session.Peer.WriteError(text)
	}
	return true
}

// publish sends a message to every subscriber, here and on the replicas, and
// returns how many there were here.
func (n *node) publish(channel, message string) int {
	count := 0
	for _, l := range n.listeners.open(n.world) {
		if l.name == channel && !l.pattern || l.pattern && globMatch(l.name, channel) {
			count++
			n.outgoing = append(n.outgoing, func() { n.push(l, channel, message) })
		}
	}
	n.outgoing = append(n.outgoing, func() { n.feedMessage(channel, message) })
	return count
}

// send sends what was published, after the command that did it was recorded.
func (n *node) send() {
	outgoing := n.outgoing
	n.outgoing = nil
	for _, do := range outgoing {
		do()
	}
}

// push sends a message to one subscriber.
func (n *node) push(l listener, channel, message string) {
	words := []string{"message", channel, message}
	if l.pattern {
		words = []string{"pmessage", l.name, channel, message}
	}
	var b bytes.Buffer
	mark := '*'
	if l.conn.session.Peer.Resp3 {
		mark = '>'
	}
	fmt.Fprintf(&b, "%c%d\r\n", mark, len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	name := l.conn.link.client.name
	n.record(history.Record{
		Op: history.Push, Client: name,
		Command: []string{n.world.labels.Of(name, channel), n.world.labels.Of(name, message)},
	})
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	l.conn.push(b.Bytes())
}

// pubsub answers PUBSUB CHANNELS, NUMSUB and NUMPAT.
func (n *node) pubsub(cmd *command) bool {
	peer := cmd.conn.session.Peer
	all := n.listeners.open(n.world)
	switch what, args := strings.ToUpper(cmd.args[1]), cmd.args[2:]; {
	case what == "CHANNELS" && len(args) <= 1:
		var names []string
		for _, l := range all {
			if !l.pattern && !slices.Contains(names, l.name) && (len(args) == 0 || globMatch(args[0], l.name)) {
				names = append(names, l.name)
			}
		}
		peer.WriteStrings(names)
	case what == "NUMSUB":
		peer.WriteLen(2 * len(args))
		for _, name := range args {
			count := 0
			for _, l := range all {
				if !l.pattern && l.name == name {
					count++
				}
			}
			peer.WriteBulk(name)
			peer.WriteInt(count)
		}
	case what == "NUMPAT" && len(args) == 0:
		patterns := map[string]bool{}
		for _, l := range all {
			if l.pattern {
				patterns[l.name] = true
			}
		}
		peer.WriteInt(len(patterns))
	default:
		peer.WriteError(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try PUBSUB HELP.", cmd.args[1]))
	}
	return true
}

// globMatch matches a name with a pattern of Redis: * and ? stand for any letters
// and one, [a-c] and [^a] for one of some, \ takes a letter as it is. Of several
// stars only the last one need be tried again, which keeps the time within the
// product of the lengths.
func globMatch(pattern, name string) bool {
	var star, from string // the pattern after the last star, and the name where it may go on
	starred := false
	for {
		rest, ok := pattern, false
		switch {
		case strings.HasPrefix(pattern, "*"):
			pattern = pattern[1:]
			star, from, starred = pattern, name, true
			continue
		case pattern == "" && name == "":
			return true
		case pattern != "" && name != "":
			ok, rest = globLetter(pattern, name[0])
		}
		switch {
		case ok:
			pattern, name = rest, name[1:]
		case starred && from != "":
			from = from[1:]
			pattern, name = star, from
		default:
			return false
		}
	}
}

// globLetter matches a letter with the start of a pattern, which is no star, and
// returns what follows it.
func globLetter(pattern string, letter byte) (match bool, rest string) {
	switch {
	case pattern[0] == '?':
		return true, pattern[1:]
	case pattern[0] == '[':
		return globClass(pattern[1:], letter)
	case pattern[0] == '\\' && len(pattern) > 1:
		pattern = pattern[1:]
	}
	return pattern[0] == letter, pattern[1:]
}

// globClass matches a letter with the class at the start of a pattern, after its
// bracket, and returns what follows it. A class that does not end is taken to end
// with the pattern.
func globClass(pattern string, letter byte) (match bool, rest string) {
	not := strings.HasPrefix(pattern, "^")
	if not {
		pattern = pattern[1:]
	}
	for len(pattern) > 0 && pattern[0] != ']' {
		switch {
		case pattern[0] == '\\' && len(pattern) > 1:
			match = match || pattern[1] == letter
			pattern = pattern[2:]
		case len(pattern) > 2 && pattern[1] == '-':
			low, high := min(pattern[0], pattern[2]), max(pattern[0], pattern[2])
			match = match || low <= letter && letter <= high
			pattern = pattern[3:]
		default:
			match = match || pattern[0] == letter
			pattern = pattern[1:]
		}
	}
	return match != not, strings.TrimPrefix(pattern, "]")
}
