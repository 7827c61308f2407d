// Package faults is the vocabulary of what goes wrong in a run: faults, the
// steps that schedule them, the triggers that set them off, and the small
// interfaces through which a testbed offers to do harm.
//
// It knows no testbed, no scenario and no lock. A fault is given a World, which
// is any value, and asks it for the one ability that it needs.
//
// The rule that surprises: cut, hold and drop are three things. A cut loses what
// is sent while it lasts and breaks the connections it met; a hold keeps what is
// sent and delivers it, late, when it is released; a drop loses one message.
package faults

import (
	"fmt"
	"time"
)

// Fault is one thing that can go wrong.
type Fault interface {
	// Name is the fault's word in a scenario, such as "pause".
	Name() string

	// Target says in a few words what it strikes.
	Target() string

	// Uses lists the clients and nodes that it names, for the check that they
	// exist.
	Uses() []Use

	// Inject does the harm. It returns how to heal it, nil when it cannot be
	// healed, or an error when w cannot do such harm or has no such target.
	// It must not block.
	Inject(w World) (heal func(), err error)
}

// Use is one name in a fault.
type Use struct {
	Name string
	Kind Kind
}

// Kind says what a name stands for.
type Kind string

// The kinds of names.
const (
	Client Kind = "client"
	Node   Kind = "node"
)

// either is the one use of a fault that strikes a client or a node.
func either(client, node string) []Use {
	if client != "" {
		return []Use{{client, Client}}
	}
	return []Use{{node, Node}}
}

// World is what faults happen in. Faults ask it for their ability by type
// assertion; After is all that the Schedule itself needs.
type World interface {
	// After calls f once, d from now, in the world's own time, and never
	// concurrently with another f. It must not call f before it returns.
	After(d time.Duration, f func())
}

// ErrCannot says that a testbed lacks the ability that a fault needs.
type ErrCannot struct {
	Fault string
}

func (e *ErrCannot) Error() string {
	return fmt.Sprintf("faults: this testbed cannot %s", e.Fault)
}

// Catalog lists every fault with a sentence for the reader, in the order in
// which the documentation shows them.
func Catalog() []Entry {
	return []Entry{
		{Pause{}.Name(), "stops a client in place, as a long garbage collection does, or a node; what it had in flight goes on when it wakes", "{pause: client-1, for: 40s, …}"},
		{Crash{}.Name(), "kills a client; it never speaks again", "{crash: client-1, …}"},
		{Cancel{}.Name(), "ends the context of a client's critical section, as a server does whose caller has hung up", "{cancel: client-1, …}"},
		{Cut{}.Name(), "loses everything sent over a link and breaks its connections", "{cut: [client-1, redis-1], direction: both, for: 5s, …}"},
		{Partition{}.Name(), "cuts every link between some clients and nodes and the rest", "{partition: [client-1, redis-1], for: 20s, …}"},
		{Hold{}.Name(), "keeps everything sent over a link and delivers it when the time is up", "{hold: [client-1, redis-1], direction: to-node, for: 40s, …}"},
		{Slow{}.Name(), "adds to the latency of a link", "{slow: [client-1, redis-1], by: 500ms, for: 10s, …}"},
		{Reset{}.Name(), "resets a link's open connections", "{reset: [client-1, redis-1], …}"},
		{Drop{}.Name(), "loses the one request or reply that set it off", "{drop: reply, when: {client-1: {command: 1, point: applied}}}"},
		{Clock{}.Name(), "moves the wall clock of a node or a client", "{clock: redis-1, jump: 60s, …}"},
		{Drift{}.Name(), "lets a node's clock run fast or slow", "{drift: redis-1, rate: 1.1, for: 60s, …}"},
		{Evict{}.Name(), "takes the lock's key from a node, as one does that runs out of memory", "{evict: redis-1, …}"},
		{ForgetScripts{}.Name(), "empties a node's script cache", "{forget-scripts: redis-1, …}"},
		{Refuse{}.Name(), "lets a node answer with an error instead of doing what it is told", "{refuse: redis-1, with: busy, commands: [EVALSHA], for: 6s, …}"},
		{Stop{}.Name(), "takes a node down, and up again when the time is up, with or without its data or the last of it", "{stop: redis-1, data: kept, for: 20s, …}"},
	}
}

// Entry describes one fault.
type Entry struct {
	Name, Summary, Example string
}
