package checker

import (
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// index is a history arranged for the checks: who did what when, what went
// wrong meanwhile, and which leases came of it. It is built in one pass and
// never panics on a history that Decode accepts; what makes no sense in it is
// left out, which can hide a violation but not invent one.
//
// The keys' lives, which most checks need only to explain what they found, are
// built on demand; see keylife.go.
type index struct {
	h      *history.History
	number int           // of the lock whose part of a history this is, from 1; 0 for a whole history
	end    time.Duration // of the last record
	quiet  time.Duration // when all clients had stopped; forever when they never did

	clients map[string]*client
	ops     []op    // in the order in which they began
	leases  []lease // in the order in which they were granted
	holds   []hold  // in the order in which they began
	faults  []fault // in the order in which they struck

	nodes    map[string]bool   // of the lock
	turns    map[string][]turn // by node, in order; see role.go
	nested   map[int][]int     // by a lease's acquire: those of the same owner inside of it that succeeded
	observed bool              // some lock node told what it did
	space    *keyspace         // built by keys
	rounds   map[section][]int // built by leasesIn
	listed   bool              // the clients have their ops
	longer   map[string]bool   // by key: it stands for the lock, whose plain name no node had; built by lock
	names    map[string]naming // of the owners that clients named; built by naming
	unseen   *string           // why the nodes' record shows nobody's lease; found by blind
	valued   map[own][]int     // the leases of a client's value, in order; built by leasesOf
	tidying  *tidying          // built by clearings
	said     map[string][]int  // the commands by what they say; built by alike
	ordered  bool              // the nodes have roles that count
	trouble  *troubles         // built by troubles

	mates map[string][]string // by client: the threads of its process, itself among them; nil where each has its own
}

// client is one participant, the probe included.
type client struct {
	name      string
	number    int // in order of appearance
	paused    []span
	cancelled []span        // instants at which its section's context was cancelled
	crashed   time.Duration // forever when it never did
	done      time.Duration // when it had finished; forever when it never did
	open      []int         // its leases that were not released
	ops       []int         // in the order in which they began; listed by opsOf
}

func (c *client) probe() bool { return c.name == history.Probe }

// disturbed reports whether the client was paused, dead or called off at some
// time in s.
func (c *client) disturbed(s span) bool {
	meets := func(p span) bool { return p.meets(s) }
	return c.crashed <= s.to || slices.ContainsFunc(c.paused, meets) || slices.ContainsFunc(c.cancelled, meets)
}

// running returns the parts of s in which the client was neither paused nor dead.
func (c *client) running(s span) []span {
	s.to = min(s.to, c.crashed)
	if s.from > s.to {
		return nil
	}
	return subtract(s, c.paused)
}

// op is one operation of a client.
type op struct {
	span                 // to is forever while it is open
	client  *client      //
	name    string       // history.Acquire, …
	outcome history.Kind // "" while it is open
	begin   int          // the record of its Invoke
	end     int          // the record that closed it; -1 while it is open
	lease   int          // that it yielded, extended, released or nests in; -1 when there is none
}

// open reports whether the operation was open at t, its ends included.
func (o *op) open(t time.Duration) bool { return o.covers(t) }

// unsettled reports whether the operation may still take effect, or have taken
// effect, without anybody having been told.
func (o *op) unsettled() bool { return o.outcome == "" || o.outcome == history.Unknown }

// newIndex arranges a history.
func newIndex(h *history.History) *index { return indexed(h, processes(h.Header)) }

// processes lists the threads of every client's process, or nothing where there is
// but one to a process.
func processes(h history.Header) map[string][]string {
	if h.Workload.Threads <= 1 {
		return nil
	}
	mates := map[string][]string{}
	for _, name := range h.Workload.Clients {
		mates[name] = h.Workload.Process(name)
	}
	return mates
}

// process returns the names of the threads of a client's process, or its own.
func (ix *index) process(client string) []string {
	if threads := ix.mates[client]; threads != nil {
		return threads
	}
	return []string{client}
}

// sameProcess reports whether two clients are one process.
func (ix *index) sameProcess(a, b string) bool { return a == b || slices.Contains(ix.mates[a], b) }

// indexed is newIndex for a history whose processes are known.
func indexed(h *history.History, mates map[string][]string) *index {
	ix := &index{
		h:       h,
		mates:   mates,
		quiet:   forever,
		clients: map[string]*client{},
		nodes:   map[string]bool{},
		turns:   map[string][]turn{},
		nested:  map[int][]int{},
		ops:     make([]op, 0, len(h.Records)/2), // room for what a history without nodes has
		leases:  make([]lease, 0, len(h.Records)/4),
		holds:   make([]hold, 0, len(h.Records)/4),
	}
	for _, n := range h.Header.Topology.Nodes {
		ix.nodes[n] = true
	}
	ix.firstRoles()
	for _, name := range h.Header.Workload.Clients {
		ix.client(name)
	}
	open := map[int]int{} // by ID
	for i := range h.Records {
		r := &h.Records[i]
		ix.end = max(ix.end, r.T)
		switch r.Kind {
		case history.Invoke:
			open[r.ID] = len(ix.ops)
			ix.begin(i)
		case history.OK, history.Fail, history.Unknown:
			if o, ok := open[r.ID]; ok {
				delete(open, r.ID)
				ix.finish(o, i)
			}
		case history.Observe:
			ix.observe(i)
		case history.Fault:
			ix.fault(i)
		case history.Note:
			if r.Op == history.Quiet && ix.quiet == forever {
				ix.quiet = r.T
				ix.stopAll(i)
			}
		}
	}
	ix.closeHolds()
	for _, c := range ix.clients {
		c.paused = union(c.paused)
	}
	return ix
}

func (ix *index) rec(i int) *history.Record { return &ix.h.Records[i] }

func (ix *index) client(name string) *client {
	c := ix.clients[name]
	if c == nil {
		c = &client{name: name, number: len(ix.clients), crashed: forever, done: forever}
		ix.clients[name] = c
	}
	return c
}

func (ix *index) begin(i int) {
	r := ix.rec(i)
	c := ix.client(r.Who)
	o := op{span: span{r.T, forever}, client: c, name: r.Op, begin: i, end: -1, lease: -1}
	switch r.Op {
	case history.Acquire:
		if r.Depth > 1 {
			o.lease = ix.leaseOf(c, r)
		}
	case history.Release:
		o.lease = ix.releasing(c, r, i, len(ix.ops))
	case history.Extend:
		o.lease = ix.leaseOf(c, r)
	}
	ix.ops = append(ix.ops, o)
}

func (ix *index) finish(number, i int) {
	r, o := ix.rec(i), &ix.ops[number]
	o.to, o.outcome, o.end = r.T, r.Kind, i
	if r.Kind != history.OK {
		return
	}
	switch o.name {
	case history.Acquire:
		if ix.nests(o) && ix.leases[o.lease].owner == r.Owner {
			ix.nest(o, number, r)
			return
		}
		o.lease = ix.grant(number, r)
	case history.Extend:
		ix.extend(o, number, r)
	}
}

func (ix *index) observe(i int) {
	r := ix.rec(i)
	switch r.Op {
	case history.Lost:
		ix.lose(ix.client(r.Who), r, i)
	case history.Done:
		c := ix.client(r.Who)
		c.done = min(c.done, r.T)
		ix.stop(c, i, endDone)
	case history.Role:
		ix.turn(i)
	case history.Keys, history.Heed, history.Apply, history.Load:
	default:
		ix.observed = ix.observed || ix.nodes[r.Who]
	}
}

// inside reports whether an operation belongs to a section that had the lock
// already.
func (ix *index) inside(o *op) bool { return ix.rec(o.begin).Depth > 1 }

// nests reports whether an operation is an acquire or release inside of a lease,
// which it neither yields nor ends.
func (ix *index) nests(o *op) bool {
	return ix.inside(o) && o.lease >= 0 && !ix.inside(&ix.ops[ix.leases[o.lease].acquire])
}

// opsOf returns the client's operations in the order in which they began.
func (ix *index) opsOf(c *client) []int {
	if !ix.listed {
		ix.listed = true
		for n := range ix.ops {
			o := &ix.ops[n]
			o.client.ops = append(o.client.ops, n)
		}
	}
	return c.ops
}

// stopped is when the clients had stopped: at the quiet, or at the end of the
// history when that came first.
func (ix *index) stopped() time.Duration { return min(ix.quiet, ix.end) }

// tried counts the attempts of the clients, not of the probe, to get the lock.
func (ix *index) tried() int {
	n := 0
	for i := range ix.ops {
		if ix.ops[i].name == history.Acquire && !ix.ops[i].client.probe() {
			n++
		}
	}
	return n
}

// commandAt returns the record of the command that made a node do what record i
// says: of the same client, on the same node, at the same instant. It is -1 when
// the history has none.
func (ix *index) commandAt(i int) int {
	r := ix.rec(i)
	is := func(k int) bool {
		o := ix.rec(k)
		return o.Op == history.Command && o.Kind == history.Observe && o.Who == r.Who && o.Client == r.Client
	}
	for k := i - 1; k >= 0 && ix.rec(k).T == r.T; k-- {
		if is(k) {
			return k
		}
	}
	for k := i + 1; k < len(ix.h.Records) && ix.rec(k).T == r.T; k++ {
		if is(k) {
			return k
		}
	}
	return -1
}

// lock reports whether a key is one that the clients lock. Versions keep other
// keys beside it, such as a counter of fences, which everybody changes. A lock
// that puts something before or after the name that it was given is judged by
// the keys that contain the name.
func (ix *index) lock(key string) bool {
	names := &ix.h.Header.Lock
	if key == "" || names.Key == "" || called(names, key) {
		return true
	}
	if ix.longer == nil {
		ix.longer = ix.longerNames()
	}
	return ix.longer[key]
}

// longerNames returns the keys that stand for the lock where none has its very name: those
// that contain it and no other key that does; of these the ones that show an owner, if
// any does.
func (ix *index) longerNames() map[string]bool {
	names := &ix.h.Header.Lock
	shows := map[string]bool{} // by key
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || !ix.nodes[r.Who] || r.Op != history.Granted && verbs[r.Op] == "" && r.Op != history.Expired {
			continue
		}
		if r.Op == history.Granted && called(names, r.Key) {
			return map[string]bool{}
		}
		if strings.Contains(r.Key, names.Key) || slices.ContainsFunc(names.Also, func(also string) bool { return strings.Contains(r.Key, also) }) {
			shows[r.Key] = shows[r.Key] || ix.isOwner(r.Owner, nil) || len(ix.ownersIn(r.Owner, nil)) > 0
		}
	}
	out, owners := map[string]bool{}, map[string]bool{}
	for key, shown := range shows {
		longer := false
		for other := range shows {
			longer = longer || other != key && strings.Contains(key, other)
		}
		switch {
		case longer:
		case shown:
			owners[key], out[key] = true, true
		default:
			out[key] = true
		}
	}
	if len(owners) > 0 {
		return owners
	}
	return out
}

// called reports whether key is the very name of one of the locks.
func called(l *history.Lock, key string) bool {
	if l.Count > 1 {
		rest, ok := strings.CutPrefix(key, l.Key+":")
		n, rest := numbered(rest, l.Count)
		return ok && n > 0 && rest == ""
	}
	return key == l.Key || slices.Contains(l.Also, key)
}
