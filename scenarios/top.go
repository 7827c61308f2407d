package scenarios

import (
	"slices"
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
	{name: "lock", required: true, read: readLock},
	{name: "workload", required: true, read: readWorkload},
	{name: "needs", read: readNeeds},
	{name: "variants", read: readVariants},
	{name: "bounds", read: func(r *reader, n *yaml.Node, s *Scenario) {
		mapping(r, n, "bounds", boundsFields, &s.Bounds)
	}},
	{name: "steps", read: readSteps},
	{name: "checks", required: true, read: readChecks},
	{name: "strategies", read: readStrategies},
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
	choiceField("redis", required, redises, func(t *Topology) *string { return &t.Redis }),
	{name: "quorum", read: readQuorum},
	sentinelField(countField("replicas", optional, 1, maxReplicas, func(t *Topology) *int { return &t.Replicas })),
	sentinelField(durationField("down-after", optional, someTime, func(t *Topology) *time.Duration { return &t.DownAfter })),
	sentinelField(countField("min-replicas", optional, 0, maxReplicas, func(t *Topology) *int { return &t.MinReplicas })),
	sentinelField(durationField("max-lag", optional, someTime, func(t *Topology) *time.Duration { return &t.MaxLag })),
}

// redises are the ways in which the lock's Redis can be set up.
var redises = []string{Single, Sentinel}

// sentinelField is a field that makes sense with Sentinels alone.
func sentinelField(f field[Topology]) field[Topology] {
	read := f.read
	f.read = func(r *reader, n *yaml.Node, t *Topology) {
		if t.Redis == Single {
			r.wrong(n, "%s is given, and a single Redis has no replicas and no Sentinels; expected redis: sentinel, or no %s", f.name, f.name)
			return
		}
		read(r, n, t)
	}
	return f
}

var lockFields = []field[Lock]{
	textField("key", func(l *Lock) *string { return &l.Key }),
	countField("count", optional, 1, MaxClients, func(l *Lock) *int { return &l.Count }),
	{name: "also", read: readAlso},
	durationField("ttl", required, leaseTime, func(l *Lock) *time.Duration { return &l.TTL }),
	durationField("renewing-ttl", optional, leaseTime, func(l *Lock) *time.Duration { return &l.RenewingTTL }),
	durationField("wait", required, anyTime, func(l *Lock) *time.Duration { return &l.Wait }),
	countField("retries", optional, 0, maxRetries, func(l *Lock) *int { return &l.Retries }),
}

// maxRetries is more than any client library makes unless it is told to.
const maxRetries = 10

var boundsFields = []field[Bounds]{
	durationField("availability", optional, someTime, func(b *Bounds) *time.Duration { return &b.Availability }),
	numberField("commands-per-acquire", func(b *Bounds) *float64 { return &b.CommandsPerAcquire }),
	numberField("renewals-per-ttl", func(b *Bounds) *float64 { return &b.RenewalsPerTTL }),
	countField("connections", optional, 1, maxCount, func(b *Bounds) *int { return &b.Connections }),
	countField("subscriptions", optional, 1, maxCount, func(b *Bounds) *int { return &b.Subscriptions }),
	countField("overtakes", optional, 1, maxCount, func(b *Bounds) *int { return &b.Overtakes }),
	numberField("throughput", func(b *Bounds) *float64 { return &b.Throughput }),
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

// readLock leaves Count 0 when it cannot tell, and then it is held against nothing.
func readLock(r *reader, n *yaml.Node, s *Scenario) {
	s.Lock.Count = 1
	given := mapping(r, n, "lock", lockFields, &s.Lock)
	if count := given["count"]; count != nil && given["also"] != nil {
		r.wrong(count, "count is given, and also makes several keys one lock; expected one of the two")
	}
}

func readAlso(r *reader, n *yaml.Node, l *Lock) {
	items, _ := r.list(n, "also", "of further keys, such as [\"order:124\"]")
	for _, item := range items {
		key, ok := r.text(item, "a key of also")
		switch {
		case !ok:
		case key == l.Key || slices.Contains(l.Also, key):
			r.wrong(item, "key %s is locked twice; expected keys that differ", quote(key))
		default:
			l.Also = append(l.Also, key)
		}
	}
}

// What a topology has unless it says otherwise, and the most that it can have.
const (
	defaultQuorum    = 5 // as on the Redlock page
	maxQuorum        = 9
	defaultReplicas  = 2
	maxReplicas      = 4
	defaultDownAfter = 5 * time.Second
	defaultMaxLag    = 10 * time.Second
)

// readTopology leaves Quorum or Replicas 0 when it cannot tell, and then no
// node's number is checked.
func readTopology(r *reader, n *yaml.Node, s *Scenario) {
	t := &s.Topology
	given := mapping(r, n, "topology", topologyFields, t)
	if given == nil {
		return
	}
	if given["quorum"] == nil {
		t.Quorum = defaultQuorum
	}
	if t.Redis != Sentinel {
		return
	}
	if given["replicas"] == nil {
		t.Replicas = defaultReplicas
	}
	if given["down-after"] == nil {
		t.DownAfter = defaultDownAfter
	}
	if given["max-lag"] == nil {
		t.MaxLag = defaultMaxLag
	}
	if n := given["min-replicas"]; t.Replicas > 0 && t.MinReplicas > t.Replicas {
		r.wrong(n, "min-replicas is %d and there are %d replicas, so the primary would take no write; expected 0 to %d",
			t.MinReplicas, t.Replicas, t.Replicas)
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

// readStrategies takes strategies only where they can be told from one another:
// they change a number, and only whether each change counts can be judged.
func readStrategies(r *reader, n *yaml.Node, s *Scenario) {
	value, ok := r.flag(n, "strategies")
	s.Strategies = value
	if !ok || !value {
		return
	}
	if resource := s.Workload.Resource; resource == "register" {
		r.wrong(n, "strategies change a number by some amount, and the resource is a %s; expected counter or stock", resource)
	}
	if s.Lock.Count > 1 {
		r.wrong(n, "strategies have no lock, and the scenario has %d, with a resource each; expected no count, or no strategies", s.Lock.Count)
	}
	if len(r.checks) > 0 && r.checks[updateCheck] == nil && !r.full {
		r.wrong(n, "strategies have no lock, and no check is of the resource; expected %s among the checks", updateCheck)
	}
}
