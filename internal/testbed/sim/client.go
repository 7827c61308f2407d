package sim

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/resource"
	"lockpick/internal/testbed"
)

// process is what its threads have in common: what strikes one of them strikes
// all, and there is one wall clock.
type process struct {
	world   *world
	threads []*client // at least one; fixed once the world is made
	shared  impls.Process
	ahead   atomic.Int64    // how far its wall clock is, in nanoseconds
	answers testbed.Answers // guarded by world.mu
}

// client is one thread of a simulated process. Its fields are guarded by world.mu
// unless stated.
type client struct {
	resource.Remote
	world    *world
	name     string
	process  *process
	resource *resource.Resource // of the store
	ctx      context.Context
	end      context.CancelFunc
	work     *rand.Rand // how exactly it sleeps; of the goroutine that works

	pauses  int // faults that make it stand still
	crashed bool
	struck  bool // crashed before the end of the run
	waiting []waiter
	spoken  int // attempts to speak after the end

	unsent []*command // written, and kept back while it stands still

	phase    faults.Phase
	section  uint64 // numbers the phases
	counted  uint64 // the section of the newest command that left
	commands int    // that left since the start of the run
	ofPhase  int    // of them in the section counted
	single   impls.Redis
	nodes    []impls.Redis

	tokens atomic.Int64

	cut  context.CancelFunc // ends the section's context; nil between sections
	debt time.Duration      // what asking Sentinels has cost and was not waited for yet
	hang func() error       // closes the client for Sentinels
}

// waiter is somebody who stands still.
type waiter struct {
	place uint64 // decides who goes on first; equals go on in the order of arrival
	wake  chan struct{}
}

// newClient makes a thread of a process.
func newClient(p *process, name string, r *resource.Resource) *client {
	ctx, end := context.WithCancel(p.world.ctx)
	c := &client{world: p.world, name: name, process: p, resource: r, ctx: ctx, end: end}
	c.Remote = resource.Remote{Client: name, Ask: c.askStore}
	c.work = c.Rand("work")
	p.threads = append(p.threads, c)
	return c
}

// maxSpoken is how often code of a client that is dead may still try to speak
// before its goroutine is ended: code that retries for ever would otherwise keep
// the bubble alive for ever.
const maxSpoken = 100

// errSilenced is what a client hears that has spoken too often after its death.
// Whoever hears it in a goroutine of the subject ends that goroutine.
var errSilenced = fmt.Errorf("%w: the client is dead and does not stop speaking", net.ErrClosed)

// gate blocks while the client is paused and fails once it has crashed. Every
// way out of the client leads through it. Several goroutines that come at one
// instant need places of their own.
func (c *client) gate(place uint64) error {
	w := c.world
	for {
		w.mu.Lock()
		if c.crashed {
			c.spoken++
			over := c.spoken > maxSpoken
			w.mu.Unlock()
			if over {
				return errSilenced
			}
			return net.ErrClosed
		}
		if c.pauses == 0 {
			w.mu.Unlock()
			return nil
		}
		wake := make(chan struct{})
		c.waiting = append(c.waiting, waiter{place, wake})
		w.mu.Unlock()
		<-wake
	}
}

// pause makes the process stand still.
func (p *process) pause() {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for _, c := range p.threads {
		c.pauses++
	}
}

// resume ends one pause. With the last of them the process wakes: those who stand
// still go on one after the other, so that their order does not depend on chance.
// Each thread has a time of its own for that, so that it does not matter to the
// others how many of its goroutines stood still.
func (p *process) resume() {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for thread, c := range p.threads {
		if c.pauses = max(c.pauses-1, 0); c.pauses > 0 {
			continue
		}
		for i, one := range c.goOn() {
			p.world.after(time.Duration(thread)*time.Microsecond+time.Duration(i+1), func() { close(one.wake) })
		}
	}
}

// goOn sends what was kept back, and returns who has stood still, in the order in
// which they are to wake. The caller holds world.mu.
func (c *client) goOn() []waiter {
	for _, cmd := range c.unsent {
		cmd.goOn()
	}
	waiting := c.waiting
	slices.SortStableFunc(waiting, func(a, b waiter) int { return cmp.Compare(a.place, b.place) })
	c.unsent, c.waiting = nil, nil
	return waiting
}

// crash ends the process by a fault.
func (p *process) crash() {
	for _, c := range p.threads {
		c.kill()
	}
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for _, c := range p.threads {
		c.struck = true
	}
}

// kill ends the client. What it sent before is still under way; its system
// closes its connections.
func (c *client) kill() {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.crashed {
		return
	}
	c.crashed, c.pauses, c.unsent = true, 0, nil
	for _, l := range w.linksOf(c.name) {
		for _, conn := range append([]*conn(nil), l.conns...) {
			conn.hangUp(net.ErrClosed)
		}
	}
	for _, one := range c.waiting {
		close(one.wake)
	}
	c.waiting = nil
	c.end()
}

// count numbers a command that is about to leave.
func (c *client) count(cmd *command) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if cmd.section != c.counted {
		c.counted, c.ofPhase = cmd.section, 0
	}
	c.commands++
	c.ofPhase++
	cmd.packet.Number, cmd.packet.PhaseNumber = c.commands, c.ofPhase
}

// Enter implements testbed.Client.
func (c *client) Enter(p faults.Phase) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.phase = p
	c.section++
}

// Lock implements testbed.Client.
func (c *client) Lock(v impls.Version, cfg impls.Config) (impls.Lock, error) {
	c.join(cfg)
	return v.New(env{c}, cfg)
}

