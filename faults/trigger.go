package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trigger says when a step happens: at a time, on something a client did, or at
// a command on the wire.
type Trigger struct {
	At time.Duration // since the start of the run, when Client is empty

	Client string
	Event  Event         // what the client did, when Wire is nil
	Wire   *Wire         // the command, when not nil
	Nth    int           // which time that it happens, from 1; 0 means the first
	After  time.Duration // how long after it
}

func (t Trigger) String() string {
	if t.Client == "" {
		return "at " + t.At.String()
	}
	var b strings.Builder
	if t.After > 0 {
		fmt.Fprintf(&b, "%v after ", t.After)
	}
	if t.Nth > 1 {
		fmt.Fprintf(&b, "time %d of ", t.Nth)
	}
	fmt.Fprintf(&b, "%s: ", t.Client)
	if t.Wire != nil {
		b.WriteString(t.Wire.String())
	} else {
		b.WriteString(string(t.Event))
	}
	return b.String()
}

// Event is something a client does.
type Event string

// The events, in the order of a critical section.
const (
	Acquiring Event = "acquiring"
	Acquired  Event = "acquired"
	Reading   Event = "reading"
	Writing   Event = "writing" // it has asked its lease, if it heeds it, and is about to write
	Written   Event = "written"
	Releasing Event = "releasing"
	Released  Event = "released"
)

// Events lists every Event.
func Events() []Event {
	return []Event{Acquiring, Acquired, Reading, Writing, Written, Releasing, Released}
}

// Wire picks commands of a client on the wire to the lock's nodes. Setting up a
// connection sends commands too; they do not count.
type Wire struct {
	Command int      // its number, from 1; 0 when Names picks
	Names   []string // its name, in capitals, is one of these; empty when Command picks
	During  Phase    // only in this phase, whose first command has number 1; empty for the whole run
	Point   Point
}

func (w Wire) String() string {
	var b strings.Builder
	if w.Command > 0 {
		fmt.Fprintf(&b, "command %d", w.Command)
	} else {
		b.WriteString(strings.Join(w.Names, " or "))
	}
	if w.During != "" {
		fmt.Fprintf(&b, " during %s", w.During)
	}
	return b.String() + " " + string(w.Point)
}

// Phase is where a client is in its critical section.
type Phase string

// The phases. Between sections a client is in none.
const (
	InAcquire Phase = "acquire" // from the call of Acquire to its return
	InHold    Phase = "hold"    // from there to the call of Release: renewals
	InRelease Phase = "release" // from the call of Release to its return
)

// Phases lists every Phase.
func Phases() []Phase { return []Phase{InAcquire, InHold, InRelease} }

// Point is a place on a command's way.
type Point string

// The points.
const (
	BeforeSend Point = "before-send" // the client is about to send it
	Applied    Point = "applied"     // the node has executed it and is about to reply
	Replied    Point = "replied"     // the reply has reached the client, which has not seen it yet
)

// Points lists every Point.
func Points() []Point { return []Point{BeforeSend, Applied, Replied} }

// Packet is one command at one point of its way, as a testbed reports it.
type Packet struct {
	Client, Node string
	Name         string // of the command, in capitals
	Number       int    // among the client's commands of the run, from 1
	Phase        Phase  // where the client was when it sent it
	PhaseNumber  int    // among the client's commands of that phase, from 1
	Point        Point
}

// picks reports whether w means p.
func (w Wire) picks(p Packet) bool {
	if p.Point != w.Point || w.During != "" && p.Phase != w.During {
		return false
	}
	if w.Command == 0 {
		return slices.Contains(w.Names, p.Name)
	}
	if w.During != "" {
		return p.PhaseNumber == w.Command
	}
	return p.Number == w.Command
}
