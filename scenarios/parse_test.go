package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockpick/faults"
)

func TestParseReadsEveryField(t *testing.T) {
	got, err := Load(base, known)
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name:      "every-field",
		File:      base,
		Title:     Text{EN: "Every field", ZH: "所有字段"},
		Lesson:    Text{EN: "Read it beside the README.", ZH: "请与 README 对照阅读。"},
		Documents: []Source{{"000_b342c447b9411623.txt", "四"}},
		Topology: Topology{Redis: Sentinel, Quorum: 3,
			Replicas: 2, DownAfter: 4 * time.Second, MinReplicas: 1, MaxLag: 8 * time.Second},
		Lock: Lock{Key: "order:123", Count: 1, Also: []string{"order:124"},
			TTL: 30 * time.Second, RenewingTTL: 10 * time.Second, Wait: time.Minute, Retries: 3},
		Workload: Workload{
			Resource: "stock", Initial: 200, Clients: 3, Threads: 1, Rounds: 2, Stagger: time.Second, Work: 5 * time.Second,
			SlowWork: SlowWork{Every: 4, Work: 3 * time.Second},
			WorkOf:   map[string]time.Duration{"client-1": 35 * time.Second},
			Extend:   2 * time.Second,
			Heed:     true,
			Nest:     2, Releases: 1, Readers: []string{"client-3"}, Fences: Ignored,
		},
		Needs:      map[string][]string{"renew": {"blind", "owned"}, "quorum": {"false"}},
		Variants:   []string{"redlock-no-elapsed"},
		Strategies: true,
		Bounds:     Bounds{Availability: 31 * time.Second, CommandsPerAcquire: 20, RenewalsPerTTL: 4.5, Overtakes: 3, Throughput: 0.5},
		Steps:      everyStep(),
		Checks:     []string{"mutual-exclusion", "no-lost-update", "ownership"},
		Expect: map[string]Expectation{
			"mutual-exclusion": {Violated: []string{"setnx-ex"}},
			"no-lost-update":   {Violated: []string{"setnx-ex", "lua-release"}, Holds: []string{"watchdog"}},
			"ownership":        {Violated: []string{"setnx-del"}, Others: Holds},
		},
		lockless: []string{"conditional-update"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
	}
}