// join makes the client's connections to the nodes, once.
func (c *client) join(cfg impls.Config) {
	for _, key := range append([]string{cfg.Key}, cfg.Also...) {
		c.world.labels.KeepKey(key)
	}
	switch t := c.world.spec.Topology; {
	case c.nodes != nil:
	case len(t.Sentinels) > 0:
		c.nodes = []impls.Redis{c.connectByName()}
	default:
		for _, name := range t.Nodes {
			c.nodes = append(c.nodes, c.connect(name))
		}
	}
	c.single = c.nodes[0]
}

// noBackOff keeps go-redis from waiting for a random time between retries.
const noBackOff = -1

// dialer makes a connection, as go-redis asks for it.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// options are those of the real go-redis client over the simulated network, set up so
// that one command is one attempt: a transparent retry is a fault of its own.
func (c *client) options(dial dialer, addrs ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:           addrs,
		MasterName:      MasterName,
		MaxRetries:      cmp.Or(c.world.spec.Retries, -1), // in go-redis' own words
		MinRetryBackoff: noBackOff,
		MaxRetryBackoff: noBackOff,
		PoolSize:        poolSize,
		// the buffers of a connection are most of what a run allocates
		ReadBufferSize:  bufferSize,
		WriteBufferSize: bufferSize,
		DialerRetries:   1,
		DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
		Dialer: dial,
	}
}

// connectByName returns go-redis' client that asks the Sentinels for the primary.
// Unlike the others it runs something in the background, and is closed at the end.
func (c *client) connectByName() *redis.Client {
	var addrs []string
	for _, s := range c.world.watch {
		addrs = append(addrs, s.addr)
	}
	dial := func(ctx context.Context, _, address string) (net.Conn, error) { return c.reach(ctx, address) }
	r := redis.NewFailoverClient(c.options(dial, addrs...).Failover())
	c.hang = r.Close
	return r
}

// Strategy implements testbed.Client.
func (c *client) Strategy(v impls.Version, cfg impls.Config) (impls.Strategy, error) {
	c.join(cfg)
	return v.Strategy(env{c}, c, cfg)
}

// bufferSize is that of a connection's buffers, in bytes; a lock's commands have
// some hundred.
const bufferSize = 1 << 10

// poolSize is more connections than any lock needs. An exhausted pool takes a
// timer from a sync.Pool of the whole process, which is fatal across bubbles.
const poolSize = 200

// connect returns go-redis' client of one node.
func (c *client) connect(name string) *redis.Client {
	n := c.world.nodes[name]
	l := c.world.links[linkKey{c.name, name}]
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx, n) }
	// it is never closed: it runs nothing in the background, and code that goes on
	// after the end must reach the network to be ended there
	return redis.NewClient(c.options(dial, n.addr).Simple())
}

// Context implements testbed.Client.
func (c *client) Context() context.Context { return c.ctx }

// Section implements testbed.Client.
func (c *client) Section() (context.Context, func()) {
	ctx, cut := context.WithCancel(c.ctx)
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.cut = cut
	return ctx, func() {
		cut()
		c.world.mu.Lock()
		defer c.world.mu.Unlock()
		c.cut = nil
	}
}

// cancel ends the section's context.
func (c *client) cancel() {
	c.world.mu.Lock()
	end := c.cut
	c.world.mu.Unlock()
	if end != nil {
		end()
	}
}

// Alive implements testbed.Client.
func (c *client) Alive() bool {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return !c.crashed
}

// Sleep implements testbed.Client.
func (c *client) Sleep(d time.Duration) {
	d += time.Duration(1 + c.work.IntN(999))
	_ = impls.Sleep(c.ctx, d+c.process.apart(c, c.world.Now()+d))
	c.Checkpoint()
}

// apart returns how long after t, at least, a thread may wake: no two threads of a
// process share an instant, since which of them would then get a mutex of their
// process first is chance.
func (p *process) apart(c *client, t time.Duration) time.Duration {
	n := time.Duration(len(p.threads))
	own := time.Duration(slices.Index(p.threads, c))
	return (own - t%n + n) % n
}

// Checkpoint implements testbed.Client.
func (c *client) Checkpoint() { _ = c.gate(0) }

// Label implements testbed.Client.
func (c *client) Label(owner string) string { return c.world.labels.Of(c.name, owner) }

// Rand implements impls.Env.
func (c *client) Rand(name string) *rand.Rand {
	return rand.New(rand.NewPCG(c.world.spec.Seed, hashOf(c.name+"/"+name)))
}

// hashOf makes a number of a name.
func hashOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash does not fail
	return h.Sum64()
}

// env is what the client's lock sees of the world.
type env struct{ *client }

func (e env) Redis() impls.Redis   { return e.single }
func (e env) Nodes() []impls.Redis { return slices.Clone(e.nodes) }
func (e env) Owner() string        { return e.name }

// Process implements impls.Env.
func (e env) Process() *impls.Process { return &e.client.process.shared }

// Wall implements impls.Env.
func (e env) Wall() time.Time {
	return time.Now().Round(0).Add(time.Duration(e.client.process.ahead.Load()))
}

// Token implements impls.Env.
func (e env) Token() string {
	token := fmt.Sprintf("%s#%d", e.name, e.tokens.Add(1))
	e.world.labels.Keep(token)
	return token
}

var (
	_ impls.Env      = env{}
	_ testbed.Client = (*client)(nil)
)
