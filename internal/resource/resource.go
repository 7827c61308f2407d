// Package resource is the store that keeps what the locks protect: numbers that
// clients read and write, which can refuse a write that comes too late.
//
// It knows no network: a testbed carries requests to it, by its own means and
// faults, and calls it for one after the other.
//
// The rule that surprises: every change is a record, and a read or a refusal is
// none. What a client saw, its own records say.
package resource

import (
	"fmt"

	"lockpick/checker/history"
	"lockpick/impls"
	"lockpick/internal/testbed"
)

// Store keeps resources. One goroutine uses it, and its resources, at a time.
type Store struct {
	name      string
	fences    bool
	record    func(history.Record)
	resources []*Resource // in the order of the clients that use them
}

// NewStore returns a store of that name without resources. With fences it refuses
// a write whose fence is older than one that it has seen. record takes what
// happens; it adds when.
func NewStore(name string, fences bool, record func(history.Record)) *Store {
	return &Store{name: name, fences: fences, record: record}
}

// Name is the node that the store is.
func (s *Store) Name() string { return s.name }

// Resource returns the one of that name, which is made with the initial value if
// there is none.
func (s *Store) Resource(name string, initial int64) *Resource {
	for _, r := range s.resources {
		if r.name == name {
			return r
		}
	}
	r := &Resource{store: s, name: name, row: impls.Row{Value: initial}, ids: map[string]bool{}}
	s.resources = append(s.resources, r)
	return r
}

// Look records the values.
func (s *Store) Look(text string) {
	for _, r := range s.resources {
		s.record(history.Record{
			Who: s.name, Kind: history.Observe, Op: history.Keys, Key: r.name, Value: history.Int(r.row.Value), Text: text,
		})
	}
}

// Resource is one number, with how often it was changed, and a table of ids.
type Resource struct {
	store  *Store
	name   string
	row    impls.Row
	ids    map[string]bool
	newest uint64 // the highest fence that a write had
}

// set changes the number and records it.
func (r *Resource) set(client string, v int64, fence uint64) {
	r.store.record(history.Record{
		Who: r.store.name, Kind: history.Observe, Op: history.Apply, Client: client, Key: r.name,
		Value: history.Int(v), Was: fmt.Sprint(r.row.Value), Fence: fence,
	})
	r.row.Value = v
	r.row.Version++
}

// write applies a client's write, unless the store checks fences and has seen a
// newer one. A write without a fence asks for no check.
func (r *Resource) write(client string, v int64, fence uint64) error {
	if r.store.fences && fence > 0 && fence < r.newest {
		return fmt.Errorf("%w: fence %d is older than %d", testbed.ErrRefused, fence, r.newest)
	}
	r.newest = max(r.newest, fence)
	r.set(client, v, fence)
	return nil
}

// setIf writes the number if it was changed so often.
func (r *Resource) setIf(client string, v int64, version uint64) error {
	if r.row.Version != version {
		return impls.ErrConflict
	}
	r.set(client, v, 0)
	return nil
}

// addIf adds to the number if it is at least least.
func (r *Resource) addIf(client string, delta, least int64) error {
	if r.row.Value < least {
		return impls.ErrConflict
	}
	r.set(client, r.row.Value+delta, 0)
	return nil
}

// insert is addIf once for each id.
func (r *Resource) insert(client, id string, delta, least int64) error {
	if r.ids[id] {
		return impls.ErrConflict
	}
	if err := r.addIf(client, delta, least); err != nil {
		return err
	}
	r.ids[id] = true
	return nil
}
