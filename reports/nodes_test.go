package reports

import (
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
)

// failover is a run in which redis-2 takes over from redis-1, whose key it has or
// not, and redis-3 follows.
func failover(records ...history.Record) *history.History {
	h := &history.History{Complete: true, Header: history.Header{
		Topology: history.Topology{Name: "sentinel", Nodes: []string{"redis-1", "redis-2", "redis-3"}, Quorum: 1, Primary: "redis-1"},
		Lock:     history.Lock{Key: "k", Also: []string{"l"}, TTL: 30 * time.Second},
		Workload: history.Workload{Clients: []string{"client-1"}, Rounds: 1},
	}}
	for i, r := range records {
		r.T, r.Kind = time.Duration(i+1)*time.Second, history.Observe
		h.Records = append(h.Records, r)
	}
	return h
}

func turned(text string) history.Record {
	return history.Record{Who: "redis-2", Op: history.Role, Text: text}
}

func key(node, op, name string) history.Record {
	return history.Record{Who: node, Op: op, Key: name, Owner: "client-1#1", Holder: "client-1", TTL: 30 * time.Second}
}

func TestRoles(t *testing.T) {
	c := newCast(failover(
		turned(history.Replica),
		key("redis-2", history.Granted, "k"),
		turned(history.Primary),
		key("redis-2", history.Deleted, "k"),
		turned(history.Replica),
	), nil, false)
	for i, want := range []string{history.Replica, history.Replica, history.Primary, history.Primary, history.Replica} {
		if got := c.role("redis-2", i); got != want {
			t.Errorf("at record %d redis-2 is a %q, want %q", i, got, want)
		}
	}
	for node, want := range map[string]string{"redis-1": history.Primary, "redis-3": history.Replica} {
		if got := c.role(node, 4); got != want {
			t.Errorf("%s is a %q, want %q", node, got, want)
		}
	}
	if !c.starts(0) || c.starts(2) || c.starts(4) {
		t.Error("only the first record of redis-2 says what it is from the start")
	}
	c.h.Header.Topology.Primary = ""
	if got := c.role("redis-3", 4); got != "" {
		t.Errorf("redis-3 is a %q where nodes have no roles", got)
	}
}

func TestLifeWithRoles(t *testing.T) {
	tests := []struct {
		name    string
		records []history.Record
		want    []string // who and text
	}{
		{"a new primary has the key", []history.Record{key("redis-2", history.Granted, "k"), key("redis-2", history.Granted, "l"), turned(history.Primary)}, []string{
			"redis-2 (replica)", "k receives client-1#1 of client-1, TTL 30s", "redis-2 (replica)", "l receives client-1#1 of client-1, TTL 30s",
			"redis-2", "is now the primary, with client-1#1 and client-1#1"}},
		{"it has lost one", []history.Record{key("redis-2", history.Granted, "k"), key("redis-2", history.Deleted, "k"), key("redis-2", history.Granted, "l"), turned(history.Primary)}, []string{
			"redis-2 (replica)", "k receives client-1#1 of client-1, TTL 30s", "redis-2 (replica)", "k client-1#1 deleted by its primary",
			"redis-2 (replica)", "l receives client-1#1 of client-1, TTL 30s", "redis-2", "is now the primary, with client-1#1, without k"}},
		{"primary and replica are told apart", []history.Record{key("redis-1", history.Expired, "k"), key("redis-2", history.Expired, "k"), key("redis-3", history.Expired, "k")}, []string{
			"redis-1 (primary)", "client-1#1 expired, the lease of client-1", "redis-2, 3 (replicas)", "client-1#1 expired, the lease of client-1"}},
		{"what replicas are told", []history.Record{key("redis-2", history.Renewed, "k"), key("redis-3", history.Replaced, "k")}, []string{
			"redis-2 (replica)", "client-1#1 renewed by its primary, now TTL 30s", "redis-3 (replica)", "replaced by its primary:  became client-1#1, TTL 30s"}},
		{"a replica for another primary", []history.Record{{Who: "redis-1", Op: history.Role, Text: history.Replica, Target: "redis-2"}}, []string{
			"redis-1", "is now a replica of redis-2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range newCast(failover(tt.records...), nil, false).life() {
				got = append(got, e.who, e.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// Of several locks most are free at any time: what a new primary lacks says nothing,
// unless it has none.
func TestNewPrimaryOfSeveralLocks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		records []history.Record
		want    string
	}{
		{"it has one", []history.Record{key("redis-2", history.Granted, "order:2"), turned(history.Primary)}, "is now the primary, with client-1#1"},
		{"it has none", []history.Record{key("redis-1", history.Granted, "order:2"), turned(history.Primary)}, "is now the primary, without any of the locks"},
	} {
		h := failover(tt.records...)
		h.Header.Lock = history.Lock{Key: "order", Count: 3}
		life := newCast(h, nil, false).life()
		if got := life[len(life)-1].text; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSentinelsAreGathered(t *testing.T) {
	say := func(who, text, target string) history.Record {
		return history.Record{Who: who, Op: history.Sentry, Text: text, Target: target}
	}
	c := newCast(failover(
		say("sentinel-1", "+sdown", "redis-1"), say("sentinel-3", "+sdown", "redis-1"), say("sentinel-2", "+sdown", "redis-2"),
		say("sentinel-1", "+sdown", "redis-1"), say("sentinel-1", "+switch-master redis-1", "redis-2"), say("sentinel-1", "+config", ""),
	), nil, false)
	var got []string
	for _, e := range c.clients() {
		got = append(got, e.who, e.text+e.aside)
	}
	want := []string{
		"sentinel-1, 3", "+sdown redis-1, it does not answer this Sentinel", "sentinel-2", "+sdown redis-2, it does not answer this Sentinel",
		"sentinel-1", "+sdown redis-1, it does not answer this Sentinel", "sentinel-1", "+switch-master redis-1 → redis-2, clients are told of the new primary",
		"sentinel-1", "+config",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTopologyLine(t *testing.T) {
	nodes := []string{"redis-1", "redis-2", "redis-3"}
	tests := []struct {
		topology history.Topology
		want     string
	}{
		{history.Topology{Name: "single", Nodes: nodes[:1], Quorum: 1}, "single (redis-1)"},
		{history.Topology{Name: "independent-3", Nodes: nodes, Quorum: 2}, "independent-3 (redis-1–3, quorum 2)"},
		{history.Topology{Name: "replicated-3", Nodes: nodes, Quorum: 2, Primary: "redis-1"}, "replicated-3 (redis-1–3, quorum 2, replicas of redis-1)"},
		{history.Topology{Name: "sentinel", Nodes: nodes, Quorum: 1, Primary: "redis-2", Sentinels: []string{"sentinel-1", "sentinel-2"}},
			"sentinel (primary redis-2, replicas redis-1, 3, sentinel-1, 2)"},
	}
	for _, tt := range tests {
		if got := topologyLine(tt.topology); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
