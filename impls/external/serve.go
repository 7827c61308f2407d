package external

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/impls"
)

// ErrRequest means that what a client read is no request of the adapter protocol.
var ErrRequest = errors.New("external: not the adapter protocol")

// Serve is a client with Go locks: it carries out the requests that it reads from
// in, side by side, and writes the replies to out, until in ends. Then it ends
// the background work of its locks and returns: whoever asked has gone, and an
// orphan must not go on renewing. lookup finds a version by name.
//
// The error is ErrRequest when in is no stream of requests, that of ctx when that
// ends, which leaves a goroutine behind that reads, or else one of in or out.
func Serve(ctx context.Context, in io.Reader, out io.Writer, lookup func(name string) (impls.Version, bool)) error {
	calls, stop := context.WithCancel(ctx)
	s := &server{
		ctx: calls, lookup: lookup, out: json.NewEncoder(out),
		locks: map[int64]*served{}, calls: map[int64]context.CancelFunc{},
	}
	read := make(chan error, 1)
	go func() { read <- s.read(in) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.end()
	stop()
	s.calling.Wait()
	for _, l := range s.locks {
		_ = l.lock.Close() // nobody is left who would hear of it
	}
	s.telling.Wait()
	return errors.Join(err, s.broken)
}

// server is one Serve.
type server struct {
	ctx     context.Context
	lookup  func(string) (impls.Version, bool)
	process impls.Process
	ahead   atomic.Int64   // of the process's wall clock, in nanoseconds
	calling sync.WaitGroup // requests under way
	telling sync.WaitGroup // watchers of leases

	mu     sync.Mutex // guards what follows
	ended  bool       // no request is begun any more
	locks  map[int64]*served
	calls  map[int64]context.CancelFunc // by request
	out    *json.Encoder
	broken error // the first reply that could not be written
}

// served is one handle.
type served struct {
	lock   impls.Lock
	mu     sync.Mutex // guards leases
	leases map[int64]impls.Lease
}

// read takes the requests.
func (s *server) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		came := time.Now()
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%w: request %d is no JSON object of it: %w", ErrRequest, n, err)
		}
		if r.ID <= 0 {
			return fmt.Errorf("%w: request %d has no id above 0", ErrRequest, n)
		}
		s.begin(r, came)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%w: a request is longer than %d bytes", ErrRequest, maxLine)
	case err != nil:
		return fmt.Errorf("external: read the requests: %w", err)
	}
	return nil
}

