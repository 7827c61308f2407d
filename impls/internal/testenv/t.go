package testenv

import (
	"context"
	"strings"
	"time"

	"lockpick/impls"
)

// The lock of the documents' examples.
const (
	Key = "lock:order:123"
	TTL = 30 * time.Second
)

// T is the part of *testing.T that the helpers use. It is an interface so that
// this package need not import testing.
type T interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// MustOpen returns a world of n nodes that is closed when the test ends.
func MustOpen(t T, n int) *World {
	w := New(n)
	t.Cleanup(w.Close)
	return w
}

// MustLock returns a handle of the version on Key, with TTL and the given wait.
// It is closed when the test ends.
func MustLock(t T, v impls.Version, env impls.Env, wait time.Duration) impls.Lock {
	t.Helper()
	l, err := v.New(env, impls.Config{Key: Key, TTL: TTL, Wait: wait})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { MustClose(t, l) })
	return l
}

// MustAcquire takes the lock.
func MustAcquire(t T, l impls.Lock) impls.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return lease
}

// MustRelease gives the lease back.
func MustRelease(t T, l impls.Lock, lease impls.Lease) {
	t.Helper()
	if err := l.Release(t.Context(), lease); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// MustClose closes the lock.
func MustClose(t T, l impls.Lock) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Value is what the majority of the nodes stores under Key, or "". Of a hash it is
// the fields.
func (w *World) Value() string {
	count := make(map[string]int)
	for _, m := range w.Nodes {
		v, err := m.Get(Key)
		if m.Type(Key) == "hash" {
			var fields []string
			fields, err = m.HKeys(Key)
			v = strings.Join(fields, " ")
		}
		if err != nil {
			continue // no such key
		}
		count[v]++
		if count[v] > len(w.Nodes)/2 {
			return v
		}
	}
	return ""
}

// Drop deletes Key on all nodes, behind every client's back.
func (w *World) Drop() {
	for _, m := range w.Nodes {
		m.Del(Key)
	}
}
