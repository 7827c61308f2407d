package sim

import "slices"

// host is a machine of the simulated network that serves: it can be down, and it
// can stand still, which it goes on doing when it is taken down and comes up again
// meanwhile. It belongs to the goroutine of world.loop.
type host struct {
	world *world
	name  string
	addr  string

	down    bool
	pauses  int      // faults that make it stand still
	arrived []func() // while it stood still
}

// handle lets what arrives at the host happen, as soon as it runs. A host that is
// down hears nothing.
func (h *host) handle(do func()) {
	switch {
	case h.down:
	case h.pauses > 0:
		h.arrived = append(h.arrived, do)
	default:
		do()
	}
}

func (h *host) pause() { h.pauses++ }

// resume ends one pause. With the last of them the host does, in order, what it
// was sent.
func (h *host) resume() {
	if h.pauses = max(h.pauses-1, 0); h.pauses > 0 {
		return
	}
	arrived := h.arrived
	h.arrived = nil
	for _, do := range arrived {
		h.handle(do)
	}
}

// stop takes the host down: all its connections break.
func (h *host) stop() {
	h.down, h.arrived = true, nil
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.linksOf(h.name) {
		l.resetAll()
	}
}

// tell lets do happen at another host when a message sent now arrives there,
// unless it is lost on the way. Each message goes its own way.
func (h *host) tell(to *host, do func()) { h.knock(to, do, func() {}) }

// knock is tell for who wants to know whether anybody is there: when the other
// host is down, its system says so, and refused happens at h.
func (h *host) knock(to *host, do, refused func()) {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	l, dir := w.between(h, to)
	l.opened++
	l.send(dir, l.opened, &stream{}, func() {
		if to.down {
			to.tell(h, refused)
		} else {
			to.handle(do)
		}
	})
}

// cable is a connection between two hosts, which keeps its order. Its ends are
// numbered by the direction of what arrives there. Its fields are guarded by
// world.mu.
type cable struct {
	link    *link
	number  uint64
	streams [2]stream
	over    [2]bool   // the end has hung up, or knows that the other one has
	lost    [2]func() // what happens at the end when it learns that
}

// dial makes a connection to another host. mine and theirs happen at the two ends
// when they learn that the other one has hung up, or that the connection broke.
func (h *host) dial(to *host, mine, theirs func()) *cable {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	l, dir := w.between(h, to)
	l.opened++
	c := &cable{link: l, number: l.opened}
	c.lost[dir], c.lost[1-dir] = theirs, mine
	l.cables = append(l.cables, c)
	return c
}

// end returns the number of the host's end.
func (c *cable) end(h *host) int {
	if c.link.node == h.name {
		return toNode
	}
	return toClient
}

// send lets do happen at the host to, in the order of sending.
func (c *cable) send(to *host, do func()) {
	w := to.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir := c.end(to); !c.over[1-dir] {
		c.push(dir, func() {
			to.handle(func() {
				if !c.isOver(dir) {
					do()
				}
			})
		})
	}
}

// push sends something over the cable. The caller holds w.mu.
func (c *cable) push(dir int, arrive func()) { c.link.send(dir, c.number, &c.streams[dir], arrive) }

func (c *cable) isOver(end int) bool {
	c.link.world.mu.Lock()
	defer c.link.world.mu.Unlock()
	return c.over[end]
}

// hangUp ends the connection. The other host learns of it when the word of it
// arrives, which a cut may keep from it.
func (c *cable) hangUp(to *host) {
	w := c.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	dir := c.end(to)
	if c.over[1-dir] {
		return
	}
	c.over[1-dir] = true
	c.push(dir, func() {
		w.mu.Lock()
		c.link.cables = slices.DeleteFunc(c.link.cables, func(o *cable) bool { return o == c })
		w.mu.Unlock()
		to.handle(func() {
			if !c.isOver(dir) {
				w.mu.Lock()
				c.over[dir] = true
				w.mu.Unlock()
				c.lost[dir]()
			}
		})
	})
}

// resetCables breaks connections between hosts. Both ends learn of it an instant
// later. The caller holds w.mu.
func (l *link) resetCables(match func(*cable) bool) {
	kept := l.cables[:0]
	for _, c := range l.cables {
		if !match(c) {
			kept = append(kept, c)
			continue
		}
		for end, over := range c.over {
			if !over {
				c.over[end] = true
				l.world.after(0, c.lost[end])
			}
		}
	}
	clear(l.cables[len(kept):])
	l.cables = kept
}

// torn reports whether the connection has lost something. The caller holds w.mu.
func (c *cable) torn() bool { return c.streams[toNode].torn || c.streams[toClient].torn }
