package faults_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/faults"
)

var (
	client = faults.Use{Name: "client-1", Kind: faults.Client}
	node   = faults.Use{Name: "redis-1", Kind: faults.Node}
	peer   = faults.Use{Name: "redis-2", Kind: faults.Node}
	both   = []faults.Use{client, node}

	peers = faults.Link{Peer: "redis-2", Node: "redis-1"}
)

// every has at least one fault of each kind, in the order of Catalog, with what
// injecting and healing it asks of a world, and whom it names.
var every = []struct {
	fault        faults.Fault
	inject, heal string
	uses         []faults.Use
}{
	{pause, "0s pause client-1", "0s resume client-1", []faults.Use{client}},
	{faults.Pause{Node: "redis-1"}, "0s pause redis-1", "0s resume redis-1", []faults.Use{node}},
	{crash, "0s crash client-1", "", []faults.Use{client}},
	{faults.Cancel{Client: "client-1"}, "0s cancel client-1", "", []faults.Use{client}},
	{faults.Cut{Link: link, Direction: faults.ToNode}, "0s cut client-1 – redis-1 to-node", "0s mend client-1 – redis-1 to-node", both},
	{faults.Cut{Link: peers, Direction: faults.Both}, "0s cut redis-2 – redis-1 both", "0s mend redis-2 – redis-1 both", []faults.Use{peer, node}},
	{faults.Partition{Side: both}, `0s partition ["client-1" "redis-1"]`, `0s join ["client-1" "redis-1"]`, both},
	{faults.Hold{Link: link, Direction: faults.ToClient}, "0s hold client-1 – redis-1 to-client", "0s release client-1 – redis-1 to-client", both},
	{faults.Slow{Link: link, Direction: faults.Both, By: time.Second}, "0s slow client-1 – redis-1 both 1s", "0s slow client-1 – redis-1 both -1s", both},
	{faults.Reset{Link: link}, "0s reset client-1 – redis-1", "", both},
	{faults.Drop{What: faults.Reply}, "", "", nil},
	{faults.Clock{Node: "redis-1", Jump: -time.Minute}, "0s jump redis-1 -1m0s", "", []faults.Use{node}},
	{faults.Clock{Client: "client-1", Jump: time.Minute}, "0s jump client-1 1m0s", "", []faults.Use{client}},
	{faults.Drift{Node: "redis-1", Rate: 1.5}, "0s drift redis-1 1.5", "0s drift redis-1 1", []faults.Use{node}},
	{faults.Evict{Node: "redis-1", Key: "k"}, "0s evict redis-1 k", "", []faults.Use{node}},
	{faults.ForgetScripts{Node: "redis-1"}, "0s forget redis-1", "", []faults.Use{node}},
	{faults.Refuse{Node: "redis-1", With: faults.Loading, Commands: []string{"SET", "GET"}},
		`0s refuse ["SET" "GET"] on redis-1: LOADING Redis is loading the dataset in memory`, `0s obey ["SET" "GET"] on redis-1`, []faults.Use{node}},
	{faults.Stop{Node: "redis-1"}, "0s stop redis-1 0s", "0s start redis-1", []faults.Use{node}},
	{faults.Stop{Node: "redis-1", Lose: time.Second}, "0s stop redis-1 1s", "0s start redis-1", []faults.Use{node}},
	{faults.Stop{Node: "redis-1", Lose: faults.Everything}, "0s stop redis-1 2562047h47m16.854775807s", "0s start redis-1", []faults.Use{node}},
}

func TestEveryFaultIsInTheCatalog(t *testing.T) {
	var got, want []string
	for _, e := range every {
		got = append(got, e.fault.Name())
	}
	got = slices.Compact(got)
	for _, e := range faults.Catalog() {
		want = append(want, e.Name)
		if e.Summary == "" || e.Example == "" {
			t.Errorf("%s has no summary or no example", e.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults are %q, the catalogue has %q", got, want)
	}
}

func TestInjectAndHeal(t *testing.T) {
	for _, e := range every {
		t.Run(e.fault.Name()+" "+e.fault.Target(), func(t *testing.T) {
			w := &world{}
			heal, err := e.fault.Inject(w)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if e.inject != "" {
				want = append(want, e.inject)
			}
			w.wants(t, want...)
			if (heal != nil) != (e.heal != "") {
				t.Fatalf("can be healed: %v, want %v", heal != nil, e.heal != "")
			}
			if heal != nil {
				heal()
				w.wants(t, append(want, e.heal)...)
			}
		})
	}
}

func TestInjectFails(t *testing.T) {
	gone := errors.New("no such target")
	for _, e := range every {
		if e.inject == "" {
			continue
		}
		t.Run(e.fault.Name()+" "+e.fault.Target(), func(t *testing.T) {
			heal, err := e.fault.Inject(&world{fails: gone})
			if !errors.Is(err, gone) || heal != nil {
				t.Errorf("Inject = heal %v, %v; want the world's error and nothing to heal", heal != nil, err)
			}
		})
	}
}

func TestAWorldWithoutTheAbility(t *testing.T) {
	for _, e := range every {
		t.Run(e.fault.Name()+" "+e.fault.Target(), func(t *testing.T) {
			heal, err := e.fault.Inject(&clock{})
			if e.inject == "" { // a drop is the answer to the testbed, which needs no ability
				if err != nil {
					t.Errorf("error is %v, want none", err)
				}
				return
			}
			var cannot *faults.ErrCannot
			if !errors.As(err, &cannot) || cannot.Fault != e.fault.Name() || heal != nil {
				t.Errorf("Inject = heal %v, %v; want ErrCannot of %s", heal != nil, err, e.fault.Name())
			}
		})
	}
}

func TestUses(t *testing.T) {
	for _, e := range every {
		if got := e.fault.Uses(); !slices.Equal(got, e.uses) {
			t.Errorf("%s %s uses %v, want %v", e.fault.Name(), e.fault.Target(), got, e.uses)
		}
	}
}

// Clients tell the errors of Redis apart by their first word.
func TestEveryRefusalHasAText(t *testing.T) {
	first := map[faults.Refusal]string{
		faults.Busy: "BUSY", faults.OOM: "OOM", faults.ReadOnly: "READONLY", faults.Loading: "LOADING",
		faults.MisConf: "MISCONF", faults.NoPerm: "NOPERM", faults.ClusterDown: "CLUSTERDOWN",
	}
	for _, r := range faults.Refusals() {
		if got, rest, _ := strings.Cut(r.Text(), " "); got != first[r] || got == "" || rest == "" {
			t.Errorf("the text of %s is %q, want it to start with %q and to go on", r, r.Text(), first[r])
		}
		delete(first, r)
	}
	if len(first) > 0 {
		t.Errorf("not among the refusals: %v", first)
	}
}

func TestDirectionCovers(t *testing.T) {
	for _, tt := range []struct {
		d, one faults.Direction
		want   bool
	}{
		{faults.Both, faults.ToNode, true},
		{faults.Both, faults.ToClient, true},
		{faults.ToNode, faults.ToNode, true},
		{faults.ToNode, faults.ToClient, false},
		{faults.ToClient, faults.ToNode, false},
	} {
		if got := tt.d.Covers(tt.one); got != tt.want {
			t.Errorf("%s covers %s: %v, want %v", tt.d, tt.one, got, tt.want)
		}
	}
}
