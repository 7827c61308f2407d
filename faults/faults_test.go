package faults_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"lockpick/faults"
)

// every is one fault of each kind, in the order of Catalog, with what injecting
// and healing it asks of a world.
var every = []struct {
	fault        faults.Fault
	inject, heal string
}{
	{pause, "0s pause client-1", "0s resume client-1"},
	{crash, "0s crash client-1", ""},
	{faults.Cut{Link: link, Direction: faults.ToNode}, "0s cut client-1 – redis-1 to-node", "0s mend client-1 – redis-1 to-node"},
	{faults.Hold{Link: link, Direction: faults.ToClient}, "0s hold client-1 – redis-1 to-client", "0s release client-1 – redis-1 to-client"},
	{faults.Slow{Link: link, Direction: faults.Both, By: time.Second}, "0s slow client-1 – redis-1 both 1s", "0s slow client-1 – redis-1 both -1s"},
	{faults.Reset{Link: link}, "0s reset client-1 – redis-1", ""},
	{faults.Drop{What: faults.Reply}, "", ""},
	{faults.Clock{Node: "redis-1", Jump: -time.Minute}, "0s jump redis-1 -1m0s", ""},
	{faults.Evict{Node: "redis-1", Key: "k"}, "0s evict redis-1 k", ""},
	{faults.Stop{Node: "redis-1", Lose: true}, "0s stop redis-1 true", "0s start redis-1"},
}

func TestEveryFaultIsInTheCatalog(t *testing.T) {
	var got, want []string
	for _, e := range every {
		got = append(got, e.fault.Name())
	}
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
		t.Run(e.fault.Name(), func(t *testing.T) {
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
		t.Run(e.fault.Name(), func(t *testing.T) {
			heal, err := e.fault.Inject(&world{fails: gone})
			if !errors.Is(err, gone) || heal != nil {
				t.Errorf("Inject = heal %v, %v; want the world's error and nothing to heal", heal != nil, err)
			}
		})
	}
}

func TestAWorldWithoutTheAbility(t *testing.T) {
	for _, e := range every {
		t.Run(e.fault.Name(), func(t *testing.T) {
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
	both := []faults.Use{{Name: "client-1", Kind: faults.Client}, {Name: "redis-1", Kind: faults.Node}}
	want := [][]faults.Use{both[:1], both[:1], both, both, both, both, nil, both[1:], both[1:], both[1:]}
	for i, e := range every {
		if got := e.fault.Uses(); !slices.Equal(got, want[i]) {
			t.Errorf("%s uses %v, want %v", e.fault.Name(), got, want[i])
		}
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
