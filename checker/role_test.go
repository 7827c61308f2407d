package checker

import (
	"fmt"
	"maps"
	"testing"

	"lockpick/checker/history"
)

// Instant by instant, what counts of a key is what those nodes have that take
// themselves for the primary.
func TestLivesOfPrimaries(t *testing.T) {
	promotions := 0
	for seed := range uint64(2_000) {
		h, want := roleHistory(seed)
		ix := newIndex(h)
		for i := range want {
			at := h.Records[i].T
			got := map[string]string{}
			for _, l := range ix.keys().lives {
				if l.from <= at && at < l.to {
					got[l.node] += l.owner
				}
			}
			if !maps.Equal(got, want[i]) {
				t.Fatalf("seed %d: at %d this counts: %v, want %v\n%s", seed, at, got, want[i], show(h))
			}
			if r := h.Records[i]; r.Text == history.Primary && !ix.primary(r.Who, i) {
				promotions++
			}
		}
		if seed < 60 {
			mustSurvive(t, fmt.Sprint("roles ", seed), h)
		}
	}
	if promotions < 1_000 {
		t.Errorf("only %d promotions", promotions)
	}
}

// roleHistory lets three nodes change their roles and their key at random. For
// every record it returns which values count after it, by node.
func roleHistory(seed uint64) (h *history.History, counting []map[string]string) {
	s := newScript(seed, "client-1", "client-2")
	nodes := []string{"redis-1", "redis-2", "redis-3"}
	s.h.Header.Topology = history.Topology{Name: "sentinel", Nodes: nodes, Quorum: 1, Primary: "redis-1"}
	primary, has := map[string]bool{"redis-1": true}, map[string]string{}
	for range 30 {
		s.now++
		node := nodes[s.IntN(len(nodes))]
		r := history.Record{Who: node, Kind: history.Observe, Key: "k", Owner: has[node], Holder: "client-1"}
		if primary[node] {
			r.Client = "client-1"
		}
		switch {
		case s.IntN(4) == 0:
			primary[node] = !primary[node] || s.IntN(2) == 0
			r = history.Record{Who: node, Kind: history.Observe, Op: history.Role, Text: history.Replica}
			if primary[node] {
				r.Text = history.Primary
			}
		case has[node] == "":
			r.Op, r.Owner = history.Granted, fmt.Sprint("v", s.IntN(3))
			has[node] = r.Owner
		case s.IntN(3) == 0:
			r.Op, r.Was, r.Owner = history.Replaced, has[node], fmt.Sprint("v", s.IntN(3))
			has[node] = r.Owner
		case s.IntN(2) == 0:
			r.Op = history.Renewed
		default:
			r.Op = history.Deleted
			delete(has, node)
		}
		s.add(r)
		now := map[string]string{}
		for _, n := range nodes {
			if primary[n] && has[n] != "" {
				now[n] = has[n]
			}
		}
		counting = append(counting, now)
	}
	return s.end(), counting
}

func TestFaultNames(t *testing.T) {
	for target, want := range map[string]bool{
		"client-1": true, "client-1 – redis-1": true, "redis-1 ← client-1": true, "redis-2, client-1 from the rest": true,
		"client-1 by +1m0s": true, "client-1: order": true, "client-11": false, "redis-1: client-1x": false, "": false,
	} {
		if got := (fault{target: target}).names("client-1"); got != want {
			t.Errorf("%q names client-1: %t", target, got)
		}
	}
}
