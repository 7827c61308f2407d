package resource

import (
	"context"
	"fmt"
	"os"
	"time"

	"lockpick/impls"
)

// Remote is a client's view of its resource. It implements impls.Store and the
// half of testbed.Client that reads and writes. It is safe for concurrent use if
// Ask is.
type Remote struct {
	Client string // its name, for the records

	// Ask carries a request to the store, has it done there, and brings back what
	// came out. Any error that do did not give leaves the outcome unknown.
	Ask func(ctx context.Context, do func(*Resource) (any, error)) (any, error)
}

// Answer is what came of a request.
type Answer struct {
	Value any
	Err   error
}

// Await waits for the answer to a request that a client has sent, for as long as
// the client waits. gate blocks while the client stands still and fails when it is
// dead: an answer that came while it stood still counts.
func Await(ctx context.Context, reply <-chan Answer, wait time.Duration, gate func() error) (any, error) {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	var got Answer
	select {
	case got = <-reply:
	case <-ctx.Done():
		got.Err = ctx.Err()
	case <-limit.C:
		got.Err = fmt.Errorf("the store does not answer: %w", os.ErrDeadlineExceeded)
	}
	if err := gate(); err != nil {
		return nil, err
	}
	if got.Err == nil {
		return got.Value, nil
	}
	select {
	case got = <-reply:
	default:
	}
	return got.Value, got.Err
}

// ask is Ask with an answer of a type.
func ask[T any](ctx context.Context, r Remote, do func(*Resource) (T, error)) (T, error) {
	got, err := r.Ask(ctx, func(res *Resource) (any, error) { return do(res) })
	if err != nil {
		var none T
		return none, err
	}
	return got.(T), nil
}

// tell is ask for what has no answer but an error.
func (r Remote) tell(ctx context.Context, do func(*Resource) error) error {
	_, err := r.Ask(ctx, func(res *Resource) (any, error) { return nil, do(res) })
	return err
}

// Read returns the number.
func (r Remote) Read(ctx context.Context) (int64, error) {
	row, err := r.Get(ctx)
	return row.Value, err
}

// Write changes the number. It is testbed.ErrRefused when the store has seen a
// newer fence; with a fence of 0 it does not look.
func (r Remote) Write(ctx context.Context, v int64, fence uint64) error {
	return r.tell(ctx, func(res *Resource) error { return res.write(r.Client, v, fence) })
}

// Get implements impls.Store.
func (r Remote) Get(ctx context.Context) (impls.Row, error) {
	return ask(ctx, r, func(res *Resource) (impls.Row, error) { return res.row, nil })
}

// SetIf implements impls.Store.
func (r Remote) SetIf(ctx context.Context, v int64, version uint64) error {
	return r.tell(ctx, func(res *Resource) error { return res.setIf(r.Client, v, version) })
}

// AddIf implements impls.Store.
func (r Remote) AddIf(ctx context.Context, delta, least int64) error {
	return r.tell(ctx, func(res *Resource) error { return res.addIf(r.Client, delta, least) })
}

// Insert implements impls.Store.
func (r Remote) Insert(ctx context.Context, id string, delta, least int64) error {
	return r.tell(ctx, func(res *Resource) error { return res.insert(r.Client, id, delta, least) })
}

// Has implements impls.Store.
func (r Remote) Has(ctx context.Context, id string) (bool, error) {
	return ask(ctx, r, func(res *Resource) (bool, error) { return res.ids[id], nil })
}

var _ impls.Store = Remote{}
