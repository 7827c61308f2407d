package live

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"time"

	"lockpick/faults"
	"lockpick/impls"
	"lockpick/impls/external"
	"lockpick/internal/resource"
	"lockpick/internal/testbed"
)

// client is one participant: a thread of its process, and the harness's goroutine
// that works for it. Its fields are guarded by process.mu unless stated.
type client struct {
	resource.Remote
	process  *process
	name     string
	resource *resource.Resource // guarded by world.mu
	dice     *rand.Rand         // how exactly it sleeps; of the goroutine that works

	phase    faults.Phase
	section  uint64 // numbers the phases
	counted  uint64 // the section of the newest command that left
	commands int    // that left since the start of the run
	ofPhase  int    // of them in the section counted

	cut context.CancelFunc // ends the section's context; nil between sections
}

func newClient(p *process, name string) *client {
	w := p.world
	c := &client{process: p, name: name, resource: w.store.Resource(w.spec.Resources[name], w.spec.Initial)}
	c.Remote = resource.Remote{Client: name, Ask: c.askStore}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash does not fail
	c.dice = rand.New(rand.NewPCG(w.spec.Seed, h.Sum64()))
	p.threads = append(p.threads, c)
	return c
}

// The time-outs of go-redis, at a scenario's own times, and what is left of them at
// least.
const (
	ioTimeout       = 3 * time.Second
	shortestTimeout = 150 * time.Millisecond
)

// scaled is a time-out at the run's scale.
func (w *world) scaled(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)*w.spec.Scale), shortestTimeout)
}

// timeout is how long a client of the run waits for a reply. What stops a client
// between writing a command and sending it finds the command at the link: the
// client has begun to wait for the reply, and must not have given up when it wakes.
func (w *world) timeout() time.Duration {
	longest := time.Duration(0)
	for _, s := range w.spec.Steps {
		if p, ok := s.Fault.(faults.Pause); ok && p.Client != "" && s.When.Wire != nil && s.When.Wire.Point == faults.BeforeSend {
			longest = max(longest, s.For)
		}
	}
	return w.scaled(ioTimeout) + longest
}

// Lock implements testbed.Client: it makes the handle in the client's process.
func (c *client) Lock(v impls.Version, cfg impls.Config) (impls.Lock, error) {
	w := c.process.world
	for _, key := range append([]string{cfg.Key}, cfg.Also...) {
		w.labels.KeepKey(key)
	}
	child, err := c.process.begin()
	if err != nil {
		return nil, err
	}
	o := external.Open{
		Version: v.Name, Client: c.name, Seed: w.spec.Seed,
		Key: cfg.Key, Also: cfg.Also, TTL: cfg.TTL.Milliseconds(), Wait: cfg.Wait.Milliseconds(), Scale: w.spec.Scale,
		Redis: external.Redis{Timeout: w.timeout().Milliseconds(), Retries: w.spec.Retries},
	}
	for _, node := range w.spec.Topology.Nodes {
		o.Redis.Nodes = append(o.Redis.Nodes, w.links[linkKey{c.name, node}].Addr())
	}
	return child.Open(o)
}

// errNoStrategy is what a testbed of processes says that should have refused the
// run.
var errNoStrategy = errors.New("live: a strategy has no lock that a client process could have")

// Strategy implements testbed.Client.
func (c *client) Strategy(impls.Version, impls.Config) (impls.Strategy, error) {
	return nil, errNoStrategy
}

// Context implements testbed.Client.
func (c *client) Context() context.Context { return c.process.ctx }

// Section implements testbed.Client.
func (c *client) Section() (context.Context, func()) {
	ctx, cut := context.WithCancel(c.process.ctx)
	c.process.mu.Lock()
	defer c.process.mu.Unlock()
	c.cut = cut
	return ctx, func() {
		cut()
		c.process.mu.Lock()
		defer c.process.mu.Unlock()
		c.cut = nil
	}
}

// cancel ends the section's context.
func (c *client) cancel() {
	c.process.mu.Lock()
	end := c.cut
	c.process.mu.Unlock()
	if end != nil {
		end()
	}
}

// Alive implements testbed.Client.
func (c *client) Alive() bool {
	c.process.mu.Lock()
	defer c.process.mu.Unlock()
	return !c.process.crashed
}

// Enter implements testbed.Client.
func (c *client) Enter(p faults.Phase) {
	c.process.mu.Lock()
	defer c.process.mu.Unlock()
	c.phase = p
	c.section++
}

// count numbers a command that is about to leave, as faults are told of it.
func (c *client) count(node, name string) faults.Packet {
	c.process.mu.Lock()
	defer c.process.mu.Unlock()
	if c.section != c.counted {
		c.counted, c.ofPhase = c.section, 0
	}
	c.commands++
	c.ofPhase++
	return faults.Packet{
		Client: c.name, Node: node, Name: name, Number: c.commands, Phase: c.phase, PhaseNumber: c.ofPhase, Point: faults.BeforeSend,
	}
}

// Sleep implements testbed.Client.
func (c *client) Sleep(d time.Duration) {
	_ = impls.Sleep(c.process.ctx, d+time.Duration(1+c.dice.IntN(999)))
	c.Checkpoint()
}

// Checkpoint implements testbed.Client.
func (c *client) Checkpoint() { _ = c.process.gate(context.Background()) }

// Answers implements testbed.Client.
func (c *client) Answers() testbed.Answers { return c.process.answersNow() }

// Label implements testbed.Client.
func (c *client) Label(owner string) string { return c.process.world.labels.Of(c.name, owner) }

// errDead is what a client hears that has crashed.
var errDead = net.ErrClosed

var (
	_ testbed.Client = (*client)(nil)
	_ impls.Store    = (*client)(nil)
)
