package checker

import (
	"strings"

	"lockpick/checker/history"
)

// fault is one thing that was broken on purpose.
type fault struct {
	span
	name, target string
	record       int
}

// fault takes record i of a fault that struck or healed.
func (ix *index) fault(i int) {
	r := ix.rec(i)
	c := ix.clients[r.Target]
	if r.Text == history.Healed {
		for k := len(ix.faults) - 1; k >= 0; k-- {
			f := &ix.faults[k]
			if f.name != r.Op || f.target != r.Target || f.to != forever {
				continue
			}
			f.to = r.T
			if r.Op == "pause" && c != nil && len(c.paused) > 0 {
				c.paused[len(c.paused)-1].to = r.T
			}
			return
		}
		return
	}
	if r.Error != "" {
		return // it was tried in vain
	}
	ix.faults = append(ix.faults, fault{span{r.T, forever}, r.Op, r.Target, i})
	switch {
	case c == nil:
	case r.Op == "cancel":
		c.cancelled = append(c.cancelled, span{r.T, r.T})
	case r.Op == "pause":
		c.paused = append(c.paused, span{r.T, forever})
	case r.Op == "crash":
		c.crashed = min(c.crashed, r.T)
		ix.stop(c, i, endCrash)
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
	for word := range strings.FieldsSeq(f.target) {
		if strings.TrimRight(word, ",:") == name {
			return true
		}
	}
	return false
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
	if f.to == forever {
		return phrase("%s of %s at %v", f.name, f.target, f.from)
	}
	return phrase("%s of %s from %v to %v", f.name, f.target, f.from, f.to)
}
