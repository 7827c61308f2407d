// Package storetest is a small Store in memory for the tests of the strategies,
// whose calls a test can delay and fail.
//
// It lives in the caller's testing/synctest bubble. Only tests import it.
package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockpick/impls"
)

// ErrCut is the error of a call that a test cuts off.
var ErrCut = errors.New("storetest: connection lost")

// latency is what a request and an answer take.
const latency = 500 * time.Microsecond

// Store is the store. It implements impls.Store.
type Store struct {
	mu      sync.Mutex // never held while anything waits
	row     impls.Row
	ids     map[string]bool
	calls   []string
	request func(call string) error
	answer  func(call string) error
}

var _ impls.Store = (*Store)(nil)

// New returns a store with the number.
func New(value int64) *Store {
	return &Store{row: impls.Row{Value: value}, ids: make(map[string]bool)}
}

// OnRequest has f called before each call is carried out, with its name. If f
// returns an error, it never is. A nil f ends this.
func (s *Store) OnRequest(f func(call string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request = f
}

// OnAnswer has f called after each call was carried out. If f returns an error,
// that is all the caller hears. A nil f ends this.
func (s *Store) OnAnswer(f func(call string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Calls returns the names of all calls, in order.
func (s *Store) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Row is the row, without a call.
func (s *Store) Row() impls.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.row
}

// call carries out one transaction.
func (s *Store) call(name string, do func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	request, answer := s.request, s.answer
	s.mu.Unlock()
	time.Sleep(latency)
	if request != nil {
		if err := request(name); err != nil {
			return err
		}
	}
	s.mu.Lock()
	err := do()
	s.mu.Unlock()
	time.Sleep(latency)
	if answer != nil {
		if lost := answer(name); lost != nil {
			return lost
		}
	}
	return err
}

// Get implements impls.Store.
func (s *Store) Get(context.Context) (row impls.Row, err error) {
	err = s.call("get", func() error {
		row = s.row
		return nil
	})
	return row, err
}

// SetIf implements impls.Store.
func (s *Store) SetIf(_ context.Context, v int64, version uint64) error {
	return s.call("set-if", func() error {
		if s.row.Version != version {
			return impls.ErrConflict
		}
		s.row = impls.Row{Value: v, Version: version + 1}
		return nil
	})
}

// AddIf implements impls.Store.
func (s *Store) AddIf(_ context.Context, delta, least int64) error {
	return s.call("add-if", func() error { return s.add(delta, least) })
}

func (s *Store) add(delta, least int64) error {
	if s.row.Value < least {
		return impls.ErrConflict
	}
	s.row = impls.Row{Value: s.row.Value + delta, Version: s.row.Version + 1}
	return nil
}

// Insert implements impls.Store.
func (s *Store) Insert(_ context.Context, id string, delta, least int64) error {
	return s.call("insert", func() error {
		if s.ids[id] {
			return impls.ErrConflict
		}
		if err := s.add(delta, least); err != nil {
			return err
		}
		s.ids[id] = true
		return nil
	})
}

// Has implements impls.Store.
func (s *Store) Has(_ context.Context, id string) (has bool, err error) {
	err = s.call("has", func() error {
		has = s.ids[id]
		return nil
	})
	return has, err
}
