package sim

import (
	"fmt"
	"slices"
	"time"

	"lockpick/faults"
)

// The world offers every fault. What strikes a client or a link has struck when
// the call returns; what strikes a node happens in the world's own goroutine, an
// instant later.
var (
	_ faults.Pauser      = (*world)(nil)
	_ faults.Crasher     = (*world)(nil)
	_ faults.Cutter      = (*world)(nil)
	_ faults.Holder      = (*world)(nil)
	_ faults.Slower      = (*world)(nil)
	_ faults.Resetter    = (*world)(nil)
	_ faults.Jumper      = (*world)(nil)
	_ faults.Evicter     = (*world)(nil)
	_ faults.Stopper     = (*world)(nil)
	_ faults.Canceller   = (*world)(nil)
	_ faults.Drifter     = (*world)(nil)
	_ faults.Refuser     = (*world)(nil)
	_ faults.Forgetter   = (*world)(nil)
	_ faults.Partitioner = (*world)(nil)
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

// onHost strikes a node or a Sentinel.
func (w *world) onHost(name string, node func(*node), sentry func(*sentinel)) error {
	for _, s := range w.watch {
		if s.name == name {
			w.After(0, func() {
				sentry(s)
				s.meet()
			})
			return nil
		}
	}
	return w.onNode(name, node)
}

// onWays applies do to each direction of a link that d covers.
func (w *world) onWays(l faults.Link, d faults.Direction, do func(*link, int)) error {
	found, ok := w.links[linkKey{l.Far(), l.Node}]
	if !ok {
		found, ok = w.links[linkKey{l.Node, l.Far()}]
	}
	switch {
	case !ok:
		return fmt.Errorf("sim: there is no link %s", l)
	case l.Client == "" && d != faults.Both:
		return fmt.Errorf("sim: the link %s is of two nodes, and is struck both ways", l)
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
func (w *world) Pause(name string) error {
	if w.clients[name] == nil {
		return w.onHost(name, func(n *node) { n.pause() }, (*sentinel).pause)
	}
	return w.onClient(name, func(c *client) { c.process.pause() })
}

// Resume implements faults.Pauser.
func (w *world) Resume(name string) error {
	if w.clients[name] == nil {
		return w.onHost(name, func(n *node) { n.resume() }, (*sentinel).resume)
	}
	return w.onClient(name, func(c *client) { c.process.resume() })
}

// Crash implements faults.Crasher.
func (w *world) Crash(name string) error {
	return w.onClient(name, func(c *client) { c.process.crash() })
}

// Cancel implements faults.Canceller.
func (w *world) Cancel(name string) error { return w.onClient(name, (*client).cancel) }

// Cut implements faults.Cutter.
func (w *world) Cut(l faults.Link, d faults.Direction) error {
	return w.onWays(l, d, func(l *link, dir int) { l.ways[dir].cuts++ })
}

// Mend implements faults.Cutter.
func (w *world) Mend(l faults.Link, d faults.Direction) error {
	return w.onWays(l, d, func(l *link, dir int) {
		l.ways[dir].cuts--
		l.resetTorn()
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
	return w.onWays(l, faults.Both, func(l *link, _ int) { l.resetAll() })
}

// Jump implements faults.Jumper.
func (w *world) Jump(name string, by time.Duration) error {
	if c, ok := w.clients[name]; ok {
		c.process.ahead.Add(int64(by))
		return nil
	}
	return w.onNode(name, func(n *node) { n.jump(by) })
}

// Evict implements faults.Evicter.
func (w *world) Evict(name, key string) error {
	return w.onNode(name, func(n *node) { n.evict(key) })
}

// Stop implements faults.Stopper.
func (w *world) Stop(name string, lose time.Duration) error {
	return w.onHost(name, func(n *node) { n.stop(lose) }, func(s *sentinel) { s.stop() })
}

// Start implements faults.Stopper.
func (w *world) Start(name string) error {
	return w.onHost(name, (*node).start, (*sentinel).start)
}

// Drift implements faults.Drifter.
func (w *world) Drift(name string, rate float64) error {
	return w.onNode(name, func(n *node) { n.drift(rate) })
}

// Refuse implements faults.Refuser.
func (w *world) Refuse(name string, commands []string, text string) (func(), error) {
	r := &refusal{commands, text}
	if err := w.onNode(name, func(n *node) { n.refuse(r) }); err != nil {
		return nil, err
	}
	return func() { _ = w.onNode(name, func(n *node) { n.relent(r) }) }, nil
}

// ForgetScripts implements faults.Forgetter.
func (w *world) ForgetScripts(name string) error {
	return w.onNode(name, func(n *node) { n.engine.ForgetScripts() })
}

// Partition implements faults.Partitioner.
func (w *world) Partition(side []string) (func(), error) {
	for _, name := range side {
		if w.clients[name] == nil && w.hosts[name] == nil && name != w.store.Name() {
			return nil, fmt.Errorf("sim: there is no client or node %q", name)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var cut []*link
	for _, l := range w.wired {
		// the store is nobody's side of the lock's network unless it is named
		if l.node == w.store.Name() && !slices.Contains(side, l.node) {
			continue
		}
		if slices.Contains(side, l.far) != slices.Contains(side, l.node) {
			cut = append(cut, l)
			l.ways[toNode].cuts++
			l.ways[toClient].cuts++
		}
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, l := range cut {
			l.ways[toNode].cuts--
			l.ways[toClient].cuts--
			l.resetTorn()
		}
	}, nil
}
