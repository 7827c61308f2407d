package live

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
	"lockpick/internal/links"
	"lockpick/internal/resource"
	"lockpick/internal/testbed"
)

// world is one run.
type world struct {
	spec    testbed.Spec
	servers Servers
	command func() *exec.Cmd // makes a client
	network *links.Network
	labels  *keyspace.Labels
	start   time.Time
	ctx     context.Context
	stop    context.CancelFunc

	clients   map[string]*client
	processes []*process
	nodes     map[string]*node
	links     map[linkKey]*links.Link

	ended atomic.Int64 // when the run ended, as world time; nothing later is recorded
	turn  sync.Mutex   // held by one f of After at a time

	mu       sync.Mutex
	troubles int // faults that keep commands from being answered
	wires    map[string]*wire
	failures []error // what went wrong that is nobody's fault in the scenario
	store    *resource.Store
}

// linkKey names a link by its ends.
type linkKey struct{ far, node string }

// never is later than any run.
const never = int64(1 << 62)

func newWorld(ctx context.Context, s testbed.Spec, servers Servers, command func() *exec.Cmd) (*world, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &world{
		spec: s, servers: servers, command: command, labels: keyspace.NewLabels(), ctx: ctx, stop: stop,
		clients: map[string]*client{}, nodes: map[string]*node{}, links: map[linkKey]*links.Link{}, wires: map[string]*wire{},
	}
	w.ended.Store(never)
	w.network = links.New(links.Hooks{
		Opened: w.opened, Closed: w.closed, Sending: w.sending, Answered: w.answered, Delivered: w.delivered, Lost: w.lost,
	})
	w.store = resource.NewStore(s.Store, s.Fences, w.record)
	w.enlist()
	if err := w.muster(); err != nil {
		return nil, errors.Join(err, w.end())
	}
	w.start = time.Now()
	if err := w.connect(); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// atOnce is how many clients are started at a time.
const atOnce = 8

// muster starts every client and waits until each is ready: what that takes is no
// part of the run.
func (w *world) muster() error {
	var starting sync.WaitGroup
	places := make(chan struct{}, atOnce)
	errs := make([]error, len(w.processes))
	for i, p := range w.processes {
		starting.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			child, err := p.begin()
			if err == nil {
				err = child.Ping()
			}
			errs[i] = err
		})
	}
	starting.Wait()
	return errors.Join(errs...)
}

// connect taps every node and ties every client to it.
func (w *world) connect() error {
	for _, name := range w.spec.Topology.Nodes {
		n, err := newNode(w, name)
		if err != nil {
			return fmt.Errorf("live: %s: %w", name, err)
		}
		w.nodes[name] = n
		for _, c := range w.spec.Clients {
			l, err := w.network.Link(c, name, w.servers.Addr(name))
			if err != nil {
				return fmt.Errorf("live: link %s to %s: %w", c, name, err)
			}
			w.links[linkKey{c, name}] = l
		}
	}
	return nil
}

// enlist makes the clients, and nothing of them runs yet.
func (w *world) enlist() {
	shared := map[int]*process{}
	for _, name := range w.spec.Clients {
		var p *process
		if number, ok := w.spec.Processes[name]; ok {
			p = shared[number]
			if p == nil {
				p = newProcess(w)
				shared[number] = p
			}
		} else {
			p = newProcess(w)
		}
		w.clients[name] = newClient(p, name)
		w.wires[name] = &wire{world: w}
	}
}

// Now implements testbed.World.
func (w *world) Now() time.Duration { return time.Since(w.start) }

// After implements faults.World.
func (w *world) After(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		w.turn.Lock()
		defer w.turn.Unlock()
		if w.ended.Load() == never {
			f()
		}
	})
}

// Client implements testbed.World.
func (w *world) Client(name string) testbed.Client { return w.clients[name] }

// worldSource orders the records of one instant: what the world did comes before
// what clients made of it.
const worldSource = "!" + history.World

// record adds a record of what happens now.
func (w *world) record(r history.Record) { w.recordAt(w.Now(), worldSource, r) }

// recordAt adds a record of what happened at a time of the run.
func (w *world) recordAt(t time.Duration, source string, r history.Record) {
	if int64(t) > w.ended.Load() {
		return
	}
	r.T = max(t, 0)
	w.spec.Recorder.Add(source, r)
}

// fail remembers what keeps the run from being judged.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, err)
}

// Look implements testbed.World.
func (w *world) Look(text string) {
	for _, name := range w.spec.Topology.Nodes {
		w.nodes[name].look(text)
	}
	if text == history.AtEnd {
		for _, name := range w.spec.Topology.Nodes {
			w.nodes[name].bear()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store.Look(text)
}

// farewell is how long a client may take to end by itself.
const farewell = 3 * time.Second

// await returns when what After has begun is done.
func (w *world) await() {
	w.turn.Lock()
	defer w.turn.Unlock()
}

// end takes the run down, and says what went wrong that is not the lock's doing.
func (w *world) end() error {
	w.ended.Store(int64(w.Now()))
	w.await()
	for _, p := range w.processes {
		p.leave()
	}
	w.stop()
	err := w.network.Close()
	for _, n := range w.nodes {
		n.close()
		err = errors.Join(err, n.err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(errors.Join(w.failures...), w.servers.Err(), err)
}