// everyStep is what the file's steps are read as.
func everyStep() []faults.Step {
	link := func(node string) faults.Link { return faults.Link{Client: "client-1", Node: node} }
	peers := func(peer, node string) faults.Link { return faults.Link{Peer: peer, Node: node} }
	at := func(seconds int) faults.Trigger { return faults.Trigger{At: time.Duration(seconds) * time.Second} }
	return []faults.Step{
		{Fault: faults.Pause{Client: "client-1"}, For: 40 * time.Second,
			When: faults.Trigger{Client: "client-1", Event: faults.Acquired, After: time.Second}},
		{Fault: faults.Crash{Client: "client-2"},
			When: faults.Trigger{Client: "client-2", Wire: &faults.Wire{Command: 2, Point: faults.BeforeSend}}},
		{Fault: faults.Drop{What: faults.Reply},
			When: faults.Trigger{Client: "client-1", Nth: 2, Wire: &faults.Wire{
				Names: []string{"DEL", "EVAL", "EVALSHA"}, During: faults.InRelease, Point: faults.Applied}}},
		{Fault: faults.Drop{What: faults.Request},
			When: faults.Trigger{Client: "client-3", Nth: 2, Wire: &faults.Wire{
				Command: 1, During: faults.InHold, Point: faults.BeforeSend}}},
		{Fault: faults.Cut{Link: link("redis-1"), Direction: faults.ToNode},
			For: 5 * time.Second, When: faults.Trigger{At: 10 * time.Second}},
		{Fault: faults.Hold{Link: link("store"), Direction: faults.ToClient}, For: 6 * time.Second},
		{Fault: faults.Slow{Link: link("redis-2"), Direction: faults.Both, By: 500 * time.Millisecond},
			When: faults.Trigger{At: time.Second}},
		{Fault: faults.Reset{Link: link("redis-3")}, When: faults.Trigger{At: 2 * time.Second}},
		{Fault: faults.Clock{Node: "redis-1", Jump: -time.Hour}, When: faults.Trigger{At: 5 * time.Second}},
		{Fault: faults.Stop{Node: "redis-1", Lose: faults.Everything}, For: 20 * time.Second,
			When: faults.Trigger{At: 11 * time.Second}},
		{Fault: faults.Evict{Node: "redis-2", Key: "order:123"}, When: at(12)},
		{Fault: faults.Cut{Link: peers("redis-1", "redis-2"), Direction: faults.Both}, When: at(13)},
		{Fault: faults.Slow{Link: peers("sentinel-1", "redis-1"), Direction: faults.Both, By: time.Second},
			For: 2 * time.Second, When: at(13)},
		{Fault: faults.Pause{Node: "redis-3"}, For: 3 * time.Second, When: at(14)},
		{Fault: faults.Pause{Node: "sentinel-1"}, When: at(14)},
		{Fault: faults.Clock{Client: "client-1", Jump: time.Minute}, When: at(15)},
		{Fault: faults.Stop{Node: "redis-3", Lose: 2 * time.Second}, When: at(16)},
		{Fault: faults.Stop{Node: "sentinel-2"}, When: at(17)},
		{Fault: faults.Evict{Node: "redis-1", Key: "order:124"}, When: at(18)},
		{Fault: faults.Partition{Side: []faults.Use{
			{Name: "client-1", Kind: faults.Client}, {Name: "redis-1", Kind: faults.Node}, {Name: "sentinel-1", Kind: faults.Node},
		}}, For: 20 * time.Second, When: at(19)},
		{Fault: faults.Drift{Node: "redis-1", Rate: 1.5}, For: time.Minute, When: at(20)},
		{Fault: faults.Refuse{Node: "redis-1", With: faults.Busy, Commands: []string{"EVALSHA", "SET"}},
			For: 6 * time.Second, When: at(21)},
		{Fault: faults.Refuse{Node: "redis-2", With: faults.ClusterDown}, When: at(22)},
		{Fault: faults.ForgetScripts{Node: "redis-2"}, When: at(23)},
		{Fault: faults.Cancel{Client: "client-1"}, When: faults.Trigger{Client: "client-1", Event: faults.Reading}},
	}
}

func TestParseDefaults(t *testing.T) {
	s, err := Load("testdata/valid/least.yaml", known)
	if err != nil {
		t.Fatal(err)
	}
	want := Workload{Resource: "register", Clients: 1, Threads: 1, Rounds: 1, Nest: 1, Releases: 1, Fences: Checked}
	if s.Topology != (Topology{Redis: Single, Quorum: 5}) || !reflect.DeepEqual(s.Workload, want) || s.Needs != nil {
		t.Errorf("defaults are %+v", s)
	}
}

func TestParseDefaultsThatDependOnOthers(t *testing.T) {
	text := strings.NewReplacer("redis: single", "redis: sentinel", "clients: 1", "clients: 1, nest: 3").
		Replace(read(t, "testdata/valid/least.yaml"))
	s, err := Parse("f", []byte(text), known)
	if err != nil {
		t.Fatal(err)
	}
	want := Topology{Redis: Sentinel, Quorum: 5, Replicas: 2, DownAfter: 5 * time.Second, MaxLag: 10 * time.Second}
	if s.Topology != want {
		t.Errorf("the topology is %+v, want %+v", s.Topology, want)
	}
	if s.Workload.Releases != 3 {
		t.Errorf("%d releases of 3 acquires, want as many", s.Workload.Releases)
	}
}

// TestParseReadsTheRest reads the workload of the file that has what the first has
// not.
func TestParseReadsTheRest(t *testing.T) {
	s, err := Load("testdata/valid/several-locks.yaml", known)
	if err != nil {
		t.Fatal(err)
	}
	want := Workload{
		Resource: "register", Clients: 6, Threads: 2, Rounds: 1, Work: 5 * time.Second, Nest: 1, Releases: 1,
		Keep: []string{"client-2", "client-5"}, Fences: Checked,
	}
	if !reflect.DeepEqual(s.Workload, want) {
		t.Errorf("the workload is\n%+v, want\n%+v", s.Workload, want)
	}
	for wrong, said := range map[string]string{
		"[client-7]":           `client "client-7" does not exist`,
		"[client-2, client-2]": `client "client-2" is listed twice`,
		"client-2":             "expected a list of clients",
	} {
		text := strings.Replace(read(t, "testdata/valid/several-locks.yaml"), "[client-2, client-5]", wrong, 1)
		if _, err := Parse("f", []byte(text), known); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("keep: %s: the error is %v, want %q", wrong, err, said)
		}
	}
}

