package scenarios

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// scenarioFields are the fields of a file, in the order in which they are read:
// steps name clients and nodes, and expectations name checks.
var scenarioFields = []field[Scenario]{
	{name: "name", required: true, read: readName},
	{name: "title", required: true, read: func(r *reader, n *yaml.Node, s *Scenario) {
		mapping(r, n, "title", textFields, &s.Title)
	}},
	{name: "lesson", required: true, read: func(r *reader, n *yaml.Node, s *Scenario) {
		mapping(r, n, "lesson", textFields, &s.Lesson)
	}},
	{name: "documents", required: true, read: readDocuments},
	{name: "topology", required: true, read: readTopology},
	{name: "lock", required: true, read: func(r *reader, n *yaml.Node, s *Scenario) {
		mapping(r, n, "lock", lockFields, &s.Lock)
	}},
	{name: "workload", required: true, read: readWorkload},
	{name: "needs", read: readNeeds},
	{name: "bounds", read: func(r *reader, n *yaml.Node, s *Scenario) {
		mapping(r, n, "bounds", boundsFields, &s.Bounds)
	}},
	{name: "steps", read: readSteps},
	{name: "checks", required: true, read: readChecks},
	{name: "expect", required: true, read: readExpect},
}

var textFields = []field[Text]{
	textField("en", func(t *Text) *string { return &t.EN }),
	textField("zh", func(t *Text) *string { return &t.ZH }),
}

var sourceFields = []field[Source]{
	textField("file", func(s *Source) *string { return &s.File }),
	textField("section", func(s *Source) *string { return &s.Section }),
}

var topologyFields = []field[Topology]{
	choiceField("redis", required, []string{"single"}, func(t *Topology) *string { return &t.Redis }),
	{name: "quorum", read: readQuorum},
}

var lockFields = []field[Lock]{
	textField("key", func(l *Lock) *string { return &l.Key }),
	durationField("ttl", required, leaseTime, func(l *Lock) *time.Duration { return &l.TTL }),
	durationField("renewing-ttl", optional, leaseTime, func(l *Lock) *time.Duration { return &l.RenewingTTL }),
	durationField("wait", required, anyTime, func(l *Lock) *time.Duration { return &l.Wait }),
}

var boundsFields = []field[Bounds]{
	durationField("availability", optional, someTime, func(b *Bounds) *time.Duration { return &b.Availability }),
	numberField("commands-per-acquire", func(b *Bounds) *float64 { return &b.CommandsPerAcquire }),
	numberField("renewals-per-ttl", func(b *Bounds) *float64 { return &b.RenewalsPerTTL }),
}

// scenario reads the whole file.
func (r *reader) scenario(root *yaml.Node, s *Scenario) {
	mapping(r, root, "the scenario", scenarioFields, s)
}

func readName(r *reader, n *yaml.Node, s *Scenario) {
	name, ok := r.name(n, "name")
	if ok && r.called != "" && name != r.called {
		r.wrong(n, "name is %s; expected %s, as the file is called", quote(name), quote(r.called))
	}
	s.Name = name
}

func readDocuments(r *reader, n *yaml.Node, s *Scenario) {
	items, _ := r.list(n, "documents", "of {file, section}, or [] when the scenario goes beyond the documents")
	for _, item := range items {
		var source Source
		mapping(r, item, "a document", sourceFields, &source)
		s.Documents = append(s.Documents, source)
	}
}

// defaultQuorum is the number of nodes that the Redlock page takes.
const (
	defaultQuorum = 5
	maxQuorum     = 9
)

// readTopology leaves Quorum 0 when it cannot tell, and then no node's number is
// checked.
func readTopology(r *reader, n *yaml.Node, s *Scenario) {
	given := mapping(r, n, "topology", topologyFields, &s.Topology)
	if given != nil && given["quorum"] == nil {
		s.Topology.Quorum = defaultQuorum
	}
}

func readQuorum(r *reader, n *yaml.Node, t *Topology) {
	v, ok := r.integer(n, "quorum", 1, maxQuorum)
	switch {
	case !ok:
	case v%2 == 0:
		r.wrong(n, "quorum is %d; expected an odd number of nodes, since one more gives no larger minority", v)
	default:
		t.Quorum = int(v)
	}
}
