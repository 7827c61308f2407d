package live

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/engine"
	"lockpick/internal/links"
	"lockpick/internal/resp"
	"lockpick/internal/tap"
	"lockpick/internal/testbed"
)

// node is a lock node as the history sees it: what its MONITOR prints is executed
// once more by a shadow, which says what became of the keys, and is brought
// together with what the links have carried.
type node struct {
	world *world
	name  string

	mu        sync.Mutex
	monitor   *tap.Monitor
	shadow    *tap.Shadow
	down      bool
	pauses    int
	ahead     time.Duration          // of its clock, by which it says when something happened
	conns     map[string]*links.Conn // all that there were, by their names
	open      int                    // of them those that are
	peers     map[string]*links.Conn // by the addresses that the node knows them by
	evictor   string                 // the address of who takes keys away
	corrector *corrector
	waiting   map[*links.Conn][]*command
	under     map[*links.Command]*command // on their way
	marks     map[string]chan struct{}    // words that sync waits to hear
	marked    int
	peak      int                             // connections at once, at most
	ears      map[*links.Conn]map[string]bool // what each connection is subscribed to
	loudest   int                             // subscriptions at once, at most
	astray    string                          // what the node has answered otherwise than its shadow
	over      chan struct{}
	hush      func() // ends the corrector
}

func newNode(w *world, name string) (*node, error) {
	n := &node{
		world: w, name: name, conns: map[string]*links.Conn{}, peers: map[string]*links.Conn{},
		waiting: map[*links.Conn][]*command{}, under: map[*links.Command]*command{}, marks: map[string]chan struct{}{},
		ears: map[*links.Conn]map[string]bool{}, over: make(chan struct{}),
	}
	shadow, err := tap.NewShadow(w.labels, n.changed)
	if err != nil {
		return nil, err
	}
	n.shadow, n.corrector = shadow, newCorrector(n)
	if err := n.listen(); err != nil {
		return nil, err
	}
	n.hush = n.corrector.start(w.ctx)
	go n.age()
	return n, nil
}

// listen begins to hear what the node does.
func (n *node) listen() error {
	m, err := tap.Watch(n.world.ctx, n.world.servers.Addr(n.name), n.hear, n.deaf)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.monitor = m
	return nil
}

// deaf takes the end of what the node says of itself.
func (n *node) deaf(err error) {
	n.mu.Lock()
	expected := err == nil || n.down || n.world.ended.Load() != never
	n.mu.Unlock()
	if !expected {
		n.world.fail(fmt.Errorf("live: %s says nothing of what it does any more: %w", n.name, err))
	}
}

// lookAtClock asks how far the node's clock is ahead, which it may be more and
// more. The caller holds n.mu.
func (n *node) lookAtClock() { n.ahead = n.world.servers.Ahead(n.name) }

// timeOf turns what the node's clock showed into the time of the run. The caller
// holds n.mu.
func (n *node) timeOf(at time.Time) time.Duration {
	return at.Add(-n.ahead).Sub(n.world.start.Round(0))
}

// clock is what the node's clock shows at a time of the run. The caller holds n.mu.
func (n *node) clock(t time.Duration) time.Time {
	return n.world.start.Round(0).Add(t + n.ahead)
}

// changesSource orders what became of keys after the command that did it.
const changesSource = worldSource + "~"

// changed records what became of a key. The caller holds n.mu.
func (n *node) changed(at time.Time, r history.Record) {
	r.Who, r.Kind = n.name, history.Observe
	n.world.recordAt(n.timeOf(at), changesSource, r)
}

// hear takes a line of MONITOR.
func (n *node) hear(l tap.Line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookAtClock()
	name := strings.ToUpper(l.Args[0])
	if name == "ECHO" && len(l.Args) == 2 && n.marks[l.Args[1]] != nil {
		close(n.marks[l.Args[1]])
		delete(n.marks, l.Args[1])
		return
	}
	if name == "CLIENT" && len(l.Args) == 3 && strings.EqualFold(l.Args[1], "SETNAME") {
		n.named(l.From, l.Args[2])
	}
	if l.From == n.evictor && name == "DEL" {
		n.shadow.Evict(l.At, l.Args[1], "evicted")
		return
	}
	conn := n.peers[l.From]
	client := ""
	if conn != nil {
		client = conn.Link.From
	}
	if name == "PEXPIRETIME" && l.From == n.corrector.addr {
		n.corrector.heard(n.shadow, l.Args[1])
	}
	reply, ok := n.shadow.Apply(l, client)
	n.corrector.ask(n.shadow.Guessed())
	if conn == nil || engine.SetsUp(name) {
		return
	}
	cmd := n.match(conn, l.Args)
	if cmd == nil {
		return
	}
	cmd.applied, cmd.at = true, n.timeOf(l.At)
	if ok {
		cmd.shadow = reply
	}
	n.tell(cmd)
}

