package scenarios

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// resources are what a lock can protect.
var resources = []string{"register", "counter", "stock"}

// maxInitial keeps every sum of changes far from overflow.
const maxInitial = 1_000_000_000

var workloadFields = []field[Workload]{
	choiceField("resource", required, resources, func(w *Workload) *string { return &w.Resource }),
	{name: "initial", read: func(r *reader, n *yaml.Node, w *Workload) {
		w.Initial, _ = r.integer(n, "initial", 0, maxInitial)
	}},
	countField("clients", required, 1, MaxClients, func(w *Workload) *int { return &w.Clients }),
	{name: "threads", read: readThreads},
	{name: "rounds", read: readRounds},
	durationField("stagger", optional, anyTime, func(w *Workload) *time.Duration { return &w.Stagger }),
	durationField("think", optional, anyTime, func(w *Workload) *time.Duration { return &w.Think }),
	{name: "work", required: true, read: readWork},
	{name: "slow-work", read: readSlowWork},
	durationField("extend", optional, someTime, func(w *Workload) *time.Duration { return &w.Extend }),
	{name: "heed", read: func(r *reader, n *yaml.Node, w *Workload) {
		w.Heed, _ = r.flag(n, "heed")
	}},
	countField("nest", optional, 1, MaxNest, func(w *Workload) *int { return &w.Nest }),
	{name: "releases", read: readReleases},
	{name: "keep", read: func(r *reader, n *yaml.Node, w *Workload) {
		w.Keep = readClients(r, n, "keep", "one that keeps the lock", w)
	}},
	{name: "readers", read: func(r *reader, n *yaml.Node, w *Workload) {
		w.Readers = readClients(r, n, "readers", "a reader", w)
	}},
	choiceField("fences", optional, []string{Checked, Ignored}, func(w *Workload) *string { return &w.Fences }),
}

var slowWorkFields = []field[SlowWork]{
	countField("every", required, 1, MaxClients*MaxRounds, func(s *SlowWork) *int { return &s.Every }),
	durationField("work", required, anyTime, func(s *SlowWork) *time.Duration { return &s.Work }),
}

// readWorkload leaves Clients 0 when it cannot tell, and then no client's number
// is checked.
func readWorkload(r *reader, n *yaml.Node, s *Scenario) {
	s.Workload.Threads, s.Workload.Rounds, s.Workload.Nest, s.Workload.Fences = 1, 1, 1, Checked
	given := mapping(r, n, "workload", workloadFields, &s.Workload)
	if given["releases"] == nil {
		s.Workload.Releases = s.Workload.Nest
	}
	if clients := s.Workload.Clients; clients > 0 && clients < s.Lock.Count {
		r.wrong(given["clients"], "clients is %d and there are %d locks, so some would be nobody's; expected at least %d",
			clients, s.Lock.Count, s.Lock.Count)
	}
}

// readThreads takes what fills every process.
func readThreads(r *reader, n *yaml.Node, w *Workload) {
	most := w.Clients
	if most == 0 { // it could not be read
		most = MaxClients
	}
	v, ok := r.integer(n, "threads", 1, int64(most))
	switch {
	case !ok:
	case w.Clients%int(v) != 0:
		r.wrong(n, "threads is %d and there are %d clients, so one process would have fewer; expected a divisor of %d", v, w.Clients, w.Clients)
	default:
		w.Threads = int(v)
	}
}

func readReleases(r *reader, n *yaml.Node, w *Workload) {
	most := w.Nest
	if most == 0 { // it could not be read
		most = MaxNest
	}
	v, _ := r.integer(n, "releases", 1, int64(most))
	w.Releases = int(v)
}

// readClients reads a list of some of the clients; each is called one.
func readClients(r *reader, n *yaml.Node, what, one string, w *Workload) (clients []string) {
	items, _ := r.list(n, what, "of clients, such as [client-2]")
	for _, item := range items {
		name, ok := r.text(item, one)
		if ok {
			name, ok = r.client(item, name, w.Clients)
		}
		switch {
		case !ok:
		case slices.Contains(clients, name):
			r.wrong(item, "client %s is listed twice; expected it once", quote(name))
		default:
			clients = append(clients, name)
		}
	}
	return clients
}

// others is the name for the clients that have no line of their own.
const others = "others"

// each reads one value for all clients, or one for each of them, of which rest is
// that of the others.
func each[T any](r *reader, n *yaml.Node, what string, w *Workload, read func(*yaml.Node) T) (rest T, of map[string]T) {
	if n.Kind != yaml.MappingNode {
		return read(n), nil
	}
	pairs, ok := r.pairs(n, what, "")
	if !ok {
		return rest, nil
	}
	of = map[string]T{}
	complete := false
	for _, p := range pairs {
		v := read(p.value)
		if p.key.Value == others {
			rest, complete = v, true
		} else if name, ok := r.client(p.key, p.key.Value, w.Clients, others); ok {
			of[name] = v
		}
	}
	if !complete && w.Clients > len(of) {
		r.wrong(n, "%s is not said of every client; expected others: to stand for the rest", what)
	}
	return rest, of
}

func readWork(r *reader, n *yaml.Node, w *Workload) {
	w.Work, w.WorkOf = each(r, n, "work", w, func(n *yaml.Node) time.Duration {
		d, _ := r.duration(n, "work", anyTime)
		return d
	})
}

func readRounds(r *reader, n *yaml.Node, w *Workload) {
	rest, of := each(r, n, "rounds", w, func(n *yaml.Node) int {
		v, _ := r.integer(n, "rounds", 1, MaxRounds)
		return int(v)
	})
	w.Rounds, w.RoundsOf = rest, of
	for _, rounds := range of {
		w.Rounds = max(w.Rounds, rounds)
	}
	for i := range w.Clients {
		if _, ok := of[ClientName(i+1)]; of != nil && !ok {
			of[ClientName(i+1)] = rest
		}
	}
}

func readSlowWork(r *reader, n *yaml.Node, w *Workload) {
	given := mapping(r, n, "slow-work", slowWorkFields, &w.SlowWork)
	sections := w.Clients * w.Rounds
	if sections > 0 && w.SlowWork.Every > sections {
		r.wrong(given["every"], "every is %d and the run has %d sections, so none would be slow; expected 1 to %d",
			w.SlowWork.Every, sections, sections)
	}
}
