// Package redlock is the algorithm of the Redis page "Distributed Locks with
// Redis" (redis.io), which D1 section 4 and D2 section 5.2 describe.
//
//  1. Note the time.
//  2. Ask all N independent nodes at once: SET NX PX, the same value everywhere. A
//     node that does not answer soon is skipped.
//  3. The lock is granted when N/2+1 of the nodes, of all that are configured, said
//     yes and something of the lease is left: TTL, less the time since step 1, less
//     1 % and 2 ms for the clocks. Until is when nothing is left.
//  4. Otherwise the value is deleted on every node, also on those that did not say
//     yes: their answer may be what was lost (redisson/redisson#1606). After a
//     random pause of 50 to 250 ms the next try begins, with a new value and a new
//     step 1, until Config.Wait has passed.
//
// A node has TTL/20 for its answer, at most 50 ms. That bounds the wait although
// go-redis heeds a context only with ContextTimeoutEnabled: the call goes on by
// itself. A vote that comes in later is not counted, and is deleted as soon as it
// does. A late vote of the past cannot count for a later try, because every try
// stores its own value. A node that owes both answers of a try, its vote and its
// delete, is not asked for a vote again until one of them has come.
//
// The elapsed time is measured on the monotonic clock from before the first
// request. Counted from the first of several tries, a lease may be over when it
// is handed out (mike-marcacci/node-redlock#296); with the drift added, it lasts
// longer than the nodes keep it (SPSCommerce/redlock-py#3).
//
// Release asks every node, does not stop because the caller's context has ended,
// and waits as long as a try does. It is ErrNotHeld when so many nodes did not
// have the value that no majority can have; that is final, and not tried again
// (mike-marcacci/node-redlock#313). When too few nodes answered to tell whether
// the lock was granted or given back, the error is none of the contract's. There
// is no renewal; Extend prolongs the lease on a majority.
//
// What it cannot do: a node that forgets the lock, whose clock jumps, or a client
// that is paused after step 3 can each make two holders, and there is no fence.
//
// Options takes out the constraints that D1 section 4 lists, and repeats what
// libraries got wrong, one at a time.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
	"lockpick/impls/internal/quorum"
)

// Options are what is left out of the algorithm, or done wrong. The zero value is
// the algorithm.
type Options struct {
	// NoElapsedCheck claims the whole TTL from when the last node has answered,
	// however long that took.
	NoElapsedCheck bool

	// NoNodeTimeout asks one node after the other, as the documents say it, and
	// each for as long as the client library waits.
	NoNodeTimeout bool

	// OwnRelease deletes the value only on nodes that are known to have stored it.
	OwnRelease bool

	// Replicas uses nodes that are replicas of one another. Nothing in the code is
	// different; it is how the lock is deployed, and the version's Traits say so.
	Replicas bool

	// Reachable takes the majority of the nodes that answered, not of all.
	Reachable bool

	// DriftAdded makes the claim longer by what it should be shorter by.
	DriftAdded bool

	// FirstTry counts the lease from the first of several tries, and hands it out
	// whether anything is left of it or not.
	FirstTry bool
}

// variant is redlock's name if one rule is different.
func (o Options) variant() string {
	left := 0
	for _, out := range []bool{
		o.NoElapsedCheck, o.NoNodeTimeout, o.OwnRelease, o.Replicas, o.Reachable, o.DriftAdded, o.FirstTry,
	} {
		if out {
			left++
		}
	}
	if left == 1 {
		return "redlock"
	}
	return ""
}

// Version is redlock.
var Version = Without("redlock", "majority of independent nodes with per-node time-outs, drift taken off the lease, release on all nodes", Options{})

// Without is redlock as the options leave it.
func Without(name, summary string, o Options) impls.Version {
	return impls.Version{
		Name:    name,
		Summary: summary,
		Where:   "D1 4, D2 5.2, redis.io: Distributed Locks with Redis",
		Traits: impls.Traits{
			TTL:        impls.TTLAtomic,
			Token:      impls.TokenUnique,
			Release:    impls.ReleaseAtomic,
			Renew:      impls.RenewNone,
			Wait:       impls.WaitPoll,
			Quorum:     true,
			Extend:     true,
			Replicated: o.Replicas,
		},
		VariantOf: o.variant(),
		New:       func(env impls.Env, cfg impls.Config) (impls.Lock, error) { return newLock(env, cfg, o) },
	}
}

type lock struct {
	nodes  *quorum.Nodes
	pauses *quorum.Pauses
	token  func() string
	cfg    impls.Config
	opts   Options

	mu    sync.Mutex // guards votes; never held during a command
	votes map[string][]quorum.Answer[bool]
}

var _ impls.Extender = (*lock)(nil)

