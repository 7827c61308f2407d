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
			if f.target == n || strings.HasPrefix(f.target, n+" ") || strings.HasSuffix(f.target, " "+n) {
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

func (f fault) String() string {
	if f.to == forever {
		return phrase("%s of %s at %v", f.name, f.target, f.from)
	}
	return phrase("%s of %s from %v to %v", f.name, f.target, f.from, f.to)
}
