package sim

import (
	"time"

	"lockpick/internal/keyspace"
)

// change is what a key was before something happened to it.
type change struct {
	at  time.Duration
	was keyspace.Key
}

// compare records how the client's command has changed the keys.
func (n *node) compare(client string) { n.changed(n.keys.Compare(client)) }

// changed takes what keys were that have changed.
func (n *node) changed(were []keyspace.Key) {
	for _, was := range were {
		n.journal = append(n.journal, change{n.world.Now(), was})
	}
	n.setAlarm()
	n.feed(were)
}

// setAlarm makes the node wake when the next key expires.
func (n *node) setAlarm() {
	next := n.keys.NextEnd()
	if next.IsZero() || n.rate <= 0 {
		n.alarm = 0
		return
	}
	left := next.Sub(n.engine.Now())
	if n.rate != 1 {
		left = time.Duration(float64(left)/n.rate) + 1 // not before the clock shows it
	}
	at := n.world.Now() + max(left, time.Nanosecond)
	if at == n.alarm {
		return
	}
	n.alarm = at
	n.world.After(at-n.world.Now(), func() {
		if n.alarm == at { // else a later command has moved the key's end
			n.alarm = 0
			n.wake()
		}
	})
}

// wake lets keys expire, unless the node stands still or is down; it does so when
// it goes on.
func (n *node) wake() {
	n.handle(func() {
		n.tick()
		n.setAlarm()
	})
}

// evict takes a key away. No client did it.
func (n *node) evict(key string) {
	n.tick()
	if was, ok := n.keys.Evict(key, "evicted"); ok {
		n.changed([]keyspace.Key{was})
	}
}

// restore makes the keys what they were at the time t, for a node that has lost
// what it wrote after it.
func (n *node) restore(t time.Duration) {
	var lost []keyspace.Key // the newest first
	for i := len(n.journal) - 1; i >= 0 && n.journal[i].at > t; i-- {
		lost = append(lost, n.journal[i].was)
		n.journal = n.journal[:i]
	}
	if len(lost) > 0 {
		n.changed(n.keys.Restore(lost, "lost with the node's data"))
	}
}
