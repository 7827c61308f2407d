// Package sim is the testbed of virtual time: unmodified lock code over the
// unmodified go-redis client, on a simulated network, against Redis nodes whose
// clocks it owns. A 30 s lease passes in microseconds, and equal seeds give
// equal histories.
//
// Everything that happens between two machines is an event: a request that
// arrives, a reply, a node's clock reaching the end of a key, a fault. One
// goroutine, the world, carries them out in an order that depends on the seed
// alone. A message takes at least MinLatency, so whatever arrives at an instant
// was sent at an earlier one: when the world takes up an instant, all of its
// events are known, and they are ordered by link and number, not by which
// goroutine ran first.
//
//	client goroutines ──send──► queue of events ──world──► node, store
//	        ▲                                         │
//	        └───────────── inbox of the connection ◄──┘
//
// The rule that surprises: nothing may depend on which of two goroutines runs
// first at the same instant. Latency is therefore not drawn from a stream but
// computed from the seed and the message's number on its connection.
package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/checker/history"
	"lockpick/internal/engine"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// Latency of one message over a link, one way, before any fault.
const (
	MinLatency = 100 * time.Microsecond
	MaxLatency = time.Millisecond
)

// DefaultGuard is how long virtual time may stand still, in real time, before a
// run is said to spin.
const DefaultGuard = 30 * time.Second

// mostGuards is how many times the guard's time a run may take whose virtual time
// moves.
const mostGuards = 20

// Testbed simulates. Its zero value is not ready; use New.
type Testbed struct {
	guard time.Duration
	spin  func(error)

	mu   sync.Mutex
	free []*engine.Engine // engines at rest, to be used again: starting one costs more than a run
}

// Option changes a Testbed.
type Option func(*Testbed)

// WithGuard calls f, on a goroutine outside of virtual time, when virtual time has
// stood still for d of real time, or for less than twice d: some code of the lock or
// its library loops without ever waiting, and nothing but the end of the process
// stops it. It does the same for a run that has not ended after mostGuards times
// d. By then the history is written up to that point. Without this option the
// guard panics, with DefaultGuard.
func WithGuard(d time.Duration, f func(error)) Option {
	return func(t *Testbed) { t.guard, t.spin = d, f }
}

// New returns the simulator.
func New(opts ...Option) *Testbed {
	t := &Testbed{guard: DefaultGuard, spin: func(err error) { panic(err) }}
	for _, o := range opts {
		o(t)
	}
	silence.Do(func() { redis.SetLogger(silent{}) })
	return t
}

// silence keeps go-redis from printing what a fault does to its connections: it
// is expected, and in the history.
var silence sync.Once

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Name implements testbed.Testbed.
func (t *Testbed) Name() string { return "sim" }

// Software implements testbed.Testbed.
func (t *Testbed) Software() map[string]string { return maps.Clone(software()) }

var software = sync.OnceValue(func() map[string]string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	s := map[string]string{"go": info.GoVersion}
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/redis/go-redis/v9", "github.com/alicebob/miniredis/v2",
			"github.com/bsm/redislock", "github.com/go-redsync/redsync/v4":
			s[d.Path] = d.Version
		}
	}
	return s
})

// ErrSpins means that a run stopped virtual time, and why.
var (
	ErrSpins = errors.New("sim: virtual time stands still: the lock or its library loops without ever waiting")

	// ErrMutex is the other way to stop virtual time. The clock of a bubble moves
	// when every goroutine waits for something that only time can bring; one that
	// waits for a mutex does not, so its owner, who waits for the network, waits
	// for ever (testing/synctest, "durably blocked").
	ErrMutex = errors.New("sim: virtual time stands still: a goroutine of the lock waits for a mutex whose owner waits " +
		"for the network; hold no mutex across a call to Redis, or use a channel of one in its place")

	// ErrLong means that nothing stands still, and there is just too much to do.
	ErrLong = errors.New("sim: the run is too long: its virtual time moves, but does not come to the end")
)

// standstill says why virtual time stands still, from the states of all
// goroutines.
func standstill() error {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, state := range []string{"[sync.Mutex.Lock", "[sync.RWMutex.Lock", "[sync.RWMutex.RLock"} {
		if bytes.Contains(stacks, []byte(state)) {
			return ErrMutex
		}
	}
	return ErrSpins
}

