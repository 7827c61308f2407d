package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/faults"
	"lockpick/internal/links"
	"lockpick/internal/resp"
)

// What the world can do. A fault has struck when the call returns.
var (
	_ faults.Pauser      = (*world)(nil)
	_ faults.Crasher     = (*world)(nil)
	_ faults.Canceller   = (*world)(nil)
	_ faults.Cutter      = (*world)(nil)
	_ faults.Holder      = (*world)(nil)
	_ faults.Slower      = (*world)(nil)
	_ faults.Resetter    = (*world)(nil)
	_ faults.Partitioner = (*world)(nil)
	_ faults.Refuser     = (*world)(nil)
	_ faults.Jumper      = (*world)(nil)
	_ faults.Drifter     = (*world)(nil)
	_ faults.Evicter     = (*world)(nil)
	_ faults.Forgetter   = (*world)(nil)
	_ faults.Stopper     = (*world)(nil)
)

// trouble counts the faults that are at work.
func (w *world) trouble(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.troubles += by
}

func (w *world) troubled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.troubles > 0
}

func (w *world) client(name string) (*client, error) {
	c, ok := w.clients[name]
	if !ok {
		return nil, fmt.Errorf("live: there is no client %q", name)
	}
	return c, nil
}

func (w *world) node(name string) (*node, error) {
	n, ok := w.nodes[name]
	if !ok {
		return nil, fmt.Errorf("live: there is no node %q", name)
	}
	return n, nil
}

// onLink strikes a link, by node to a lock node or by store to the store.
func (w *world) onLink(l faults.Link, d faults.Direction, lock func(*links.Link), store func(*wire, int)) error {
	if found, ok := w.links[linkKey{l.Far(), l.Node}]; ok {
		lock(found)
		return nil
	}
	if w.nodes[l.Far()] != nil && w.nodes[l.Node] != nil {
		return nil // they have nothing to do with each other
	}
	found, ok := w.wires[l.Far()]
	if !ok || l.Node != w.spec.Store {
		return fmt.Errorf("live: there is no link %s", l)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, one := range directions {
		if d.Covers(one) {
			store(found, dir)
		}
	}
	return nil
}

// Pause implements faults.Pauser.
func (w *world) Pause(name string) error {
	if c := w.clients[name]; c != nil {
		return c.process.pause()
	}
	n, err := w.node(name)
	if err != nil {
		return err
	}
	w.trouble(1)
	n.pause(1)
	return w.servers.Pause(name)
}

// Resume implements faults.Pauser.
func (w *world) Resume(name string) error {
	if c := w.clients[name]; c != nil {
		return c.process.resume()
	}
	n, err := w.node(name)
	if err != nil {
		return err
	}
	w.trouble(-1)
	if n.pause(-1) > 0 {
		return nil
	}
	return w.servers.Resume(name)
}

// Crash implements faults.Crasher.
func (w *world) Crash(name string) error {
	c, err := w.client(name)
	if err != nil {
		return err
	}
	return c.process.crash()
}

// Cancel implements faults.Canceller.
func (w *world) Cancel(name string) error {
	c, err := w.client(name)
	if err == nil {
		c.cancel()
	}
	return err
}

// Cut implements faults.Cutter.
func (w *world) Cut(l faults.Link, d faults.Direction) error {
	w.trouble(1)
	return w.onLink(l, d, func(l *links.Link) { l.Cut(d) }, func(l *wire, dir int) { l.ways[dir].cuts++ })
}

// Mend implements faults.Cutter.
func (w *world) Mend(l faults.Link, d faults.Direction) error {
	defer w.trouble(-1)
	return w.onLink(l, d, func(l *links.Link) { l.Mend(d) }, func(l *wire, dir int) { l.ways[dir].cuts-- })
}

// Hold implements faults.Holder.
func (w *world) Hold(l faults.Link, d faults.Direction) error {
	w.trouble(1)
	return w.onLink(l, d, func(l *links.Link) { l.Hold(d) }, func(l *wire, dir int) { l.ways[dir].holds++ })
}

// Release implements faults.Holder.
func (w *world) Release(l faults.Link, d faults.Direction) error {
	defer w.trouble(-1)
	return w.onLink(l, d, func(l *links.Link) { l.Release(d) }, (*wire).release)
}

// Slow implements faults.Slower.
func (w *world) Slow(l faults.Link, d faults.Direction, by time.Duration) error {
	return w.onLink(l, d, func(l *links.Link) { l.Slow(d, by) }, func(l *wire, dir int) { l.ways[dir].extra += by })
}

// Reset implements faults.Resetter.
func (w *world) Reset(l faults.Link) error {
	return w.onLink(l, faults.Both, (*links.Link).Reset, func(*wire, int) {})
}

// Partition implements faults.Partitioner.
func (w *world) Partition(side []string) (func(), error) {
	for _, name := range side {
		if w.clients[name] == nil && w.nodes[name] == nil && name != w.spec.Store {
			return nil, fmt.Errorf("live: there is no client or node %q", name)
		}
	}
	var cut []faults.Link
	for key := range w.links {
		cut = append(cut, faults.Link{Client: key.far, Node: key.node})
	}
	if slices.Contains(side, w.spec.Store) { // else it is nobody's side
		for name := range w.wires {
			cut = append(cut, faults.Link{Client: name, Node: w.spec.Store})
		}
	}
	cut = slices.DeleteFunc(cut, func(l faults.Link) bool {
		return slices.Contains(side, l.Client) == slices.Contains(side, l.Node)
	})
	for _, l := range cut {
		if err := w.Cut(l, faults.Both); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, l := range cut {
			_ = w.Mend(l, faults.Both) // it was there to be cut
		}
	}, nil
}

// Refuse implements faults.Refuser: what the links carry does not reach the node,
// and they answer in its place.
func (w *world) Refuse(name string, commands []string, text string) (func(), error) {
	if _, err := w.node(name); err != nil {
		return nil, err
	}
	var ends []func()
	for key, l := range w.links {
		if key.node == name {
			ends = append(ends, l.Refuse(commands, text))
		}
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}, nil
}

// Jump implements faults.Jumper. A client's clock is its lock's to look at, so the
// client is told.
func (w *world) Jump(name string, by time.Duration) error {
	if c := w.clients[name]; c != nil {
		return c.process.jump(by)
	}
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return n.setClock(func() error { return w.servers.Jump(name, by) })
}

// Drift implements faults.Drifter.
func (w *world) Drift(name string, rate float64) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return n.setClock(func() error { return w.servers.Drift(name, rate) })
}

