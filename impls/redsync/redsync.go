// Package redsync is the Go library github.com/go-redsync/redsync/v4 v4.18.1,
// unmodified.
//
// It is the Redlock of D1 section 4 and D2 section 5.2 as Go programs use it: it
// asks all independent nodes at once, needs a majority and a rest of the lease,
// and cleans up after a failed try. It does not renew by itself; ExtendContext
// is Extend here. Until is the library's own claim: the lease less the time it
// took and 1 % for the clocks.
//
// It is used with its defaults, except for what a run must decide: the expiry,
// a deadline of Config.Wait on the context with enough tries to reach it, its
// random back-off of 50 to 250 ms drawn from Env.Rand instead of the process's
// dice, and the value taken from Env.Token. Each node has 5 % of the expiry to
// answer, the library's default, which binds only a client that heeds contexts.
//
// Its errors do not say whether the lock was granted: a failed try reports one
// error however its cleaning up went, a cancelled context is ErrFailed like a
// taken lock, and an error is returned only if it was that of the last try. So
// the connections it is given note what every node answered; see ballot.
//
// redsync-set-on-extend is the library with its option WithSetNXOnExtend, which is
// meant for servers that restart without their data: an extension stores the value
// again where the key is gone. It cannot see whether another client had the lock in
// between, and says yes (leandromoreira/redlock-rb#36 is the same rule).
package redsync

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	lib "github.com/go-redsync/redsync/v4"
	libredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// The library's bounds of its random back-off.
const (
	minRetryDelay = 50 * time.Millisecond
	maxRetryDelay = 250 * time.Millisecond
)

// Version is redsync.
var Version = impls.Version{
	Name:    "redsync",
	Summary: "the library go-redsync/redsync: Redlock over the independent nodes, extended on request",
	Where:   where,
	Traits:  traits,
	New: func(env impls.Env, cfg impls.Config) (impls.Lock, error) {
		return newLock(env, cfg)
	},
}

// SetOnExtend is redsync-set-on-extend.
var SetOnExtend = impls.Version{
	Name:      "redsync-set-on-extend",
	Summary:   "redsync with WithSetNXOnExtend: an extension takes a key that is gone anew, whoever had it meanwhile",
	Where:     where,
	Traits:    traits,
	VariantOf: "redsync",
	New: func(env impls.Env, cfg impls.Config) (impls.Lock, error) {
		return newLock(env, cfg, lib.WithSetNXOnExtend())
	},
}

const where = "github.com/go-redsync/redsync/v4 v4.18.1"

var traits = impls.Traits{
	TTL:     impls.TTLAtomic,
	Token:   impls.TokenUnique,
	Release: impls.ReleaseAtomic,
	Renew:   impls.RenewNone,
	Wait:    impls.WaitPoll,
	Quorum:  true,
	Extend:  true,
}

type lock struct {
	pools   []libredis.Pool
	token   func() string
	cfg     impls.Config
	options []lib.Option // besides those that every mutex has here

	mu   sync.Mutex // guards the two fields below; never held during a command
	dice *rand.Rand
	held map[string]*held // by owner
}

// held is one grant. The library's mutex is not safe for concurrent use and the
// ballot counts one call at a time, so calls take turns.
type held struct {
	mutex  *lib.Mutex
	ballot *ballot
	turn   chan struct{} // has room for one; not a sync.Mutex, since commands run under it
}

var _ impls.Extender = (*lock)(nil)

func newLock(env impls.Env, cfg impls.Config, options ...lib.Option) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &lock{token: env.Token, cfg: cfg, options: options, dice: env.Rand("redsync"), held: make(map[string]*held)}
	for _, node := range env.Nodes() {
		l.pools = append(l.pools, goredis.NewPool(node.(redis.UniversalClient)))
	}
	if len(l.pools) == 0 {
		return nil, fmt.Errorf("redsync needs at least one node")
	}
	return l, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	b := newBallot(len(l.pools))
	mutex := lib.New(b.watch(l.pools)...).NewMutex(l.cfg.Key, append([]lib.Option{
		lib.WithExpiry(l.cfg.TTL),
		lib.WithTries(l.tries()),
		lib.WithRetryDelayFunc(l.retryDelay),
		lib.WithGenValueFunc(func() (string, error) { return l.token(), nil }),
	}, l.options...)...)
	waiting := ctx
	if l.cfg.Wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, l.cfg.Wait)
		defer cancel()
	}

	err := mutex.LockContext(waiting)
	switch left := b.mayHold(); {
	case err == nil:
		l.mu.Lock()
		l.held[mutex.Value()] = &held{mutex: mutex, ballot: b, turn: make(chan struct{}, 1)}
		l.mu.Unlock()
		return impls.Lease{Owner: mutex.Value(), Until: mutex.Until()}, nil
	case left >= b.quorum:
		return impls.Lease{}, fmt.Errorf("acquire %q: %d of %d nodes may hold it: %w", l.cfg.Key, left, b.nodes(), err)
	case ctx.Err() != nil:
		return impls.Lease{}, fmt.Errorf("acquire %q: %w: %w", l.cfg.Key, impls.ErrNotAcquired, ctx.Err())
	default:
		return impls.Lease{}, fmt.Errorf("acquire %q: %w: %w", l.cfg.Key, impls.ErrNotAcquired, err)
	}
}

// tries is enough of them to reach the deadline of Wait; without a wait it is one.
func (l *lock) tries() int {
	return int((l.cfg.Wait+minRetryDelay-1)/minRetryDelay) + 1
}

// retryDelay draws what the library draws by default.
func (l *lock) retryDelay(int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	span := int64((maxRetryDelay - minRetryDelay) / time.Millisecond)
	return minRetryDelay + time.Duration(l.dice.Int64N(span))*time.Millisecond
}

// Extend is ExtendContext.
func (l *lock) Extend(ctx context.Context, lease impls.Lease) (impls.Lease, error) {
	var until time.Time
	err := l.call(ctx, lease.Owner, func(m *lib.Mutex) (bool, error) {
		ok, err := m.ExtendContext(ctx)
		until = m.Until()
		return ok, err
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, err)
	}
	lease.Until = until
	return lease, nil
}

// Release is UnlockContext. It may be called again after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	err := l.call(ctx, lease.Owner, func(m *lib.Mutex) (bool, error) { return m.UnlockContext(ctx) })
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	l.mu.Lock()
	delete(l.held, lease.Owner)
	l.mu.Unlock()
	return nil
}

// call lets one operation of a grant ask the nodes. The answer is ErrNotHeld if
// the nodes that said yes and those that said nothing are no majority together:
// then the lock was not ours. Otherwise a failure is unknown.
func (l *lock) call(ctx context.Context, owner string, f func(*lib.Mutex) (bool, error)) error {
	l.mu.Lock()
	h := l.held[owner]
	l.mu.Unlock()
	if h == nil {
		return impls.ErrNotHeld // given back before
	}
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.turn }()

	h.ballot.begin()
	ok, err := f(h.mutex)
	switch {
	case ok:
		return nil
	case h.ballot.mayHaveHeld() < h.ballot.quorum:
		return fmt.Errorf("%w: %w", impls.ErrNotHeld, err)
	case ctx.Err() != nil:
		return ctx.Err() // what the library says then is by chance: it hears of the context or of the nodes first
	default:
		return err
	}
}

func (l *lock) Close() error { return nil }