// watch calls the guard's function if the run does not come to its end, until the
// returned function is called.
func (t *Testbed) watch(s testbed.Spec) (stop func()) {
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(t.guard)
		defer tick.Stop()
		last := time.Duration(0)
		for n := 1; ; n++ {
			select {
			case <-tick.C:
			case <-over:
				return
			}
			now := s.Recorder.Newest()
			why := hopeless(n, last, now)
			if last = now; why == nil {
				continue
			}
			_ = s.Recorder.Flush() // the error of the run is the one to tell
			t.spin(fmt.Errorf("%s, seed %d: %w (given up after %v, at %v of the run)", s.Name, s.Seed, why, time.Duration(n)*t.guard, now))
			return
		}
	}()
	return sync.OnceFunc(func() { close(over) })
}

// hopeless says why a run is given up when the guard looks for the n-th time and
// finds it at now, after it was at last; nil when it is not.
func hopeless(n int, last, now time.Duration) error {
	switch {
	case now == last:
		return standstill()
	case n >= mostGuards:
		return ErrLong
	default:
		return nil
	}
}

// patience is how long, in real time, a bubble may take to come to its end after
// the run. Only code that waits for ever, time after time, takes longer.
const patience = 5 * time.Second

// Lag implements testbed.Testbed: the world records what it does as it does it.
func (t *Testbed) Lag() time.Duration { return 0 }

// Refuses implements testbed.Testbed: everything can be simulated.
func (t *Testbed) Refuses(testbed.Need) string { return "" }

// Run implements testbed.Testbed. It takes no notice of ctx once the run has
// begun: that takes milliseconds.
func (t *Testbed) Run(ctx context.Context, s testbed.Spec, f func(testbed.World)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	engines := make([]*engine.Engine, len(s.Topology.Nodes))
	for i := range engines {
		e, err := t.engine()
		if err != nil {
			return fmt.Errorf("sim: start a node: %w", err)
		}
		engines[i] = e
	}
	unguard := t.watch(s)
	defer unguard()

	var w *world
	returned, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- bubble.Run(func() {
			w = newWorld(ctx, s, engines)
			go w.loop()
			defer w.end()
			f(w)
			close(returned)
		})
	}()
	select {
	case <-returned:
		unguard()
	case err := <-ended:
		select {
		case <-returned: // both, and f was first
			ended <- err
		default:
			return err
		}
	}
	select {
	case err := <-ended:
		if name := refused(engines); name != "" {
			return fmt.Errorf("sim: the lock sent %s, which the simulator does not support", name)
		}
		if err == nil {
			t.rest(engines)
		}
		return w.verdict(err)
	case <-time.After(patience):
		return testbed.ErrLeft // and the engines with it: they may be in use for ever
	}
}

// refused returns a command that was asked for and that no engine supports. What
// the lock made of the refusal says nothing of the lock.
func refused(engines []*engine.Engine) string {
	for _, e := range engines {
		if name := e.Refused(); name != "" {
			return name
		}
	}
	return ""
}

// verdict says what the end of the bubble means when all clients were done. Who
// waits for ever in it may be of a client that was killed, which is an excuse;
// who did not stop speaking is known by name.
func (w *world) verdict(err error) error {
	killed := false
	for _, c := range w.clients {
		if !c.struck && c.spoken > maxSpoken {
			return testbed.ErrLeft
		}
		killed = killed || c.struck
	}
	switch {
	case !errors.Is(err, bubble.ErrDeadlock):
		return err
	case killed:
		return nil
	default:
		return testbed.ErrLeft
	}
}

// engine returns one that is empty.
func (t *Testbed) engine() (*engine.Engine, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.free); n > 0 {
		e := t.free[n-1]
		t.free = t.free[:n-1]
		return e, nil
	}
	return engine.New()
}

func (t *Testbed) rest(engines []*engine.Engine) {
	for _, e := range engines {
		e.Wipe()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = append(t.free, engines...)
}

var _ testbed.Testbed = (*Testbed)(nil)

// worldSource and the client's names order the records of one instant: what the
// world did comes before what clients made of it.
const worldSource = "!" + history.World