// end lets no request begin any more.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// begin starts to carry out a request, or cancels an earlier one.
func (s *server) begin(r request, came time.Time) {
	if r.Op == opCancel {
		s.mu.Lock()
		cancel := s.calls[r.Of]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.calls[r.ID] = cancel
	if r.Cancelled {
		cancel()
	}
	s.calling.Go(func() {
		defer cancel()
		answer := s.recovered(ctx, r, came)
		answer.ID = r.ID
		s.mu.Lock()
		delete(s.calls, r.ID)
		s.mu.Unlock()
		s.write(answer)
	})
}

func (s *server) write(r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(r); err != nil && s.broken == nil {
		s.broken = fmt.Errorf("external: write a reply: %w", err)
	}
}

// refuse is the reply to a request that makes no sense.
func refuse(format string, args ...any) reply {
	return reply{Error: &failure{Class: refused, Text: fmt.Sprintf(format, args...)}}
}

// recovered is carryOut for a lock whose methods may panic.
func (s *server) recovered(ctx context.Context, r request, came time.Time) (answer reply) {
	defer func() {
		if v := recover(); v != nil {
			answer = reply{Error: &failure{Class: panicked, Text: fmt.Sprintf("panic: %v", v)}}
		}
	}()
	return s.carryOut(ctx, r, came)
}

// carryOut does what the request asks for. came is when it was read.
func (s *server) carryOut(ctx context.Context, r request, came time.Time) reply {
	switch r.Op {
	case opOpen:
		return s.open(r)
	case opPing:
		return reply{}
	case opClock:
		s.ahead.Store(r.Ahead * int64(time.Millisecond))
		return reply{}
	}
	s.mu.Lock()
	l := s.locks[r.Lock]
	s.mu.Unlock()
	if l == nil {
		return refuse("no request %d has opened a lock", r.Lock)
	}
	switch r.Op {
	case opAcquire:
		lease, err := l.lock.Acquire(ctx)
		return s.granted(l, r, came, lease, err)
	case opAcquireShared:
		shared, ok := l.lock.(impls.SharedLocker)
		if !ok {
			return refuse("the lock has no shared mode")
		}
		lease, err := shared.AcquireShared(ctx)
		return s.granted(l, r, came, lease, err)
	case opClose:
		return reply{Error: failed(r.Op, l.lock.Close())}
	case opExtend, opRelease:
	default:
		return refuse("there is no operation %q", r.Op)
	}

	l.mu.Lock()
	lease, ok := l.leases[r.Lease]
	l.mu.Unlock()
	if !ok {
		return refuse("no request %d was granted a lease", r.Lease)
	}
	if r.Op == opRelease {
		return reply{Error: failed(r.Op, l.lock.Release(ctx, lease))}
	}
	extender, ok := l.lock.(impls.Extender)
	if !ok {
		return refuse("the lock cannot extend a lease")
	}
	extended, err := extender.Extend(ctx, lease)
	if err != nil {
		return reply{Error: failed(r.Op, err)}
	}
	l.mu.Lock()
	l.leases[r.Lease] = extended
	l.mu.Unlock()
	return reply{Lease: describe(extended, came)}
}

// open makes a handle.
func (s *server) open(r request) reply {
	o := r.Open
	switch {
	case o == nil:
		return refuse("the request to open says nothing of the lock")
	case o.Protocol != Protocol:
		return refuse("this client speaks version %d of the adapter protocol, and was spoken to in version %d", Protocol, o.Protocol)
	}
	v, ok := s.lookup(o.Version)
	if !ok || v.New == nil {
		return refuse("there is no lock %q here", o.Version)
	}
	lock, err := v.New(newEnv(o, &s.process, &s.ahead), o.config())
	if err != nil {
		return refuse("make the lock: %v", err)
	}
	s.mu.Lock()
	s.locks[r.ID] = &served{lock: lock, leases: map[int64]impls.Lease{}}
	s.mu.Unlock()
	_, extend := lock.(impls.Extender)
	_, shared := lock.(impls.SharedLocker)
	return reply{Open: &opened{Protocol: Protocol, Extend: extend, Shared: shared}}
}

// granted keeps a lease and tells of it, and later of its loss.
func (s *server) granted(l *served, r request, came time.Time, lease impls.Lease, err error) reply {
	if err != nil {
		return reply{Error: failed(r.Op, err)}
	}
	l.mu.Lock()
	l.leases[r.ID] = lease
	l.mu.Unlock()
	if lease.Lost != nil {
		s.telling.Go(func() {
			select {
			case <-lease.Lost:
				s.write(reply{Lost: r.ID})
			case <-s.ctx.Done():
			}
		})
	}
	return reply{Lease: describe(lease, came)}
}

// describe is the lease as the protocol has it, for a request that came then.
func describe(l impls.Lease, came time.Time) *granted {
	g := &granted{Owner: l.Owner, Fence: l.Fence, Tells: l.Lost != nil}
	if !l.Until.IsZero() {
		good := l.Until.Sub(came).Microseconds()
		g.Good = &good
	}
	return g
}

// config is what the lock is made with.
func (o *Open) config() impls.Config {
	return impls.Config{
		Key: o.Key, Also: o.Also,
		TTL:  time.Duration(o.TTL) * time.Millisecond,
		Wait: time.Duration(o.Wait) * time.Millisecond, Scale: o.Scale,
	}
}
