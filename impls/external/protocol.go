// Package external lets a lock live in another process, in any language.
//
// The process is the client: it holds the connections, the timers and the
// background renewals of its lock, so that stopping it is a stop-the-world pause
// and killing it is a crash. It speaks the adapter protocol on its standard input
// and output, one JSON value per line; docs/adapter-protocol.md has the whole of
// it. Serve is the client's side, for locks written in Go; Start is the side of
// whoever tests it, and gives an impls.Lock for the lock that lives over there.
//
// It knows no scenario, no history and no check.
//
// The rule that surprises: how long a lease is good for is told as a time since
// the request was sent, not as a point in time and not from the reply. Neither
// side need trust the other's clock, and what the pipes take makes a claim
// shorter, never longer.
package external

import (
	"errors"
	"fmt"

	"lockpick/impls"
)

// Protocol is the version of the adapter protocol that this package speaks.
const Protocol = 1

// maxLine is the longest line that either side reads, in bytes.
const maxLine = 1 << 20

// The operations of a request.
const (
	opOpen          = "open"           // make a handle on a lock
	opAcquire       = "acquire"        //
	opAcquireShared = "acquire-shared" // in shared mode
	opExtend        = "extend"
	opRelease       = "release"
	opClose         = "close"  // end a handle's background work
	opCancel        = "cancel" // the caller of an earlier request has gone away
	opPing          = "ping"   // nothing but to answer
	opClock         = "clock"  // move the client's wall clock
)

// request is a line to the client. Which fields it has follows from Op.
type request struct {
	ID    int64  `json:"id"` // of the reply; from 1, each once
	Op    string `json:"op"`
	Lock  int64  `json:"lock,omitempty"`  // the handle, which is the ID of the request that opened it
	Lease int64  `json:"lease,omitempty"` // the ID of the request that was granted it
	Of    int64  `json:"of,omitempty"`    // the request that is cancelled
	Open  *Open  `json:"open,omitempty"`
	Ahead int64  `json:"ahead_ms,omitempty"` // how far the wall clock is to be ahead of the machine's, in milliseconds

	Cancelled bool `json:"cancelled,omitempty"` // the caller had gone away before it asked
}

// Open says what lock to make, and for whom.
type Open struct {
	Protocol int      `json:"protocol"`
	Version  string   `json:"version"` // the lock's name, for a program that has several
	Client   string   `json:"client"`  // the unique name of the client
	Seed     uint64   `json:"seed"`    // of its dice
	Key      string   `json:"key"`
	Also     []string `json:"also,omitempty"` // further keys, for a lock of several keys as one
	TTL      int64    `json:"ttl_ms"`
	Wait     int64    `json:"wait_ms"`
	Scale    float64  `json:"time_scale,omitempty"` // what those two were multiplied by; 1 when it is left out
	Redis    Redis    `json:"redis"`
}

// Redis says where the servers are, and how to speak to them.
type Redis struct {
	Nodes     []string          `json:"nodes"`               // "host:port" of the one node, or of each independent one
	Master    string            `json:"master,omitempty"`    // the name that the Sentinels know the primary by
	Sentinels []string          `json:"sentinels,omitempty"` // when there are any, they say where the primary is, and Nodes is empty
	Addresses map[string]string `json:"addresses,omitempty"` // where to go in place of an address that a Sentinel tells
	Timeout   int64             `json:"timeout_ms"`          // for a connection and for a reply
	Retries   int               `json:"retries"`             // how often a command is sent again that got no reply
}

// reply is a line from the client: the answer to a request, or news.
type reply struct {
	ID    int64    `json:"id,omitempty"`
	Open  *opened  `json:"open,omitempty"`  // of an open
	Lease *granted `json:"lease,omitempty"` // of an acquire or an extend
	Error *failure `json:"error,omitempty"`

	Lost int64 `json:"lost,omitempty"` // news: the lease with this ID is gone, and the lock knows

	lost chan struct{} // closed by that news, when the lease tells
}

// opened says what the lock can do.
type opened struct {
	Protocol int  `json:"protocol"`
	Extend   bool `json:"extend,omitempty"`
	Shared   bool `json:"shared,omitempty"`
}

// granted is a lease.
type granted struct {
	Owner string `json:"owner"`
	Fence uint64 `json:"fence,omitempty"`
	Good  *int64 `json:"good_for_us,omitempty"` // microseconds since the request was read; none when the lock makes no claim
	Tells bool   `json:"tells,omitempty"`       // there will be news when the lock learns of the loss
}

// failure is an error with its class.
type failure struct {
	Class string `json:"class"`
	Text  string `json:"text"`
}

// The classes of errors.
const (
	notAcquired = "not-acquired" // definitely not granted
	notHeld     = "not-held"     // the lease was definitely no longer ours
	unknown     = "unknown"      // it may have happened or not
	panicked    = "panicked"     // the lock's method ended by a panic, or what the language has in its place
	refused     = "refused"      // the request makes no sense to the client: nothing was tried
)

// sentinel is the error that a class stands for, nil for an unknown outcome.
var sentinel = map[string]error{
	notAcquired: impls.ErrNotAcquired,
	notHeld:     impls.ErrNotHeld,
	panicked:    impls.ErrPanicked,
}

// failed tells what is known after an operation that returned err. Only the
// error that is made for the operation says that it had no effect.
func failed(op string, err error) *failure {
	if err == nil {
		return nil
	}
	class := unknown
	switch op {
	case opAcquire, opAcquireShared:
		if errors.Is(err, impls.ErrNotAcquired) {
			class = notAcquired
		}
	case opRelease, opExtend:
		if errors.Is(err, impls.ErrNotHeld) {
			class = notHeld
		}
	}
	return &failure{Class: class, Text: err.Error()}
}

// err is the error that the failure stands for.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	if is := sentinel[f.Class]; is != nil {
		return &foreign{text: f.Text, is: is}
	}
	if f.Class == unknown {
		return errors.New(f.Text)
	}
	return fmt.Errorf("%w: it answers with an error of the class %q: %s", ErrProtocol, f.Class, f.Text)
}

// foreign is an error of the lock over there, in its words.
type foreign struct {
	text string
	is   error
}

func (e *foreign) Error() string { return e.text }
func (e *foreign) Unwrap() error { return e.is }
