package checker

import (
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// fault is one thing that was broken on purpose.
type fault struct {
	span
	name, target string
	record       int
	mates        []string // the threads of the process that it struck, when there are several
}

// fault takes record i of a fault that struck or healed.
func (ix *index) fault(i int) {
	r := ix.rec(i)
	var threads []*client // that it strikes
	for _, name := range ix.struck(r) {
		if c := ix.clients[name]; c != nil {
			threads = append(threads, c)
		}
	}
	if r.Text == history.Healed {
		for k := len(ix.faults) - 1; k >= 0; k-- {
			f := &ix.faults[k]
			if f.name != r.Op || f.target != r.Target || f.to != forever {
				continue
			}
			f.to = r.T
			if r.Op == "pause" {
				for _, c := range threads {
					c.resume(r.T)
				}
			}
			return
		}
		return
	}
	if r.Error != "" {
		return // it was tried in vain
	}
	f := fault{span: span{r.T, forever}, name: r.Op, target: r.Target, record: i}
	if list := ix.struck(r); len(list) > 1 {
		f.mates = list
	}
	ix.faults = append(ix.faults, f)
	for _, c := range threads {
		switch r.Op {
		case "cancel":
			c.cancelled = append(c.cancelled, span{r.T, r.T})
		case "pause":
			c.paused = append(c.paused, span{r.T, forever})
		case "crash":
			c.crashed = min(c.crashed, r.T)
			ix.stop(c, i, endCrash)
		}
	}
}

// struck returns whom a fault strikes: all threads of a client's process, unless it
// is of a client alone.
func (ix *index) struck(r *history.Record) []string {
	if !r.StrikesProcess() {
		return []string{r.Target}
	}
	name, _, _ := strings.Cut(r.Target, " ")
	return ix.process(name)
}

// resume ends the newest pause that lasts. Of two that overlap the client stands
// still until both have ended.
func (c *client) resume(t time.Duration) {
	for k := len(c.paused) - 1; k >= 0; k-- {
		if c.paused[k].to == forever {
			c.paused[k].to = t
			return
		}
	}
}

// faultsIn describes the faults that were in force in s and that concern one of
// the names, or anybody when none is given.
func (ix *index) faultsIn(s span, names ...string) string {
	var parts []string
	for _, f := range ix.faults {
		if !f.meets(s) {
			continue
		}
		for _, n := range names {
			if f.names(n) {
				parts = append(parts, f.String())
				break
			}
		}
		if len(names) == 0 {
			parts = append(parts, f.String())
		}
	}
	return strings.Join(parts, ", ")
}

// names reports whether the fault's target is, or contains, a client or node of
// that name.
func (f fault) names(name string) bool {
	if slices.Contains(f.mates, name) {
		return true
	}
	return slices.Contains(targets(f.target), name)
}

// targets are the words of a fault's target, clients and nodes among them.
func targets(target string) []string {
	words := strings.Fields(target)
	for i := range words {
		words[i] = strings.TrimRight(words[i], ",:")
	}
	return words
}

// troubles is when something was broken, for everybody and for one client.
type troubles struct {
	all []span
	of  map[*client][]span
}

// troubles arranges the faults by whom they may have kept from the lock: those
// that name clients, those clients; every other one, and one that parts the
// network, everybody.
func (ix *index) troubles() *troubles {
	if ix.trouble != nil {
		return ix.trouble
	}
	t := &troubles{of: map[*client][]span{}}
	for _, f := range ix.faults {
		alone := false
		for _, c := range ix.clients {
			if f.name != "partition" && f.names(c.name) {
				t.of[c] = append(t.of[c], f.span)
				alone = true
			}
		}
		if !alone {
			t.all = append(t.all, f.span)
		}
	}
	t.all = union(t.all)
	for c, spans := range t.of {
		t.of[c] = union(spans)
	}
	ix.trouble = t
	return t
}

// until returns the beginning of s, up to the first trouble of the client.
func (t *troubles) until(c *client, s span) span {
	for _, spans := range [][]span{t.all, t.of[c]} {
		if k := firstAfter(spans, s.from); k < len(spans) {
			s.to = min(s.to, spans[k].from)
		}
	}
	return s
}

func (f fault) String() string {
	target := f.target
	if f.mates != nil {
		name, more, _ := strings.Cut(target, " ")
		target = strings.TrimSpace(name + "'s process " + more)
	}
	if f.to == forever {
		return phrase("%s of %s at %v", f.name, target, f.from)
	}
	return phrase("%s of %s from %v to %v", f.name, target, f.from, f.to)
}
