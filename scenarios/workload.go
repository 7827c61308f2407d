package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
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
	countField("rounds", optional, 1, MaxRounds, func(w *Workload) *int { return &w.Rounds }),
	durationField("stagger", optional, anyTime, func(w *Workload) *time.Duration { return &w.Stagger }),
	durationField("think", optional, anyTime, func(w *Workload) *time.Duration { return &w.Think }),
	{name: "work", required: true, read: readWork},
	{name: "slow-work", read: readSlowWork},
	durationField("extend", optional, someTime, func(w *Workload) *time.Duration { return &w.Extend }),
	{name: "heed", read: func(r *reader, n *yaml.Node, w *Workload) {
		w.Heed, _ = r.flag(n, "heed")
	}},
}

var slowWorkFields = []field[SlowWork]{
	countField("every", required, 1, MaxClients*MaxRounds, func(s *SlowWork) *int { return &s.Every }),
	durationField("work", required, anyTime, func(s *SlowWork) *time.Duration { return &s.Work }),
}

// readWorkload leaves Clients 0 when it cannot tell, and then no client's number
// is checked.
func readWorkload(r *reader, n *yaml.Node, s *Scenario) {
	s.Workload.Rounds = 1
	mapping(r, n, "workload", workloadFields, &s.Workload)
}

// others is the name for the clients that have no line of their own in work.
const others = "others"

// readWork reads one duration for all clients, or one for each.
func readWork(r *reader, n *yaml.Node, w *Workload) {
	if n.Kind != yaml.MappingNode {
		w.Work, _ = r.duration(n, "work", anyTime)
		return
	}
	pairs, ok := r.pairs(n, "work", "")
	if !ok {
		return
	}
	w.WorkOf = map[string]time.Duration{}
	complete := false
	for _, p := range pairs {
		d, _ := r.duration(p.value, "work", anyTime)
		if p.key.Value == others {
			w.Work, complete = d, true
		} else if name, ok := r.client(p.key, p.key.Value, w.Clients, others); ok {
			w.WorkOf[name] = d
		}
	}
	if !complete && w.Clients > len(w.WorkOf) {
		r.wrong(n, "work does not say how long every client works; expected others: to stand for the rest")
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

var (
	clientText = regexp.MustCompile(`^client-([1-9][0-9]{0,8})$`)
	nodeText   = regexp.MustCompile(`^redis-([1-9][0-9]{0,8})$`)
)

// client reads the name of one of the scenario's clients; 0 of them means that
// their number is unknown. Where the name stands, the words in also would do.
func (r *reader) client(n *yaml.Node, word string, clients int, also ...string) (string, bool) {
	m := clientText.FindStringSubmatch(word)
	switch {
	case m != nil && (clients == 0 || number(m[1]) <= clients):
		return word, true
	case m != nil:
		r.wrong(n, "client %s does not exist; the workload has %s", quote(word), oneTo(ClientName, clients))
	case word == Store || nodeText.MatchString(word):
		r.wrong(n, "%s is a node; expected a client, such as client-1", quote(word))
	default:
		candidates := also
		for i := 1; i <= min(max(clients, 1), 9); i++ {
			candidates = append(candidates, ClientName(i))
		}
		r.wrong(n, "%s is no client; %s", quote(word), meant(word, candidates))
	}
	return "", false
}

// node reads the name of one of the topology's nodes, "" when it is none; a quorum
// of 0 means that their number is unknown.
func (r *reader) node(n *yaml.Node, word string, quorum int) string {
	m := nodeText.FindStringSubmatch(word)
	switch {
	case word == Store, m != nil && (quorum == 0 || number(m[1]) <= quorum):
		return word
	case m != nil:
		r.wrong(n, "node %s does not exist; the topology has %s and %s", quote(word), oneTo(NodeName, quorum), Store)
	case clientText.MatchString(word):
		r.wrong(n, "%s is a client; expected a node, such as redis-1", quote(word))
	default:
		candidates := []string{Store}
		for i := 1; i <= max(quorum, 1); i++ {
			candidates = append(candidates, NodeName(i))
		}
		r.wrong(n, "%s is no node; %s", quote(word), meant(word, candidates))
	}
	return ""
}

// number is the value of digits that a pattern has let through.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// oneTo writes the names from 1 to n.
func oneTo(name func(int) string, n int) string {
	if n == 1 {
		return name(1) + " alone"
	}
	return fmt.Sprintf("%s to %s", name(1), name(n))
}
