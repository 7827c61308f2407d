// Package history is the record of a run: what every client, node and fault
// did, in order of time, in one file that can be checked again later with no
// harness and no server.
//
// It knows nothing of locks being right or wrong; package checker judges.
//
// The rule that surprises: an operation whose reply was lost has no end. It is
// closed by a record of kind Unknown, which says when the caller gave up, not
// that nothing happened.
package history

import "time"

// Kind says what a record is.
type Kind string

// The kinds of records.
const (
	Invoke  Kind = "invoke"  // a client begins an operation
	OK      Kind = "ok"      // it ended and took effect
	Fail    Kind = "fail"    // it ended and definitely had no effect
	Unknown Kind = "unknown" // the caller gave up; it may or may not have had an effect, then or later
	Observe Kind = "observe" // a node or a client saw something
	Fault   Kind = "fault"   // something was broken or healed on purpose
	Note    Kind = "note"    // the harness remarks on the run
)

// The operations of clients (Invoke, OK, Fail, Unknown).
const (
	Acquire = "acquire" // Key; ends with Owner, Fence, Until, or Error
	Release = "release" // Key, Owner
	Extend  = "extend"  // Key, Owner; ends with Until
	Read    = "read"    // of the resource; ends with Value
	Write   = "write"   // of the resource: Value, Fence
	Change  = "change"  // of the resource, without a lock: Value is what is added to it
)

// What clients and nodes observe (Observe).
const (
	Lost    = "lost"    // a client learned that its lease Owner is gone
	Heed    = "heed"    // a client asked its lease before touching the resource; Error says why it stopped, if it did
	Done    = "done"    // a client finished its rounds
	Command = "command" // a node executed Command of Client, sent at Sent, and answered Reply
	Apply   = "apply"   // the store applied Client's write: Was became Value
	Keys    = "keys"    // a node's Key exists, with TTL, when the harness looked
	Push    = "push"    // a node sent Command, a channel and a message, to the subscriber Client
	Role    = "role"    // what a node of several is from now on: Text is Primary, or Replica and then Target its primary
	Sentry  = "sentry"  // a Sentinel saw or did Text, in Sentinel's own words, about Target
	Load    = "load"    // what a node has had to bear since the start: Connections, Subscriptions, at most and at once

	// The life of a key, as its node saw it. Owner is the key's value (before
	// it went, for deleted and expired), Holder the client that stored it,
	// Client the one whose command did this, TTL what the key has now.
	Granted   = "granted"   // the key came into being
	Replaced  = "replaced"  // its value changed from Was
	Renewed   = "renewed"   // its end moved away, or it got its first TTL
	Shortened = "shortened" // its end moved nearer
	Deleted   = "deleted"   // a command removed it
	Expired   = "expired"   // its time was up by the node's clock
)

// What the harness remarks (Note).
const (
	Quiet  = "quiet"  // all clients have stopped and all faults are healed
	Looked = "looked" // the harness looked for keys on every node; Text is AfterLease for the second look
	Left   = "left"   // code of the lock still ran, or waited, after its Close
	Stuck  = "stuck"  // the client Target did not finish: it waits for something that does not come
	End    = "end"    // the run is complete; Text says why its outcome cannot be judged, and is empty when it can
)

// The Text of Role records.
const (
	Primary = "primary"
	Replica = "replica"
)

// AfterLease is the Text of Looked and Keys records when the harness looked
// after every lease had had time to end.
const AfterLease = "after the lease"

// AtEnd is the Text of Looked and Keys records when the harness looked last.
const AtEnd = "end"

// The Text of Fault records.
const (
	Struck = "struck" // the fault was injected
	Healed = "healed" // and its end was reached
)

// NoTTL is the TTL of a key that never expires.
const NoTTL time.Duration = -1

// World is the Who of faults and of what the harness remarks.
const World = "world"

// Probe is the Who of the client that tries the lock after the others stopped.
const Probe = "probe"

// Record is one line of a history. Which fields count depends on Kind and Op;
// the others are empty.
type Record struct {
	T    time.Duration `json:"t"`   // since the start of the run
	Who  string        `json:"who"` // a client, a node, or "world"
	Kind Kind          `json:"kind"`
	Op   string        `json:"op"`

	ID    int `json:"id,omitempty"`    // pairs an Invoke with its end; unique in the history, from 1
	Round int `json:"round,omitempty"` // the client's critical section that this belongs to, from 1

	Depth  int  `json:"depth,omitempty"`  // of an acquire or release inside of a section that has the lock already, from 2
	Shared bool `json:"shared,omitempty"` // of an acquire: in shared mode

	Key   string        `json:"key,omitempty"`
	Owner string        `json:"owner,omitempty"` // the value of a grant, relabelled so that equal seeds give equal histories
	Fence uint64        `json:"fence,omitempty"`
	Until time.Duration `json:"until,omitempty"` // the version's own claim, since the start of the run; 0 when it makes none
	TTL   time.Duration `json:"ttl,omitempty"`   // NoTTL for a key without expiry
	Value *int64        `json:"value,omitempty"` // of the resource
	Was   string        `json:"was,omitempty"`   // the value before a change

	Client  string        `json:"client,omitempty"` // whose doing a node observed
	Holder  string        `json:"holder,omitempty"` // the client that stored the key's value
	Command []string      `json:"command,omitempty"`
	Reply   string        `json:"reply,omitempty"`
	Sent    time.Duration `json:"sent,omitempty"` // when Command left its client

	Connections   int `json:"connections,omitempty"`
	Subscriptions int `json:"subscriptions,omitempty"`

	Target string        `json:"target,omitempty"` // what a fault struck
	For    time.Duration `json:"for,omitempty"`    // how long it is meant to last; 0 for ever
	Error  string        `json:"error,omitempty"`

	Panicked bool `json:"panicked,omitempty"` // of an acquire, release or extend that is Unknown: the lock panicked, with Error
	Answered bool `json:"answered,omitempty"` // of a release or extend that is Unknown: the client had asked the lock's nodes, and had every answer when it was told so

	Text string `json:"text,omitempty"`
}

// Ends reports whether the record closes an operation.
func (r Record) Ends() bool { return r.Kind == OK || r.Kind == Fail || r.Kind == Unknown }

// StrikesProcess reports whether the record is of a fault which, if it is of a
// client, strikes all threads of its process.
func (r Record) StrikesProcess() bool {
	return r.Kind == Fault && (r.Op == "pause" || r.Op == "crash" || r.Op == "clock")
}

// Int returns a pointer to v, for Record.Value.
func Int(v int64) *int64 { return &v }
