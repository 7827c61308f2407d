// Package testenv is a small world for the tests of the lock versions: Redis
// nodes in this process and clients whose commands a test can watch, delay and
// fail.
//
// It knows no lock, and is no testbed: it has neither a network nor a schedule.
// Everything it starts lives in the caller's testing/synctest bubble, so time is
// virtual, and must be closed before the bubble ends. Only tests import it.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockpick/impls"
)

// ErrCut is the error of a command that a test cuts off.
var ErrCut = errors.New("testenv: connection lost")

// latency is what a request and a reply take.
const latency = 500 * time.Microsecond

// World is the nodes. Its methods are for one goroutine.
type World struct {
	Nodes   []*miniredis.Miniredis
	clients []*redis.Client
}

// New returns a world of n empty nodes.
func New(n int) *World {
	w := &World{}
	for range n {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		w.Nodes = append(w.Nodes, m)
	}
	return w
}

// Close ends all clients and nodes.
func (w *World) Close() {
	for _, c := range w.clients {
		_ = c.Close() // closing twice is all that can go wrong
	}
	for _, m := range w.Nodes {
		m.Close()
	}
}

// Command is one command of a client.
type Command struct {
	Node int
	Name string // in lower case
	At   time.Time
	args []any
}

// Env is one client's world. It implements impls.Env.
type Env struct {
	owner   string
	process *impls.Process
	clients []impls.Redis
	tokens  atomic.Int64
	ahead   atomic.Int64

	mu      sync.Mutex
	sent    []Command
	request func(context.Context, Command) error
	reply   func(context.Context, Command) error
}

// Env returns the world of a client with that name, in a process of its own.
func (w *World) Env(owner string) *Env { return w.Thread(&impls.Process{}, owner) }

// Thread returns the world of a client with that name that is a thread of p.
func (w *World) Thread(p *impls.Process, owner string) *Env {
	e := &Env{owner: owner, process: p}
	for i, m := range w.Nodes {
		c := redis.NewClient(&redis.Options{
			Addr:            "192.0.2.1:6379",
			Dialer:          func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
			DisableIdentity: true,
			MaxRetries:      -1,
			PoolSize:        1000, // an exhausted pool would take timers from outside the bubble
			MaintNotificationsConfig: &maintnotifications.Config{
				Mode: maintnotifications.ModeDisabled,
			},
		})
		c.AddHook(hook{env: e, node: i})
		w.clients = append(w.clients, c)
		e.clients = append(e.clients, c)
	}
	return e
}

// Redis is the first node.
func (e *Env) Redis() impls.Redis { return e.clients[0] }

// Process is the client's process.
func (e *Env) Process() *impls.Process { return e.process }

// Nodes is all nodes.
func (e *Env) Nodes() []impls.Redis { return e.clients }

// Owner is the client's name.
func (e *Env) Owner() string { return e.owner }

// Wall is the time that SetWall has moved.
func (e *Env) Wall() time.Time { return time.Now().Round(0).Add(time.Duration(e.ahead.Load())) }

// SetWall moves the client's wall clock.
func (e *Env) SetWall(by time.Duration) { e.ahead.Add(int64(by)) }

// Token is the client's name and a number that grows.
func (e *Env) Token() string { return fmt.Sprintf("%s-%d", e.owner, e.tokens.Add(1)) }

// Rand is a stream that follows from the two names.
func (e *Env) Rand(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%s", e.owner, name) // a hash does not fail
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

// OnRequest has f called before each command is sent. If f returns an error, the
// command is never sent and ends with it. A nil f ends this.
func (e *Env) OnRequest(f func(context.Context, Command) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.request = f
}

// OnReply has f called after each command was applied. If f returns an error,
// that is all the client hears. A nil f ends this.
func (e *Env) OnReply(f func(context.Context, Command) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reply = f
}

// Cut fails all commands from now on before they are sent.
func (e *Env) Cut() {
	e.OnRequest(func(context.Context, Command) error { return ErrCut })
}

// Heal ends Cut and everything else that OnRequest and OnReply started.
func (e *Env) Heal() {
	e.OnRequest(nil)
	e.OnReply(nil)
}

// Sent returns the commands that were sent or cut off, in order.
func (e *Env) Sent() []Command {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Command(nil), e.sent...)
}

// Names returns the names of Sent.
func (e *Env) Names() []string {
	var names []string
	for _, c := range e.Sent() {
		names = append(names, c.Name)
	}
	return names
}

// Script reports whether the command runs a script.
func (c Command) Script() bool { return c.Name == "eval" || c.Name == "evalsha" }

// Args are the command's arguments after its name, as text.
func (c Command) Args() []string {
	var args []string
	for _, a := range c.args[1:] {
		args = append(args, fmt.Sprint(a))
	}
	return args
}

type hook struct {
	env  *Env
	node int
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hello" {
			return next(ctx, cmd) // the client's own, when it opens a connection
		}
		c := Command{Node: h.node, Name: cmd.Name(), At: time.Now(), args: cmd.Args()}
		h.env.mu.Lock()
		h.env.sent = append(h.env.sent, c)
		request, reply := h.env.request, h.env.reply
		h.env.mu.Unlock()

		time.Sleep(latency)
		if request != nil {
			if err := request(ctx, c); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		time.Sleep(latency)
		if reply != nil {
			if lost := reply(ctx, c); lost != nil {
				cmd.SetErr(lost)
				return lost
			}
		}
		return err
	}
}
