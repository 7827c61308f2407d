package reports

import (
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
)

// op is an operation of a client: its two records and, for a lease, the other
// end of it.
type op struct {
	begin history.Record
	end   history.Record // zero while ended is false
	lines []int          // of the history file: one, or two when it ended
	ended bool

	released *op           // of an acquire: the release of its lease
	granted  *op           // of a release: the acquire that it ends
	until    time.Duration // of an acquire: the end of its lease, renewals included; 0 when it made no claim
	over     string        // of a write or a change: what the store had before
	became   *int64        // of a change: what the store has after it
}

func (o *op) ok() bool { return o.ended && o.end.Kind == history.OK }

// took is how long the operation lasted.
func (o *op) took() time.Duration { return o.end.T - o.begin.T }

// cast is a run's records, indexed for telling.
type cast struct {
	h        *history.History
	byID     map[int]*op
	cited    map[int]bool    // lines that the findings name
	told     map[int]bool    // lines of the store that are told with their client's write
	died     map[string]bool // clients that were crashed
	alone    map[string]bool
	others   int // clients that are not told one by one
	nodes    int
	lockless bool              // clients change the resource without a lock
	turns    map[string][]turn // by node: the roles that it took
	heard    map[int]*spread   // by line: what Sentinels say alike, at the first of them
	full     bool              // everybody is told, and everything
	keys     map[string]bool
}

// maxAlone is how many clients are told one by one whatever they did; of more,
// only those that a finding, a cited line or a fault concerns, and the first few.
const (
	maxAlone   = 8
	firstAlone = 2
)

func newCast(h *history.History, shown []checker.Finding, full bool) *cast {
	c := &cast{h: h, byID: map[int]*op{}, cited: map[int]bool{}, told: map[int]bool{},
		died: map[string]bool{}, alone: map[string]bool{}, keys: map[string]bool{}, turns: map[string][]turn{}}
	for _, f := range shown {
		for _, l := range f.Lines {
			c.cited[l] = true
		}
	}
	c.full = full
	c.nodes = len(h.Header.Topology.Nodes)
	c.pair()
	c.choose(shown)
	c.heard = c.sentinels()
	return c
}

// pair ties the records of every operation together, then acquires to releases
// by owner, as nested grants of one owner demand: the last one first.
func (c *cast) pair() {
	type holder struct{ who, owner string }
	leases := map[holder][]*op{}
	writes := map[string]*op{} // the open write or change of each client
	for i, r := range c.h.Records {
		if r.Key != "" {
			c.keys[r.Key] = true
		}
		switch o := c.byID[r.ID]; {
		case r.Kind == history.Invoke:
			o = &op{begin: r, lines: []int{history.Line(i)}}
			c.byID[r.ID] = o
			if r.Op == history.Write || r.Op == history.Change {
				writes[r.Who] = o
				c.lockless = r.Op == history.Change
			}
			if stack := leases[holder{r.Who, r.Owner}]; r.Op == history.Release && len(stack) > 0 {
				o.granted = stack[len(stack)-1]
				o.granted.released = o
				leases[holder{r.Who, r.Owner}] = stack[:len(stack)-1]
			}
		case r.Ends() && o != nil:
			o.end, o.ended = r, true
			o.lines = append(o.lines, history.Line(i))
			stack := leases[holder{r.Who, r.Owner}]
			switch {
			case r.Op == history.Acquire && r.Kind == history.OK:
				o.until = r.Until
				leases[holder{r.Who, r.Owner}] = append(stack, o)
			case r.Op == history.Extend && r.Kind == history.OK && r.Until > 0 && len(stack) > 0:
				stack[len(stack)-1].until = r.Until
			case r.Op == history.Write || r.Op == history.Change:
				delete(writes, r.Who)
			}
		case r.Op == history.Role:
			c.turns[r.Who] = append(c.turns[r.Who], turn{i, r.Text})
		case r.Op == history.Renewed && r.TTL > 0:
			stack := leases[holder{r.Holder, r.Owner}]
			if n := len(stack); n > 0 && stack[n-1].until > 0 {
				stack[n-1].until = max(stack[n-1].until, r.T+r.TTL)
			}
		case r.Op == history.Apply:
			if w := writes[r.Client]; w != nil && w.applies(r) {
				w.over = r.Was
				if w.begin.Op == history.Change {
					w.became = r.Value
				}
				w.lines = append(w.lines, history.Line(i))
				c.told[history.Line(i)] = true
			}
		}
	}
}

// applies reports whether the store's record r is of this write or change; of a
// change, the first one is.
func (o *op) applies(r history.Record) bool {
	if o.begin.Op == history.Change {
		return o.became == nil
	}
	return same(o.begin.Value, r.Value)
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// choose decides which clients are told one by one.
func (c *cast) choose(shown []checker.Finding) {
	clients := c.h.Header.Workload.Clients
	c.alone[history.Probe] = true
	for i, name := range clients {
		if i < firstAlone || len(clients) <= maxAlone || c.full {
			c.alone[name] = true
		}
	}
	for _, f := range shown {
		for _, who := range f.Who {
			c.alone[who] = true
		}
	}
	for i, r := range c.h.Records {
		if c.cited[history.Line(i)] {
			c.alone[r.Who] = true
		}
		if r.Kind == history.Fault {
			for _, word := range strings.FieldsFunc(r.Target, func(r rune) bool { return strings.ContainsRune(" ,–→←", r) }) {
				c.alone[word] = true
			}
			c.alone[r.Client] = true
			for _, mate := range c.struckWith(r) {
				c.alone[mate] = true
				c.died[mate] = c.died[mate] || r.Op == "crash"
			}
			if r.Op == "crash" {
				c.died[r.Target] = true
			}
		}
	}
	for _, name := range clients {
		if !c.alone[name] {
			c.others++
		}
	}
}

// struckWith returns the other threads of a process that a fault of one of them
// strikes.
func (c *cast) struckWith(r history.Record) []string {
	if !r.StrikesProcess() {
		return nil
	}
	name, _, _ := strings.Cut(r.Target, " ")
	return slices.DeleteFunc(slices.Clone(c.h.Header.Workload.Process(name)), func(mate string) bool { return mate == name })
}

// crowd reports whether who is a client that is not told alone.
func (c *cast) crowd(who string) bool {
	return who != "" && !c.alone[who] && slices.Contains(c.h.Header.Workload.Clients, who)
}

func (c *cast) isCited(lines []int) bool {
	return slices.ContainsFunc(lines, func(l int) bool { return c.cited[l] })
}

// brief is how long an operation may take and still be told in one line: a
// hundredth of the lease, at least 100 ms of the scenario's time.
func (c *cast) brief() time.Duration {
	scale := c.h.Header.TimeScale
	if scale <= 0 {
		scale = 1
	}
	return max(c.h.Header.Lock.TTL/100, time.Duration(float64(100*time.Millisecond)*scale))
}
