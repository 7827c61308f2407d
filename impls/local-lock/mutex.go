package locallock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockpick/impls"
)

// mutex is one re-entrant lock of a process. Threads that wait for it get it in the
// order in which they came.
type mutex struct {
	taken chan struct{} // full while a thread has it

	mu     sync.Mutex // guards the rest; never held while anything waits
	thread string
	holds  int // how often the thread has entered
}

func newMutex() *mutex { return &mutex{taken: make(chan struct{}, 1)} }

// lock enters the mutex, at once if the thread has it. The error is
// ErrNotAcquired, and that of ctx if it has ended.
func (m *mutex) lock(ctx context.Context, thread string, wait time.Duration) error {
	if err := impls.Ended(ctx); err != nil {
		return fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
	}
	if m.again(thread) {
		return nil
	}
	select {
	case m.taken <- struct{}{}:
	default:
		if err := m.await(ctx, wait); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.thread, m.holds = thread, 1
	return nil
}

// again enters for the thread that has the mutex. It reports false to any other.
func (m *mutex) again(thread string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds == 0 || m.thread != thread {
		return false
	}
	m.holds++
	return true
}

func (m *mutex) await(ctx context.Context, wait time.Duration) error {
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case m.taken <- struct{}{}:
		return nil
	case <-over.C:
		return impls.ErrNotAcquired
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", impls.ErrNotAcquired, ctx.Err())
	}
}

// unlock leaves the mutex once, for the thread that has it.
func (m *mutex) unlock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds--
	if m.holds == 0 {
		<-m.taken // is full, so this does not wait
	}
}