// named learns whose the connection from an address is. The caller holds n.mu.
func (n *node) named(from, name string) {
	if c := n.conns[name]; c != nil {
		n.peers[from] = c
	}
	switch name {
	case evictor:
		n.evictor = from
	case correctorName:
		n.corrector.addr = from
	}
}

// match takes the command off the connection's queue that a line of MONITOR is
// of. What was sent before it the node has refused without a line. The caller
// holds n.mu.
func (n *node) match(conn *links.Conn, args []string) *command {
	queue := n.waiting[conn]
	for i, cmd := range queue {
		if slices.Equal(cmd.args, args) {
			n.waiting[conn] = queue[i+1:]
			for _, refused := range queue[:i] {
				n.tellRefused(refused)
			}
			return cmd
		}
	}
	return nil
}

// tell records a command, once it was executed and either answered or given up.
// The caller holds n.mu.
func (n *node) tell(cmd *command) {
	switch {
	case cmd.told || !cmd.applied:
		return
	case cmd.reply != nil:
		n.trust(cmd)
		n.record(cmd, cmd.at, cmd.reply)
	case cmd.settled:
		n.record(cmd, cmd.at, cmd.shadow) // no answer will come
	}
}

// vague are the commands whose answers may say what time it is, in which the shadow is
// a little off.
var vague = []string{"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "EVAL", "EVALSHA"}

// trust compares what the node has answered with what its shadow has. When a key ends
// in the very millisecond in which a command comes, the shadow may have taken
// it for gone when it was there, or the other way round, and then nothing that it
// says later can be trusted. The caller holds n.mu.
func (n *node) trust(cmd *command) {
	switch {
	case n.astray != "", cmd.shadow == nil, string(cmd.reply) == "+QUEUED\r\n":
		return
	case slices.Contains([]byte("*~%"), cmd.shadow[0]): // its elements may have no order
		return
	case slices.Contains(vague, cmd.packet.Name) && cmd.shadow[0] == ':':
		return
	}
	if string(cmd.reply) != string(cmd.shadow) {
		n.astray = fmt.Sprintf("%s has answered %q to %s, and by what it did before it would be %q: a key may have ended at that very millisecond",
			n.name, cmd.reply, cmd.packet.Name, cmd.shadow)
	}
}

// err says why what the node has done cannot be told, nil when it can.
func (n *node) err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch name := n.shadow.Strayed(); {
	case name != "":
		return fmt.Errorf("live: %s was sent %s, and what that does to its keys cannot be followed", n.name, name)
	case n.astray != "":
		return fmt.Errorf("%w: %s", testbed.ErrDisturbed, n.astray)
	}
	return nil
}

// tellRefused records a command that the node has answered without a line of
// MONITOR. The caller holds n.mu.
func (n *node) tellRefused(cmd *command) {
	if !cmd.told && cmd.reply != nil {
		n.record(cmd, cmd.answered, cmd.reply)
	}
}

// record adds the node's record of a command. The caller holds n.mu.
func (n *node) record(cmd *command, at time.Duration, reply []byte) {
	cmd.told = true
	labels, client := n.world.labels, cmd.client.name
	n.world.recordAt(at, worldSource, history.Record{
		Who: n.name, Kind: history.Observe, Op: history.Command,
		Client: client, Command: labels.Command(client, cmd.args),
		Reply: resp.Render(reply, func(s string) string { return labels.Of(client, s) }), Sent: cmd.sent,
	})
}

// accept takes a new connection.
func (n *node) accept(c *links.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c.Name()] = c
	n.open++
	n.peak = max(n.peak, n.open)
}

// hangUp takes the end of a connection. What it has sent, its name first, may still
// be heard of.
func (n *node) hangUp(c *links.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open--
	delete(n.ears, c)
}

