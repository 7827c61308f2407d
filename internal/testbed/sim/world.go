package sim

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/engine"
	"lockpick/internal/keyspace"
	"lockpick/internal/resource"
	"lockpick/internal/testbed"
)

// world is one run: the queue of events and everything they touch.
type world struct {
	spec   testbed.Spec
	start  time.Time
	ctx    context.Context
	stop   context.CancelFunc
	labels *keyspace.Labels

	// mu guards the queue, the links and connections, and what is known of the
	// clients. Nodes and the store belong to the goroutine of loop alone.
	mu     sync.Mutex
	queue  events
	timed  uint64 // number of events that After has made
	waits  bool   // the loop waits for the alarm
	closed bool   // the loop has nothing more to do

	over      atomic.Bool   // the run has ended: nothing is recorded any more
	alarm     *time.Timer   // goes off when the first event of the queue is due
	ended     chan struct{} // closed by the loop
	clients   map[string]*client
	processes map[int]*process // those of several threads
	nodes     map[string]*node // the lock's, by name
	byAddr    map[string]*node
	watch     []*sentinel
	hosts     map[string]*host // nodes and Sentinels
	store     *resource.Store
	links     map[linkKey]*link
	wired     []*link // the links in the order of their numbers
}

// event is something that happens at an instant. The world carries events out
// in order of at, source, seq.
type event struct {
	at     time.Duration
	source uint64 // a link and direction; 0 for what After was asked for
	seq    uint64
	do     func()
}

func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	if e.source != f.source {
		return e.source < f.source
	}
	return e.seq < f.seq
}

func newWorld(ctx context.Context, s testbed.Spec, engines []*engine.Engine) *world {
	// what ends ctx lives outside of virtual time and must not reach into it
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &world{
		spec: s, start: time.Now(), ctx: ctx, stop: stop,
		alarm: time.NewTimer(time.Hour), ended: make(chan struct{}),
		clients: map[string]*client{}, processes: map[int]*process{}, nodes: map[string]*node{}, byAddr: map[string]*node{},
		hosts: map[string]*host{}, links: map[linkKey]*link{}, labels: keyspace.NewLabels(),
	}
	for i, name := range s.Topology.Nodes {
		n := newNode(w, name, address(i), engines[i])
		w.nodes[name], w.byAddr[n.addr], w.hosts[name] = n, n, &n.host
	}
	for i, name := range s.Topology.Sentinels {
		one := newSentinel(w, name, sentinelAddress(i))
		w.watch = append(w.watch, one)
		w.hosts[name] = &one.host
	}
	w.store = resource.NewStore(s.Store, s.Fences, w.record)
	hosts := slices.Concat([]string{s.Store}, s.Topology.Nodes, s.Topology.Sentinels)
	for _, name := range s.Clients {
		c := newClient(w.process(name), name, w.store.Resource(s.Resources[name], s.Initial))
		w.clients[name] = c
		for _, node := range hosts {
			w.wireUp(c, name, node)
		}
	}
	for i, far := range hosts[1:] {
		for _, node := range hosts[1 : i+1] {
			w.wireUp(nil, far, node)
		}
	}
	w.tie()
	return w
}

// process returns the one that a client is to be a thread of.
func (w *world) process(client string) *process {
	number, shared := w.spec.Processes[client]
	if !shared {
		return &process{world: w}
	}
	if w.processes[number] == nil {
		w.processes[number] = &process{world: w}
	}
	return w.processes[number]
}

// tie makes the nodes what the topology says: replicas of its primary, watched by
// its Sentinels.
func (w *world) tie() {
	primary := w.nodes[w.spec.Topology.Primary]
	if primary == nil {
		return
	}
	primary.recordRole()
	for _, name := range w.spec.Topology.Nodes {
		if n := w.nodes[name]; n != primary {
			n.follow(primary)
		}
	}
	for _, s := range w.watch {
		s.begin(primary)
	}
}

// Now implements testbed.World.
func (w *world) Now() time.Duration { return time.Duration(time.Now().UnixNano() - w.start.UnixNano()) }

// loop carries out the events until the world ends.
func (w *world) loop() {
	defer close(w.ended)
	for {
		do, over := w.due()
		switch {
		case over:
			return
		case do != nil:
			do()
		default:
			<-w.alarm.C
		}
	}
}

// due takes the first event off the queue if its time has come. If not, the
// alarm is set for it.
func (w *world) due() (do func(), over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = false
	switch {
	case w.closed:
		w.alarm.Stop()
		return nil, true
	case len(w.queue) == 0:
		w.alarm.Stop() // until something is pushed
	default:
		wait := w.queue[0].at - w.Now()
		if wait <= 0 {
			return w.queue.pop().do, false
		}
		w.alarm.Reset(wait)
	}
	w.waits = true
	return nil, false
}

// push queues an event. If the loop waits for a later one, the alarm is set here,
// so that the loop need not be woken to set it. The caller holds w.mu.
func (w *world) push(e event) {
	if w.queue.push(e) && w.waits {
		w.alarm.Reset(e.at - w.Now())
	}
}

// After implements faults.World. Whatever is asked for happens at a later
// instant, so that the order of events never depends on who asked first.
func (w *world) After(d time.Duration, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after(d, f)
}

func (w *world) after(d time.Duration, f func()) {
	w.timed++
	w.push(event{at: w.Now() + max(d, time.Nanosecond), seq: w.timed, do: f})
}

// record adds a record of the world's own doing.
func (w *world) record(r history.Record) {
	if w.over.Load() {
		return
	}
	r.T = w.Now()
	w.spec.Recorder.Add(worldSource, r)
}

// Client implements testbed.World.
func (w *world) Client(name string) testbed.Client { return w.clients[name] }

// Look implements testbed.World. It waits until the world has looked.
func (w *world) Look(text string) {
	done := make(chan struct{})
	w.After(0, func() {
		defer close(done)
		for _, name := range w.spec.Topology.Nodes {
			w.nodes[name].look(text)
		}
		if text == history.AtEnd {
			for _, name := range w.spec.Topology.Nodes {
				w.nodes[name].bear()
			}
		}
		w.store.Look(text)
	})
	<-done
}

// farewell is what code that was closed has to end in. When the run is over, time
// stands still, and whoever sleeps is left behind: a reader of a connection that
// ended with Close, for the nanoseconds that keep it apart from others; go-redis,
// which sleeps 100 ms between two attempts to hear of a Sentinel or a channel, and
// then finds itself closed.
const farewell = 200 * time.Millisecond

// end stops the world. Whoever still tries to speak is told that it is dead.
func (w *world) end() {
	w.over.Store(true)
	w.stop()
	for _, name := range w.spec.Clients {
		c := w.clients[name]
		c.kill()
		if c.hang != nil {
			_ = c.hang() // all that can go wrong is that its connections are closed
		}
	}
	time.Sleep(farewell)
	w.mu.Lock()
	w.closed = true
	w.alarm.Reset(0)
	w.mu.Unlock()
	<-w.ended
}

// events is a binary heap: the first of two children of i is at 2i+1.
type events []event

// push reports whether e is now the first.
func (q *events) push(e event) bool {
	h := append(*q, e)
	*q = h
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	return i == 0
}

// pop takes the first event off.
func (q *events) pop() event {
	h := *q
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}
