package redsync

import (
	"context"
	"sync"
	"time"

	libredis "github.com/go-redsync/redsync/v4/redis"

	"lockpick/impls"
)

// ballot notes what the nodes are known to hold of one value.
//
// A lock is granted when a majority holds the value, so while fewer nodes than
// that may hold it, the lock is definitely not granted, even if the rest of a
// failed try stays on some node until it expires.
//
// It takes a SETNX for one request. A client that resends by itself (go-redis:
// MaxRetries above 0) may be refused by its own value, which looks like another's.
type ballot struct {
	quorum int

	mu    sync.Mutex
	votes []vote
}

// vote is one node's. A SETNX that was not answered may still arrive after the
// delete that was meant to undo it, so only the removal of the value settles it.
type vote struct {
	held bool // granted, and not deleted since
	open int  // SETNX that were not answered and are not accounted for

	yes      bool // to the script of the current call
	answered bool // the current call
}

func newBallot(nodes int) *ballot {
	return &ballot{quorum: nodes/2 + 1, votes: make([]vote, nodes)}
}

func (b *ballot) nodes() int { return len(b.votes) }

// mayHold counts the nodes that may hold the value, now or later.
func (b *ballot) mayHold() int {
	return b.count(func(v vote) bool { return v.held || v.open > 0 })
}

// mayHaveHeld counts the nodes that may have held the value when the current
// call asked them.
func (b *ballot) mayHaveHeld() int {
	return b.count(func(v vote) bool { return v.yes || !v.answered })
}

func (b *ballot) count(is func(vote) bool) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, v := range b.votes {
		if is(v) {
			n++
		}
	}
	return n
}

// begin starts a call of Unlock or Extend.
func (b *ballot) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.votes {
		b.votes[i].yes, b.votes[i].answered = false, false
	}
}

func (b *ballot) acquired(node int, granted bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &b.votes[node]
	switch {
	case err != nil:
		v.open++
	case granted:
		v.held = true
	}
}

// ran notes the answer of a script: the delete, or the renewal of a grant.
func (b *ballot) ran(node int, yes bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &b.votes[node]
	if err != nil {
		return
	}
	v.answered, v.yes = true, yes
	if yes && !v.held && v.open > 0 {
		v.open-- // what was removed is the SETNX that was not answered
	}
	v.held = false // only read after a failed Acquire, whose scripts all delete
}

// watch wraps the pools so that the ballot sees the answers.
func (b *ballot) watch(pools []libredis.Pool) []libredis.Pool {
	watched := make([]libredis.Pool, len(pools))
	for i, p := range pools {
		watched[i] = pool{Pool: p, ballot: b, node: i}
	}
	return watched
}

type pool struct {
	libredis.Pool
	ballot *ballot
	node   int
}

// Get fails when ctx has ended. go-redis would not send a command then either,
// but its error looks like that of a command which got no answer.
func (p pool) Get(ctx context.Context) (libredis.Conn, error) {
	if err := impls.Ended(ctx); err != nil {
		return nil, err
	}
	c, err := p.Pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	return conn{Conn: c, pool: p}, nil
}

type conn struct {
	libredis.Conn
	pool pool
}

func (c conn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	granted, err := c.Conn.SetNX(name, value, expiry)
	c.pool.ballot.acquired(c.pool.node, granted, err)
	return granted, err
}

func (c conn) Eval(script *libredis.Script, keysAndArgs ...any) (any, error) {
	reply, err := c.Conn.Eval(script, keysAndArgs...)
	c.pool.ballot.ran(c.pool.node, reply == int64(1), err)
	return reply, err
}