// sent takes a command that leaves its client.
func (n *node) sent(m *links.Command, cmd *command) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.under[m] = cmd
	n.waiting[m.Conn] = append(n.waiting[m.Conn], cmd)
	n.subscribe(m.Conn, cmd)
}

// subscribe counts subscriptions. The caller holds n.mu.
func (n *node) subscribe(c *links.Conn, cmd *command) {
	switch cmd.packet.Name {
	case "SUBSCRIBE", "PSUBSCRIBE":
		if n.ears[c] == nil {
			n.ears[c] = map[string]bool{}
		}
		for _, channel := range cmd.args[1:] {
			n.ears[c][channel] = true
		}
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		for _, channel := range cmd.args[1:] {
			delete(n.ears[c], channel)
		}
		if len(cmd.args) == 1 {
			delete(n.ears, c)
		}
	}
	total := 0
	for _, channels := range n.ears {
		total += len(channels)
	}
	n.loudest = max(n.loudest, total)
}

// unheard is how long a node may take to say that it has executed what it has
// answered. Then it has refused it.
const unheard = 500 * time.Millisecond

// reply takes the node's answer to a command, nil for one that does not count.
func (n *node) reply(m *links.Command, reply []byte) *command {
	n.mu.Lock()
	defer n.mu.Unlock()
	cmd := n.under[m]
	if cmd == nil {
		return nil
	}
	cmd.reply, cmd.answered = slices.Clone(reply), n.world.Now()
	switch {
	case cmd.applied:
		n.tell(cmd)
	case m.Refused: // by the link: the node has not seen it
		n.waiting[m.Conn] = slices.DeleteFunc(n.waiting[m.Conn], func(o *command) bool { return o == cmd })
		n.tellRefused(cmd)
	default:
		time.AfterFunc(unheard, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.tellRefused(cmd)
		})
	}
	return cmd
}

// settle takes the end of a command's way.
func (n *node) settle(m *links.Command) *command {
	n.mu.Lock()
	defer n.mu.Unlock()
	cmd := n.under[m]
	delete(n.under, m)
	if cmd != nil {
		cmd.settled = true
		n.tell(cmd)
	}
	return cmd
}

// ask lets do speak with the node directly, past every link.
func (n *node) ask(ctx context.Context, do func(resp.Asker) error) error {
	return resp.Ask(ctx, n.world.servers.Addr(n.name), do)
}

// hearing is how long a node that runs may take to print what it has done.
const hearing = 5 * time.Second

// sync waits until everything is heard that the node has done by now. It reports
// false when the node does not answer: it is down, it stands still, or it takes too
// long.
func (n *node) sync() bool {
	n.mu.Lock()
	if n.down || n.pauses > 0 {
		n.mu.Unlock()
		return false
	}
	n.marked++
	word := "lockpick:heard:" + strconv.Itoa(n.marked)
	heard := make(chan struct{})
	n.marks[word] = heard
	n.mu.Unlock()
	ctx, stop := context.WithTimeout(n.world.ctx, hearing)
	defer stop()
	if err := n.ask(ctx, func(do resp.Asker) error { _, err := do("ECHO", word); return err }); err != nil {
		return false
	}
	select {
	case <-heard:
		return true
	case <-ctx.Done():
		return false
	}
}

// grace is how long a key that has ended is still waited for: that it was renewed
// in time may be heard of late.
const grace = 250 * time.Millisecond

// age lets keys expire that nobody asks for any more.
func (n *node) age() {
	tick := time.NewTicker(grace / 5)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n.mu.Lock()
			n.lookAtClock()
			n.shadow.Advance(n.clock(n.world.Now() - grace))
			n.mu.Unlock()
		case <-n.over:
			return
		}
	}
}

// look records every key.
func (n *node) look(text string) {
	if !n.sync() {
		n.world.fail(fmt.Errorf("live: %s does not answer", n.name))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shadow.Look(n.clock(n.world.Now()), text)
}

// bear records how much the node has had to do with at once.
func (n *node) bear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.world.record(history.Record{Who: n.name, Kind: history.Observe, Op: history.Load, Connections: n.peak, Subscriptions: n.loudest})
}

// close ends what listens to the node.
func (n *node) close() {
	close(n.over)
	n.hush()
	n.mu.Lock()
	m := n.monitor
	n.mu.Unlock()
	if m != nil {
		_ = m.Close() // nothing that it has to say matters any more
	}
}