// Evict implements faults.Evicter.
func (w *world) Evict(name, key string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return n.evict(key)
}

// ForgetScripts implements faults.Forgetter.
func (w *world) ForgetScripts(name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return n.ask(w.ctx, func(do resp.Asker) error {
		_, err := do("SCRIPT", "FLUSH", "SYNC")
		return err
	})
}

// Stop implements faults.Stopper.
func (w *world) Stop(name string, lose time.Duration) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	w.trouble(1)
	n.goDown()
	return w.servers.Stop(name, lose)
}

// Start implements faults.Stopper.
func (w *world) Start(name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	if err := errors.Join(w.servers.Start(name), n.comeUp()); err != nil {
		w.fail(fmt.Errorf("live: start %s again: %w", name, err)) // the fault's end has nobody to tell
		return err
	}
	w.trouble(-1)
	return nil
}

// pause counts the faults that make the node stand still, and returns how many there
// are.
func (n *node) pause(by int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pauses += by
	return n.pauses
}

// setClock lets set change the node's clock. What was done before is heard first:
// its time is of the old clock.
func (n *node) setClock(set func() error) error {
	n.sync()
	n.mu.Lock()
	defer n.mu.Unlock()
	err := set()
	n.lookAtClock()
	return err
}

// goDown expects the end of the node.
func (n *node) goDown() {
	n.sync()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
}

// comeUp listens to the node again, which may have lost some of its keys.
func (n *node) comeUp() error {
	if err := n.monitor.Close(); err != nil {
		return err
	}
	n.mu.Lock()
	n.peers = map[string]*links.Conn{}
	n.mu.Unlock()
	if err := n.listen(); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(n.world.ctx, hearing)
	defer stop()
	return n.ask(ctx, func(do resp.Asker) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.down = false
		return n.shadow.Sync(n.clock(n.world.Now()), do, "lost with the node's data")
	})
}

// evictor is the name of the connection that takes keys away as a node does that
// runs out of memory.
const evictor = "lockpick:evictor"

// evict takes a key away. No client did it.
func (n *node) evict(key string) error {
	return n.ask(n.world.ctx, func(do resp.Asker) error {
		if _, err := do("CLIENT", "SETNAME", evictor); err != nil {
			return err
		}
		_, err := do("DEL", key)
		return err
	})
}