// TestNodesOfATopology names the last node of each kind, and the one after it.
func TestNodesOfATopology(t *testing.T) {
	tests := []struct{ topology, last, none string }{
		{"redis: single", "redis-5", "redis-6"},
		{"redis: single, quorum: 3", "redis-3", "redis-4"},
		{"redis: single", "redis-1", "sentinel-1"},
		{"redis: sentinel, quorum: 1", "redis-3", "redis-4"},
		{"redis: sentinel, quorum: 1, replicas: 4", "redis-5", "redis-6"},
		{"redis: sentinel, quorum: 7, replicas: 4", "redis-7", "redis-8"},
		{"redis: sentinel", "sentinel-3", "sentinel-4"},
	}
	least := read(t, "testdata/valid/least.yaml")
	for _, tt := range tests {
		for node, want := range map[string]bool{tt.last: true, tt.none: false} {
			text := strings.Replace(least, "redis: single", tt.topology, 1) + "steps: [{stop: " + node + ", at: 1s}]\n"
			if _, err := Parse("f", []byte(text), known); (err == nil) != want {
				t.Errorf("{%s}: a stop of %s: %v", tt.topology, node, err)
			}
		}
	}
}

// TestParseWithoutKnown reads a file of somebody's own lock and checks.
func TestParseWithoutKnown(t *testing.T) {
	text := strings.NewReplacer("lua-release", "our-lock", "mutual-exclusion", "our-check").
		Replace(read(t, "testdata/valid/least.yaml")) + "needs: {colour: [red]}\n"
	if _, err := Parse("x.yaml", []byte(text), Known{}); err != nil {
		t.Error(err)
	}
	if _, err := Parse("x.yaml", []byte(text), known); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error is %v, want three problems", err)
	}
}

func TestParseRefusesWhatIsNoText(t *testing.T) {
	least := read(t, "testdata/valid/least.yaml")
	tests := []struct {
		name, text, want string
	}{
		{"an empty file", "", "f:1:1: the file is empty; expected a scenario, which starts with name:"},
		{"an empty document", "---\n", "f:2:1: the scenario is empty; expected the fields name,"},
		{"text alone", "hello", `f:1:1: the scenario is "hello"; expected the fields name,`},
		{"Latin-1", "name: caf\xe9\n", "f:1:10: the byte 0xe9 is not UTF-8; expected a text file in UTF-8"},
		{"UTF-16", "\xff\xfen\x00", "f:1:1: the byte 0xff is not UTF-8; expected a text file in UTF-8"},
		{"a NUL", "name: x\nti\x00tle: y\n", "f:2:3: the character U+0000 cannot stand in a scenario"},
		{"a byte order mark in the middle", "name: \ufeffx\n", "f:1:7: the character U+FEFF cannot"},
		{"a line that only YAML ends", "name: x\u2028y\n", "f:1:8: the character U+2028 cannot"},
		{"a huge file", least + strings.Repeat("#", MaxFile), "f:1:1: the file is larger than 256 KiB; expected one scenario"},
		{"a broken second document", least + "---\na: [\n", "f:11:1: this is not YAML: did not find expected node content"},
		{"lists in lists", strings.Repeat("[", 20_000), "f:1:1: this is not YAML: exceeded max depth of 10000"},
		{"deep lists where a text was expected", "name: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "\nf:1:7: name is a list; expected text"},
		{"a wide line", "name: " + strings.Repeat("x", 200_000), `f:1:7: name is "` + strings.Repeat("x", 60) + `…"; expected`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tt.text), known)
			checkErrors(t, err)
			if got := "\n" + err.Error(); !strings.Contains(got, tt.want) {
				t.Errorf("error is:\n%.500s\nwant it to contain:\n%s", got, tt.want)
			}
		})
	}
}

func TestParseTakesAByteOrderMarkAndCRLF(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll(read(t, base), "\n", "\r\n")
	if _, err := Parse("f", []byte(text), known); err != nil {
		t.Error(err)
	}
}

