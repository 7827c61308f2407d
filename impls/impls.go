// Package impls is the contract between lockpick and a lock.
//
// It knows neither the harness nor the checks: a lock version imports this
// package and its own client library, and nothing else of lockpick. The
// versions themselves live in the packages below, one each, and are listed in
// impls/catalog.
//
// The rule that surprises: an error that is none of the sentinels below means
// that the outcome is unknown. A lock must never turn "I did not hear back"
// into ErrNotAcquired, because the server may have granted it.
package impls

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// Errors that say what is known. Match them with errors.Is.
var (
	// ErrNotAcquired means that the lock was definitely not granted.
	ErrNotAcquired = errors.New("impls: not acquired")

	// ErrNotHeld means that the lease was definitely no longer ours.
	ErrNotHeld = errors.New("impls: not held")

	// ErrPanicked means that the method panicked in the process that the lock lives
	// in, where somebody else recovered. Nothing is known of what it did.
	ErrPanicked = errors.New("impls: the lock panicked")
)

// Lock is one client's handle on one named lock. It is safe for concurrent use
// unless the version's Traits say otherwise. No method panics, whatever became of
// the lease; and who has the servers' answer says yes or no.
type Lock interface {
	// Acquire tries until it has the lock, Config.Wait has passed, or ctx is
	// done. It returns ErrNotAcquired when the lock was definitely not granted.
	// With any other error the outcome is unknown and the lock may be held on
	// the server. A version that is re-entrant grants it again to the handle
	// that has it, and then needs as many Releases; to any other version that is
	// a second attempt like everybody's.
	Acquire(ctx context.Context) (Lease, error)

	// Release gives the lease back. It returns ErrNotHeld when the lease was no
	// longer ours. With any other error the outcome is unknown.
	Release(ctx context.Context, l Lease) error

	// Close stops background work. It does not release.
	Close() error
}

// Lease is one grant of a lock.
type Lease struct {
	Owner string          // the value stored for this grant
	Fence uint64          // fencing number; 0 when the version has none
	Until time.Time       // when the holder must assume it has lost the lock; zero when the version makes no claim
	Lost  <-chan struct{} // closed when the version learns that the lease is gone; nil when it never does
}

// Extender is a Lock whose leases can be prolonged on request. Extend returns
// the lease with its new Until, ErrNotHeld when the lease was no longer ours,
// and any other error when the outcome is unknown.
type Extender interface {
	Extend(ctx context.Context, l Lease) (Lease, error)
}

// SharedLocker is a Lock that several clients may hold together in shared mode.
// Its errors are those of Acquire.
type SharedLocker interface {
	AcquireShared(ctx context.Context) (Lease, error)
}

// Config says what a lock protects and for how long.
type Config struct {
	Key  string        // the name of the lock; versions store it as it is
	Also []string      // further keys, which a version that locks several keys as one takes together with Key; the others ignore them
	TTL  time.Duration // how long one grant lasts unless it is renewed; versions without expiry ignore it
	Wait time.Duration // how long Acquire keeps trying; 0 means one attempt

	// Scale is what TTL and Wait were multiplied by to make them what they are; 0 is
	// 1. See Scaled.
	Scale float64
}

// Scaled is a time of the version's own at the scale of TTL and Wait: on real
// servers a day's work is done in seconds. Versions use it for times that are as
// long as leases, and not for how often they poll.
func (c Config) Scaled(d time.Duration) time.Duration {
	if c.Scale == 0 {
		return d
	}
	return time.Duration(float64(d) * c.Scale)
}

// Validate reports the first thing that no lock can work with.
func (c Config) Validate() error {
	switch {
	case c.Key == "":
		return errors.New("impls: the lock's key is empty")
	case c.TTL < time.Millisecond:
		return errors.New("impls: the lock's TTL is shorter than 1 ms, the finest step that Redis expires in")
	case c.Wait < 0:
		return errors.New("impls: the lock's wait is negative")
	}
	return nil
}

// Precision is how much earlier than its TTL says a key may end: Redis keeps the
// end in whole milliseconds of its clock. A version that claims Until takes it off.
const Precision = time.Millisecond

// Redis is go-redis' client. Behind it is always a redis.UniversalClient, and a
// version that needs the rest of it, such as Watch or Subscribe, asserts it to
// that. It is the smaller interface because each package that mentions the larger
// one takes two seconds to compile, and a newcomer compiles them all.
type Redis interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Env is the world a version may touch: its client's servers and dice. It is
// safe for concurrent use.
type Env interface {
	// Redis is the topology's entry point: the single node, or the primary that
	// Sentinel names.
	Redis() Redis

	// Nodes are the independent primaries, for quorum locks. With one node it
	// has the one element that Redis returns.
	Nodes() []Redis

	// Process is what this client has in common with the other threads of its
	// process; see Shared. Most versions need none of it.
	Process() *Process

	// Owner is this client's unique name. It stays the same for all its leases.
	Owner() string

	// Token is a value that no other call, of any client, returns: what the
	// documents take a UUID for.
	Token() string

	// Wall is the wall clock of this client's machine, which somebody may set
	// while the client runs. It has no monotonic reading; for one, and for
	// everything but the mistake of trusting it, use time.Now.
	Wall() time.Time

	// Rand is a source of chance that follows from the run's seed and from the
	// name alone, so that a new use of chance does not move the others. Each
	// call starts the stream anew; keep the source. It is not safe for
	// concurrent use.
	Rand(name string) *rand.Rand
}

// Version describes one lock implementation of the catalogue.
type Version struct {
	Name    string // as on the command line
	Summary string // one sentence, mistakes included
	Where   string // the document's section, or the library and its version
	Traits  Traits

	// VariantOf is the version that this one differs from in one rule; empty for
	// most. It is tried only in scenarios that list it among their variants, since
	// elsewhere both do the same.
	VariantOf string

	// New makes a handle for one client. It touches no server. The error is for
	// a configuration that this version cannot work with. It is nil for a
	// strategy.
	New func(Env, Config) (Lock, error)

	// Strategy is what a version without a lock has in place of New.
	Strategy func(Env, Store, Config) (Strategy, error)
}
