package sim

import (
	"fmt"
	"time"

	"lockpick/faults"
)

// The world offers every fault. What strikes a client or a link has struck when
// the call returns; what strikes a node happens in the world's own goroutine, an
// instant later.
var (
	_ faults.Pauser   = (*world)(nil)
	_ faults.Crasher  = (*world)(nil)
	_ faults.Cutter   = (*world)(nil)
	_ faults.Holder   = (*world)(nil)
	_ faults.Slower   = (*world)(nil)
	_ faults.Resetter = (*world)(nil)
	_ faults.Jumper   = (*world)(nil)
	_ faults.Evicter  = (*world)(nil)
	_ faults.Stopper  = (*world)(nil)
)

func (w *world) onClient(name string, do func(*client)) error {
	c, ok := w.clients[name]
	if !ok {
		return fmt.Errorf("sim: there is no client %q", name)
	}
	do(c)
	return nil
}

func (w *world) onNode(name string, do func(*node)) error {
	n, ok := w.nodes[name]
	if !ok {
		return fmt.Errorf("sim: there is no node %q", name)
	}
	w.After(0, func() { do(n) })
	return nil
}

// onWays applies do to each direction of a link that d covers.
func (w *world) onWays(l faults.Link, d faults.Direction, do func(*link, int)) error {
	found, ok := w.links[linkKey{l.Client, l.Node}]
	if !ok {
		return fmt.Errorf("sim: there is no link %s", l)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, one := range directions {
		if d.Covers(one) {
			do(found, dir)
		}
	}
	return nil
}

// Pause implements faults.Pauser.
func (w *world) Pause(name string) error { return w.onClient(name, (*client).pause) }

// Resume implements faults.Pauser.
func (w *world) Resume(name string) error { return w.onClient(name, (*client).resume) }

// Crash implements faults.Crasher.
func (w *world) Crash(name string) error {
	return w.onClient(name, func(c *client) {
		c.kill()
		w.mu.Lock()
		defer w.mu.Unlock()
		c.struck = true
	})
}

// Cut implements faults.Cutter.
func (w *world) Cut(l faults.Link, d faults.Direction) error {
	return w.onWays(l, d, func(l *link, dir int) { l.ways[dir].cuts++ })
}

// Mend implements faults.Cutter.
func (w *world) Mend(l faults.Link, d faults.Direction) error {
	return w.onWays(l, d, func(l *link, dir int) {
		l.ways[dir].cuts--
		l.reset((*conn).torn)
	})
}

// Hold implements faults.Holder.
func (w *world) Hold(l faults.Link, d faults.Direction) error {
	return w.onWays(l, d, func(l *link, dir int) { l.ways[dir].holds++ })
}

// Release implements faults.Holder.
func (w *world) Release(l faults.Link, d faults.Direction) error {
	return w.onWays(l, d, func(l *link, dir int) {
		way := &l.ways[dir]
		if way.holds--; way.holds > 0 {
			return
		}
		for _, arrive := range way.held {
			arrive()
		}
		way.held = nil
	})
}

// Slow implements faults.Slower.
func (w *world) Slow(l faults.Link, d faults.Direction, by time.Duration) error {
	return w.onWays(l, d, func(l *link, dir int) { l.ways[dir].extra += by })
}

// Reset implements faults.Resetter.
func (w *world) Reset(l faults.Link) error {
	return w.onWays(l, faults.ToNode, func(l *link, _ int) { l.reset(always) })
}

// Jump implements faults.Jumper.
func (w *world) Jump(name string, by time.Duration) error {
	return w.onNode(name, func(n *node) { n.jump(by) })
}

// Evict implements faults.Evicter.
func (w *world) Evict(name, key string) error {
	return w.onNode(name, func(n *node) { n.evict(key) })
}

// Stop implements faults.Stopper.
func (w *world) Stop(name string, lose bool) error {
	return w.onNode(name, func(n *node) { n.stop(lose) })
}

// Start implements faults.Stopper.
func (w *world) Start(name string) error {
	return w.onNode(name, func(n *node) { n.down = false })
}