func TestParseBoundsItsComplaints(t *testing.T) {
	tests := []struct{ name, text string }{
		{"thousands of unknown fields", manyLines("field-%d: x\n")},
		{"thousands of duplicate fields", manyLines("name: x # %d\n")},
		{"thousands of steps that are none", "steps:\n" + manyLines("- %d\n")},
		{"thousands of unknown versions", "checks: [ownership]\nexpect:\n ownership:\n  holds:\n" + manyLines("  - v-%d\n")},
		{"thousands of aliases", "a: &a x\nb:\n" + manyLines("- *a # %d\n")},
		{"thousands of lines that start with tabs", "a: [\n" + manyLines("\t%d: x\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tt.text), known)
			checkErrors(t, err)
			var problems Errors
			errors.As(err, &problems)
			if n := len(problems); n < maxProblems || n > maxProblems+1 {
				t.Errorf("%d problems, want %d and the remark that there are more", n, maxProblems)
			}
		})
	}
}

func manyLines(format string) string {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestLoadOfNoFile(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), known); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want that there is no such file", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.yaml", "catalog/*.yaml"} {
		for _, file := range glob(f, pattern) {
			f.Add([]byte(read(f, file)))
		}
	}
	schema := compileSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f", data, known)
		if err != nil {
			checkErrors(t, err)
			return
		}
		checkAccepted(t, s)
		if value, err := jsonValue(data); err != nil || schema.Validate(value) != nil {
			t.Errorf("the schema refuses what the loader takes: %v, %v", err, schema.Validate(value))
		}
	})
}

// checkAccepted checks what every scenario promises to those who run it.
func checkAccepted(t *testing.T, s *Scenario) {
	t.Helper()
	if !nameText.MatchString(s.Name) || s.Lock.TTL < time.Millisecond || s.Lock.Wait < 0 || s.Lock.Key == "" {
		t.Errorf("bad name or lock: %q %+v", s.Name, s.Lock)
	}
	clients, nodes := map[string]bool{}, map[string]bool{Store: true}
	for _, c := range s.Clients() {
		clients[c] = true
	}
	for i := range max(s.Topology.Quorum, 1+s.Topology.Replicas) {
		nodes[NodeName(i+1)] = true
	}
	if s.Topology.Redis == Sentinel {
		for i := range Sentinels {
			nodes[SentinelName(i+1)] = true
		}
	}
	if len(clients) == 0 || len(clients) > MaxClients || s.Topology.Quorum%2 != 1 || s.Workload.Rounds < 1 {
		t.Errorf("bad topology or workload: %+v %+v", s.Topology, s.Workload)
	}
	for c := range s.Workload.WorkOf {
		if !clients[c] {
			t.Errorf("work of %q", c)
		}
	}
	if s.Workload.Nest < 1 || s.Workload.Releases < 1 || s.Workload.Releases > s.Workload.Nest || s.Workload.Fences == "" {
		t.Errorf("bad sections: %+v", s.Workload)
	}
	if top := s.Topology; (top.Redis == Sentinel) != (top.Replicas > 0 && top.DownAfter > 0 && top.MaxLag > 0) || top.MinReplicas > top.Replicas {
		t.Errorf("bad replicas: %+v", top)
	}
	for _, c := range s.Workload.Readers {
		if !clients[c] {
			t.Errorf("the reader %q", c)
		}
	}
	for _, step := range s.Steps {
		if len(step.Fault.Uses()) == 0 && step.Fault.Name() != "drop" {
			t.Errorf("%s strikes nobody", step)
		}
		for _, use := range step.Fault.Uses() {
			if use.Kind == faults.Client && !clients[use.Name] || use.Kind == faults.Node && !nodes[use.Name] {
				t.Errorf("%s names %q", step, use.Name)
			}
		}
		w := step.When
		if w.Client != "" && !clients[w.Client] || w.At < 0 || w.After < 0 || step.For < 0 {
			t.Errorf("bad trigger: %s", step)
		}
		if w.Client != "" && (w.Wire == nil) == (w.Event == "") {
			t.Errorf("the trigger is not one thing: %s", step)
		}
	}
	if len(s.Checks) == 0 || len(s.Checks) != len(s.Expect) {
		t.Errorf("%d checks, %d expectations", len(s.Checks), len(s.Expect))
	}
}
