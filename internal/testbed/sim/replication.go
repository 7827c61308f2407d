package sim

import (
	"slices"
	"strconv"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
)

// role is what a node is to others: a primary, perhaps with replicas, or a
// replica. Replication is asynchronous: the primary answers its client and then
// sends, over the simulated network, what keys have become, with the times of
// its own clock at which they end (Redis, "Redis replication"). It is simpler
// than Redis' in this:
//
//   - the offset counts keys, not bytes, and is kept when a node loses data;
//   - a replica that connects again gets everything, in one message and in no time
//     (Redis by default waits five seconds for others that want the same);
//   - a replica does not notice that a cut link has fallen silent, as Redis does
//     after a minute (repl-timeout): its link counts as up until it is mended;
//   - replicas say how far they are after each write, not once a second, so that
//     WAIT need not ask them.
type role struct {
	primary *node // of a replica; nil for a primary
	id      string
	ids     int
	offset  int64 // how much of the primary's writes the node has, in arbitrary units

	feeds   []*feed      // of a primary, in the order in which the replicas came
	waiting []*waitingOn // of a primary: WAIT commands

	wire    *cable        // of a replica: its connection to the primary; nil while it has none
	synced  bool          // and over it came the primary's data
	severed time.Duration // when it last had none
	epoch   int           // numbers what the node was; what an earlier one has begun is void
}

// feed is a primary's side of its connection to a replica.
type feed struct {
	replica *node
	wire    *cable
	online  bool          // the replica has said that it has the primary's data
	acked   int64         // and that it has this much of it
	heard   time.Duration // when it last said so
}

// retrySync is how often a replica tries to reach its primary, and speaks to it,
// as in Redis.
const retrySync = time.Second

func (r *role) newID() {
	r.ids++
	r.id = strconv.Itoa(r.ids)
}

// recordRole records what the node is from now on.
func (n *node) recordRole() {
	if n.role.primary == nil {
		n.record(history.Record{Op: history.Role, Text: history.Primary})
		return
	}
	n.record(history.Record{Op: history.Role, Text: history.Replica, Target: n.role.primary.name})
}

// beReplica makes the node a replica of another, whose data it is to take over.
func (n *node) beReplica(of *node) {
	if n.role.primary == of {
		return
	}
	n.leave()
	n.role.primary = of
	n.recordRole()
	n.connect()
}

// bePrimary makes the node a primary, with what it has.
func (n *node) bePrimary() {
	if n.role.primary == nil {
		return
	}
	n.tick()
	n.leave()
	n.role.primary = nil
	n.role.newID()
	n.recordRole()
}

// leave ends what the node was. Who waits on it is told so, and cut off.
func (n *node) leave() {
	n.role.epoch++
	n.role.severed = n.world.Now()
	if w := n.role.wire; w != nil {
		n.role.wire = nil
		w.hangUp(&n.role.primary.host)
	}
	n.dropFeeds()
	for _, one := range n.role.waiting {
		one.cmd.conn.behind = nil
		n.unblock(one.cmd, []byte("-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n"))
	}
	n.role.waiting, n.role.synced = nil, false
}

func (n *node) dropFeeds() {
	feeds := n.role.feeds
	n.role.feeds = nil
	for _, f := range feeds {
		f.wire.hangUp(&f.replica.host)
	}
}

// stop ends every connection of a node that goes down.
func (r *role) stop(n *node) {
	r.epoch++
	r.feeds, r.wire, r.waiting, r.synced = nil, nil, nil, false
	r.severed = n.world.Now()
}

// start lets a node that has come up be what it was.
func (r *role) start(n *node) {
	if r.primary != nil {
		n.connect()
	} else {
		r.newID()
	}
}

// follow makes the node a replica from the start of the run, with everything in
// place.
func (n *node) follow(primary *node) {
	n.role.primary = primary
	n.recordRole()
	n.connectWith(func(w *cable) {
		primary.welcomeReplica(n, w).online = true
		n.role.synced = true
	})
}

// connect asks the primary for its data.
func (n *node) connect() {
	n.connectWith(func(w *cable) {
		p, epoch := n.role.primary, n.role.epoch
		w.send(&p.host, func() { p.takeReplica(n, w) })
		n.world.After(retrySync, func() { // nobody may have heard
			if n.role.epoch == epoch && n.role.wire == w && !n.role.synced {
				n.role.wire = nil
				w.hangUp(&p.host)
				n.connect()
			}
		})
	})
}

// connectWith makes a connection to the primary.
func (n *node) connectWith(open func(*cable)) {
	p, epoch := n.role.primary, n.role.epoch
	var w *cable
	w = n.dial(&p.host, func() {
		if n.role.epoch == epoch && n.role.wire == w && !n.down {
			n.role.wire, n.role.synced = nil, false
			n.role.severed = n.world.Now()
			n.connect()
		}
	}, func() {
		p.role.feeds = slices.DeleteFunc(p.role.feeds, func(f *feed) bool { return f.wire == w })
	})
	n.role.wire = w
	open(w)
	n.speak(w)
}

