// Package redlockfenced is Redlock with the fencing token that D1 section 4 asks
// for and that Redlock does not have (D2 section 5.2): no single node counts the
// grants, and yet the numbers grow from one grant to the next.
//
// Each node has a counter of its own beside the lock. A try has two phases, those
// of a register with many writers (Attiya, Bar-Noy and Dolev, "Sharing Memory
// Robustly in Message-Passing Systems", 1995):
//
//  1. Every node is asked to take the lock and to count, in one script. The fence
//     is the highest count of the nodes that said yes, which must be a majority.
//  2. Every node is asked to raise its counter to at least the fence. The grant
//     counts when a majority has done so while it still had the lock.
//
// Why they grow: the nodes of a later grant and those of phase 2 share one. On that
// node the lock was still ours when its counter was raised, so the later grant came
// afterwards and counted on from the fence or beyond. That the lock must still be
// ours there is what the register does not need and a lock does: else the other's
// request may have been counted first, on a node that we never had.
//
// It fails when the counters are lost. All nodes are asked to raise theirs, so with
// all of them up a majority must lose its counters before a fence comes again; with
// only a bare majority up, one node that restarts empty can be enough. The
// counters have no time to live.
//
// Everything else is impls/redlock: the time-outs, the elapsed time, which covers
// both phases, the release on all nodes, Extend. A fence that was counted for a try
// that failed is skipped.
package redlockfenced

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/fencing"
	"lockpick/impls/internal/owned"
	"lockpick/impls/internal/quorum"
)

// Version is redlock-fenced.
var Version = impls.Version{
	Name:    "redlock-fenced",
	Summary: "Redlock whose grants carry a number that grows: counted on each node, the highest written back to a majority",
	Where:   "D1 4, D2 5.2",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Quorum:  true,
		Extend:  true,
		Fencing: true,
	},
	New: newLock,
}

type lock struct {
	nodes  *quorum.Nodes
	pauses *quorum.Pauses
	token  func() string
	cfg    impls.Config
}

var _ impls.Extender = (*lock)(nil)

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if quorum.Validity(cfg.TTL, 0) <= 0 {
		return nil, fmt.Errorf("redlock-fenced: nothing is left of a TTL of %v after the drift of %v", cfg.TTL, quorum.Drift(cfg.TTL))
	}
	return &lock{
		nodes:  quorum.Open(env.Nodes(), quorum.Timeout(cfg.TTL)),
		pauses: quorum.NewPauses(env.Rand("redlock-fenced")),
		token:  env.Token,
		cfg:    cfg,
	}, nil
}

// Acquire returns within the node's time-out, three times, after ctx has ended.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	var lease impls.Lease
	err := quorum.Retry(ctx, l.cfg.Wait, l.pauses, func(ctx context.Context) (err error) {
		lease, err = l.try(ctx)
		return err
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return lease, nil
}

func (l *lock) try(ctx context.Context) (impls.Lease, error) {
	lease := impls.Lease{Owner: l.token(), Until: time.Now().Add(quorum.Validity(l.cfg.TTL, 0))}
	counts := quorum.Ask(ctx, l.nodes, func(ctx context.Context, node int) (uint64, error) {
		if l.nodes.Overdue(node) {
			return 0, quorum.ErrNotAsked
		}
		return fencing.Grant(ctx, l.nodes.Node(node), l.cfg.Key, lease.Owner, l.cfg.TTL)
	}, l.tooLate(ctx, lease.Owner))
	votes := make([]quorum.Answer[bool], len(counts))
	for i, c := range counts {
		votes[i] = quorum.Answer[bool]{Value: c.Value > 0, Err: c.Err}
		lease.Fence = max(lease.Fence, c.Value)
	}
	majority := quorum.Majority(l.nodes.Len())
	if quorum.Yes(votes) >= majority && l.raise(ctx, lease) >= majority && time.Now().Before(lease.Until) {
		return lease, nil
	}
	return impls.Lease{}, quorum.NotGranted(votes, l.delete(ctx, lease.Owner, votes))
}

// raise is phase 2. It returns how many nodes have the fence and still had the lock.
func (l *lock) raise(ctx context.Context, lease impls.Lease) int {
	return quorum.Yes(quorum.Ask(ctx, l.nodes, func(ctx context.Context, node int) (bool, error) {
		return fencing.Raise(ctx, l.nodes.Node(node), l.cfg.Key, lease.Owner, lease.Fence)
	}, nil))
}

// tooLate deletes a vote that came after its time-out.
func (l *lock) tooLate(ctx context.Context, owner string) func(node int) {
	return func(node int) {
		_, _ = owned.Delete(context.WithoutCancel(ctx), l.nodes.Node(node), l.cfg.Key, owner) // nobody waits for it
	}
}

// delete removes the value from the nodes, whatever has become of ctx. votes are
// the answers to the request that stored it, if that was only now.
func (l *lock) delete(ctx context.Context, owner string, votes []quorum.Answer[bool]) []quorum.Answer[bool] {
	return quorum.Ask(context.WithoutCancel(ctx), l.nodes, func(ctx context.Context, node int) (bool, error) {
		if votes != nil && errors.Is(votes[node].Err, quorum.ErrNotAsked) {
			return false, votes[node].Err
		}
		return owned.Delete(ctx, l.nodes.Node(node), l.cfg.Key, owner)
	}, nil)
}

// Release may be called again after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	if err := quorum.Held(l.delete(ctx, lease.Owner, nil)); err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	return nil
}

// Extend prolongs the lease on a majority. The fence stays what it is: nobody else
// was granted the lock in between.
func (l *lock) Extend(ctx context.Context, lease impls.Lease) (impls.Lease, error) {
	until := time.Now().Add(quorum.Validity(l.cfg.TTL, 0))
	renewed := quorum.Ask(ctx, l.nodes, func(ctx context.Context, node int) (bool, error) {
		return owned.Renew(ctx, l.nodes.Node(node), l.cfg.Key, lease.Owner, l.cfg.TTL)
	}, nil)
	if err := quorum.Held(renewed); err != nil {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, err)
	}
	if !time.Now().Before(until) {
		return impls.Lease{}, fmt.Errorf("extend %q: the answers took longer than the lease", l.cfg.Key)
	}
	lease.Until = until
	return lease, nil
}

// Close waits for calls that nobody waits for any more.
func (l *lock) Close() error {
	l.nodes.Close()
	return nil
}