func newLock(env impls.Env, cfg impls.Config, o Options) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if quorum.Validity(cfg.TTL, 0) <= 0 {
		return nil, fmt.Errorf("redlock: nothing is left of a TTL of %v after the drift of %v", cfg.TTL, quorum.Drift(cfg.TTL))
	}
	timeout := quorum.Timeout(cfg.TTL)
	if o.NoNodeTimeout {
		timeout = 0
	}
	return &lock{
		nodes:  quorum.Open(env.Nodes(), timeout),
		pauses: quorum.NewPauses(env.Rand("redlock")),
		token:  env.Token,
		cfg:    cfg,
		opts:   o,
		votes:  make(map[string][]quorum.Answer[bool]),
	}, nil
}

// Acquire returns within the node's time-out, twice, after ctx has ended.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	var lease impls.Lease
	called := time.Now()
	err := quorum.Retry(ctx, l.cfg.Wait, l.pauses, func(ctx context.Context) (err error) {
		lease, err = l.try(ctx, called)
		return err
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return lease, nil
}

// try asks every node once. Acquire was called at the given time.
func (l *lock) try(ctx context.Context, called time.Time) (impls.Lease, error) {
	owner := l.token()
	start := time.Now()
	if l.opts.FirstTry {
		start = called
	}
	votes := quorum.Ask(ctx, l.nodes, func(ctx context.Context, node int) (bool, error) {
		if l.nodes.Overdue(node) {
			return false, quorum.ErrNotAsked
		}
		return l.nodes.Node(node).SetNX(ctx, l.cfg.Key, owner, l.cfg.TTL).Result()
	}, l.tooLate(ctx, owner))
	until := l.until(start)
	voters := l.voters(votes)
	if quorum.Yes(voters) >= quorum.Majority(len(voters)) && (l.opts.FirstTry || time.Now().Before(until)) {
		l.remember(owner, votes)
		return impls.Lease{Owner: owner, Until: until}, nil
	}
	return impls.Lease{}, quorum.NotGranted(votes, l.delete(ctx, owner, votes))
}

// until is when a lease whose first request was sent at start is over.
func (l *lock) until(start time.Time) time.Time {
	switch {
	case l.opts.NoElapsedCheck:
		return time.Now().Add(l.cfg.TTL)
	case l.opts.DriftAdded:
		return start.Add(l.cfg.TTL + quorum.Drift(l.cfg.TTL))
	default:
		return start.Add(quorum.Validity(l.cfg.TTL, 0))
	}
}

// voters are the answers that a majority is taken of. Where nobody answered they
// are all of them, so that nothing is known.
func (l *lock) voters(answers []quorum.Answer[bool]) []quorum.Answer[bool] {
	if !l.opts.Reachable {
		return answers
	}
	var heard []quorum.Answer[bool]
	for _, a := range answers {
		if a.Err == nil {
			heard = append(heard, a)
		}
	}
	if len(heard) == 0 {
		return answers
	}
	return heard
}

// tooLate deletes a vote that came after its time-out.
func (l *lock) tooLate(ctx context.Context, owner string) func(node int) {
	if l.opts.OwnRelease {
		return nil
	}
	return func(node int) {
		_, _ = owned.Delete(context.WithoutCancel(ctx), l.nodes.Node(node), l.cfg.Key, owner) // nobody waits for it
	}
}

// delete removes the value from the nodes, whatever has become of ctx. votes are
// the answers to the request that stored it, if that was only now.
func (l *lock) delete(ctx context.Context, owner string, votes []quorum.Answer[bool]) []quorum.Answer[bool] {
	ctx = context.WithoutCancel(ctx)
	return quorum.Ask(ctx, l.nodes, func(ctx context.Context, node int) (bool, error) {
		if votes != nil && (l.opts.OwnRelease && !votes[node].Value || errors.Is(votes[node].Err, quorum.ErrNotAsked)) {
			return false, votes[node].Err
		}
		return owned.Delete(ctx, l.nodes.Node(node), l.cfg.Key, owner)
	}, nil)
}

// Release may be called again after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	votes := l.recall(lease.Owner)
	if l.opts.OwnRelease && votes == nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld) // given back before
	}
	err := quorum.Held(l.voters(l.delete(ctx, lease.Owner, votes)))
	if err == nil || errors.Is(err, impls.ErrNotHeld) {
		l.forget(lease.Owner)
	}
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	return nil
}

// Extend prolongs the lease on a majority. It returns ErrNotHeld when none can
// have had it any more.
func (l *lock) Extend(ctx context.Context, lease impls.Lease) (impls.Lease, error) {
	start := time.Now()
	renewed := quorum.Ask(ctx, l.nodes, func(ctx context.Context, node int) (bool, error) {
		return owned.Renew(ctx, l.nodes.Node(node), l.cfg.Key, lease.Owner, l.cfg.TTL)
	}, nil)
	if err := quorum.Held(l.voters(renewed)); err != nil {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, err)
	}
	until := l.until(start)
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

// remember keeps the votes for a release that asks only those who said yes.
func (l *lock) remember(owner string, votes []quorum.Answer[bool]) {
	if !l.opts.OwnRelease {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.votes[owner] = votes
}

func (l *lock) recall(owner string) []quorum.Answer[bool] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.votes[owner]
}

func (l *lock) forget(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.votes, owner)
}