// speak tells the primary, once a second while the connection lasts, how far the
// node is: the primary counts a replica that says nothing as lost.
func (n *node) speak(w *cable) {
	if n.world.spec.Replicas.Min == 0 {
		return // nobody counts
	}
	n.world.After(retrySync, func() {
		if n.role.wire == w && !n.down {
			n.handle(func() {
				if n.role.wire == w && n.role.synced {
					n.ack(w)
				}
			})
			n.speak(w)
		}
	})
}

// takeReplica answers a replica that asks for everything.
func (n *node) takeReplica(r *node, w *cable) {
	if n.role.primary != nil && !n.role.synced {
		return // it has nothing to give; the replica will ask again
	}
	n.tick()
	n.welcomeReplica(r, w)
	all, offset := n.keys.All(), n.role.offset
	w.send(&r.host, func() { r.load(w, all, offset) })
}

// welcomeReplica begins to send to a replica. It does not count before it has
// said that it has everything. What it asked for on an older connection is void;
// a request on a connection that it has given up meanwhile may be the later to
// arrive, and ends with that connection.
func (n *node) welcomeReplica(r *node, w *cable) *feed {
	f := &feed{replica: r, wire: w, heard: n.world.Now()}
	n.role.feeds = slices.DeleteFunc(n.role.feeds, func(f *feed) bool { return f.replica == r && f.wire.number <= w.number })
	n.role.feeds = append(n.role.feeds, f)
	return f
}

// load replaces everything that the node has with what the primary has sent.
func (n *node) load(w *cable, all []keyspace.Key, offset int64) {
	if n.role.wire != w {
		return
	}
	n.tick()
	n.role.synced, n.role.offset = true, offset
	var changes []keyspace.Key
	for _, mine := range n.keys.All() {
		if !slices.ContainsFunc(all, func(k keyspace.Key) bool { return k.Name == mine.Name }) {
			changes = append(changes, keyspace.Key{Name: mine.Name})
		}
	}
	n.apply(append(changes, all...))
	n.ack(w)
}

// feed sends the replicas what has become of keys that were something else. They
// may have replicas of their own while a failover is under way.
func (n *node) feed(were []keyspace.Key) {
	if len(were) == 0 {
		return
	}
	if n.role.primary == nil {
		n.role.offset += int64(len(were))
	}
	if len(n.role.feeds) == 0 {
		return
	}
	var changes []keyspace.Key
	for _, was := range were {
		changes = append(changes, n.keys.Key(was.Name))
	}
	offset := n.role.offset
	for _, f := range n.role.feeds {
		r, w := f.replica, f.wire
		w.send(&r.host, func() {
			if r.role.wire != w || !r.role.synced {
				return
			}
			r.tick()
			r.role.offset = offset
			r.apply(changes)
			r.ack(w)
		})
	}
}

// feedMessage sends what was published to the subscribers of the replicas.
func (n *node) feedMessage(channel, message string) {
	for _, f := range n.role.feeds {
		r := f.replica
		f.wire.send(&r.host, func() {
			r.publish(channel, message)
			r.send()
		})
	}
}

// apply does to the node's keys what was done to the primary's. They end when
// this node's clock shows the time that the primary has set.
func (n *node) apply(changes []keyspace.Key) { n.changed(n.keys.Restore(changes, "")) }

// ack tells the primary how far the node is.
func (n *node) ack(w *cable) {
	p, offset := n.role.primary, n.role.offset
	w.send(&p.host, func() {
		for _, f := range p.role.feeds {
			if f.wire == w {
				f.online, f.acked, f.heard = true, offset, p.world.Now()
			}
		}
		p.settle()
	})
}

// good counts the replicas that have spoken lately.
func (n *node) good() int {
	count := 0
	for _, f := range n.role.feeds {
		if f.online && n.world.Now()-f.heard <= n.world.spec.Replicas.MaxLag {
			count++
		}
	}
	return count
}

// denied says why the node takes no writes, or "".
func (n *node) denied() string {
	r := n.world.spec.Replicas
	switch {
	case n.role.primary != nil && !r.Writable:
		return "READONLY You can't write against a read only replica."
	case n.role.primary == nil && r.Min > 0 && n.good() < r.Min:
		return "NOREPLICAS Not enough good replicas to write."
	}
	return ""
}

// linkDown is how long a replica has been without its primary; 0 when it is not.
func (n *node) linkDown() time.Duration {
	if n.role.primary == nil || n.role.synced {
		return 0
	}
	return max(n.world.Now()-n.role.severed, 1)
}
