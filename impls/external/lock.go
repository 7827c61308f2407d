package external

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
)

// lock is a handle on a lock over there. It is safe for concurrent use.
type lock struct {
	child  *Child
	number int64 // the request that opened it

	mu     sync.Mutex
	leases map[string]int64 // by owner, the newest: those of one owner are the same to the lock
}

// withAbilities is the lock as something that can do what the client says that it
// can.
func (l *lock) withAbilities(o opened) impls.Lock {
	switch {
	case o.Extend && o.Shared:
		return struct {
			*lock
			extender
			sharer
		}{l, extender{l}, sharer{l}}
	case o.Extend:
		return struct {
			*lock
			extender
		}{l, extender{l}}
	case o.Shared:
		return struct {
			*lock
			sharer
		}{l, sharer{l}}
	default:
		return l
	}
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) { return l.acquire(ctx, opAcquire) }

func (l *lock) acquire(ctx context.Context, op string) (impls.Lease, error) {
	got, sent, err := l.child.call(ctx, request{Op: op, Lock: l.number})
	if err != nil {
		return impls.Lease{}, err
	}
	if got.Lease == nil {
		return impls.Lease{}, l.silent(op)
	}
	l.mu.Lock()
	l.leases[got.Lease.Owner] = got.ID
	l.mu.Unlock()
	lease := got.Lease.lease(sent)
	lease.Lost = got.lost
	return lease, nil
}

// silent ends a client that granted a lease and did not say which.
func (l *lock) silent(op string) error {
	err := fmt.Errorf("%w: its answer to %q has neither a lease nor an error", ErrProtocol, op)
	l.child.kill(err)
	return err
}

// lease is what was granted to a request that was sent then.
func (g *granted) lease(sent time.Time) impls.Lease {
	l := impls.Lease{Owner: g.Owner, Fence: g.Fence}
	if g.Good != nil {
		l.Until = sent.Add(time.Duration(*g.Good) * time.Microsecond)
	}
	return l
}

// of returns the number of a lease, 0 for one that is not of this lock.
func (l *lock) of(lease impls.Lease) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leases[lease.Owner]
}

func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	_, _, err := l.child.call(ctx, request{Op: opRelease, Lock: l.number, Lease: l.of(lease)})
	return err
}

func (l *lock) Close() error {
	_, err := l.child.soon(request{Op: opClose, Lock: l.number})
	return err
}

// extender is a lock that can prolong a lease.
type extender struct{ lock *lock }

func (e extender) Extend(ctx context.Context, lease impls.Lease) (impls.Lease, error) {
	got, sent, err := e.lock.child.call(ctx, request{Op: opExtend, Lock: e.lock.number, Lease: e.lock.of(lease)})
	if err != nil {
		return impls.Lease{}, err
	}
	if got.Lease == nil {
		return impls.Lease{}, e.lock.silent(opExtend)
	}
	extended := got.Lease.lease(sent)
	extended.Lost = lease.Lost
	return extended, nil
}

// sharer is a lock with a shared mode.
type sharer struct{ lock *lock }

func (s sharer) AcquireShared(ctx context.Context) (impls.Lease, error) {
	return s.lock.acquire(ctx, opAcquireShared)
}
