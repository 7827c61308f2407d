// Package quorum asks the independent nodes of a lock that needs a majority of
// them, and counts what they say.
//
// It knows no lock: what is asked, and what follows from the answers, is the
// version's. It writes nothing but what a version has it ask.
//
// An answer that comes after the time-out is not counted, whatever it says, but
// it may still be a grant. So whoever asks for one says what is done about it
// when it comes.
package quorum

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/background"
)

var (
	// ErrSilent is the error of a node that has not answered in time.
	ErrSilent = errors.New("quorum: no answer in time")

	// ErrNotAsked is the error of a node that was not asked, because it is overdue
	// with earlier answers.
	ErrNotAsked = errors.New("quorum: not asked")
)

// maxOverdue is how many answers a node may owe: those to one try, which are to
// its request and to the delete that undoes it. A node that stands still would
// otherwise keep two connections more with every try.
const maxOverdue = 2

// Nodes are the nodes as one client reaches them. They are safe for concurrent
// use.
type Nodes struct {
	clients []impls.Redis
	timeout time.Duration
	calls   *background.Group
	overdue []atomic.Int32 // by node: calls whose time-out has passed and that go on
}

// Open returns the nodes, each of which has the time-out for its answer. With a
// time-out of 0 they are asked one after the other, each for as long as the
// client library waits.
func Open(clients []impls.Redis, timeout time.Duration) *Nodes {
	return &Nodes{
		clients: clients,
		timeout: timeout,
		calls:   background.New(),
		overdue: make([]atomic.Int32, len(clients)),
	}
}

// Len is the number of nodes.
func (n *Nodes) Len() int { return len(n.clients) }

// Node is the i-th node.
func (n *Nodes) Node(i int) impls.Redis { return n.clients[i] }

// Overdue reports whether a node owes so many answers that it should not be asked
// for a vote. Whoever heeds that answers the question with ErrNotAsked.
func (n *Nodes) Overdue(i int) bool { return n.overdue[i].Load() >= maxOverdue }

// Close waits for the answers that nobody waits for any more, for at most as
// long as the client library does, and for what is done about those that come.
// Afterwards nothing is done behind the caller's back, and the nodes are asked
// one after the other.
func (n *Nodes) Close() { n.calls.Close() }

// Answer is what one node said. When there is an error nothing is known, and the
// value is zero.
type Answer[T any] struct {
	Value T
	Err   error
}

// answer drops the value that a client may return beside an error.
func answer[T any](v T, err error) Answer[T] {
	if err != nil {
		return Answer[T]{Err: err}
	}
	return Answer[T]{Value: v}
}

// Question is put to each node by its index.
type Question[T any] func(ctx context.Context, node int) (T, error)

// Ask puts a question to all nodes at once and returns their answers by node. It
// waits for none of them longer than the time-out. What is under way then goes on
// until the client library gives it up: a context that ended with the time-out
// would end the call, but not go-redis' attempt to connect, which keeps its place
// in the pool.
//
// late, unless it is nil, is called for a node whose answer comes after that,
// error or not, by a goroutine of its own.
func Ask[T any](ctx context.Context, n *Nodes, question Question[T], late func(node int)) []Answer[T] {
	answers := make([]Answer[T], len(n.clients))
	if n.timeout == 0 {
		for i := range answers {
			answers[i] = answer(question(ctx, i))
		}
		return answers
	}

	type heard struct {
		node   int
		answer Answer[T]
	}
	hearing := make(chan heard)
	over := make(chan struct{})
	defer close(over)
	limit := time.NewTimer(n.timeout)
	defer limit.Stop()
	awaited := make([]bool, len(answers))
	open := 0
	for i := range answers {
		answers[i].Err = ErrSilent
		started := n.calls.Go(func(context.Context) {
			h := heard{i, answer(question(ctx, i))}
			select {
			case hearing <- h:
			case <-over:
				if late != nil {
					late(i)
				}
				n.overdue[i].Add(-1)
			}
		})
		if started {
			awaited[i] = true
			open++
		} else { // closed
			answers[i] = answer(question(ctx, i))
		}
	}
	for ; open > 0; open-- {
		select {
		case h := <-hearing:
			answers[h.node] = h.answer
			awaited[h.node] = false
		case <-limit.C:
			for i, silent := range awaited {
				if silent {
					n.overdue[i].Add(1)
				}
			}
			return answers
		}
	}
	return answers
}
