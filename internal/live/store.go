package live

import (
	"context"
	"time"

	"lockpick/faults"
	"lockpick/internal/resource"
)

// storeTimeout is how long a client waits for the store's answer, at a scenario's
// own times: as long as go-redis waits for a connection.
const storeTimeout = 5 * time.Second

// wire is a client's link to the store, which is in this process. Its fields are
// guarded by world.mu.
type wire struct {
	world *world
	ways  [2]way
}

// way is one direction of it.
type way struct {
	cuts, holds int
	extra       time.Duration
	held        []func()
}

// The directions.
const (
	toNode = iota
	toClient
)

var directions = [2]faults.Direction{toNode: faults.ToNode, toClient: faults.ToClient}

// send lets do happen at the other end, unless it is lost on the way. do is called
// with world.mu held, as is send.
func (l *wire) send(dir int, do func()) {
	way := &l.ways[dir]
	switch {
	case way.cuts > 0:
	case way.holds > 0:
		way.held = append(way.held, do)
	case way.extra > 0:
		time.AfterFunc(way.extra, func() {
			l.world.mu.Lock()
			defer l.world.mu.Unlock()
			do()
		})
	default:
		do()
	}
}

// release ends one hold. The caller holds world.mu.
func (l *wire) release(dir int) {
	way := &l.ways[dir]
	if way.holds--; way.holds > 0 {
		return
	}
	held := way.held
	way.held = nil
	for _, do := range held {
		do()
	}
}

// askStore carries a request about the client's resource to the store, and the
// answer back.
func (c *client) askStore(ctx context.Context, do func(*resource.Resource) (any, error)) (any, error) {
	if err := c.process.gate(ctx); err != nil {
		return nil, err
	}
	w := c.process.world
	l := w.wires[c.name]
	reply := make(chan resource.Answer, 1)
	w.mu.Lock()
	l.send(toNode, func() {
		v, err := do(c.resource)
		l.send(toClient, func() { reply <- resource.Answer{Value: v, Err: err} })
	})
	w.mu.Unlock()
	return resource.Await(ctx, reply, w.scaled(storeTimeout), func() error { return c.process.gate(context.Background()) })
}
