package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// Whatever strikes a topology with Sentinels: nothing stands still, equal seeds
// give equal histories, and when all is healed there is one primary, which
// everybody knows and whose keys its replicas have.
func TestFailoverStress(t *testing.T) {
	bubble.Use(t)
	seeds := 20
	if os.Getenv("LOCKPICK_LONG") != "" {
		seeds = 200
	}
	for seed := range uint64(seeds) {
		l := sentry(t)
		l.seed = seed
		if seed%2 == 1 {
			l.replicas, l.retries = testbed.Replicas{Min: 1, MaxLag: 10 * time.Second}, 3
		}
		h := l.twice(func(w testbed.World) { beSet(t, w, seed) })
		settled(t, h, seed)
	}
}

var (
	stressed = []string{"redis-1", "redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"}
	troubled = []string{"client-1", "client-2", "client-3"}
)

// anyFault draws a fault.
func anyFault(dice *rand.Rand) faults.Fault {
	node, client := stressed[dice.IntN(len(stressed))], troubled[dice.IntN(len(troubled))]
	redis := stressed[dice.IntN(3)]
	link := faults.Link{Client: client, Node: node}
	if other := stressed[dice.IntN(len(stressed))]; dice.IntN(2) == 0 && other != node {
		link = peers(node, other)
	}
	switch dice.IntN(11) {
	case 0:
		return faults.Stop{Node: node}
	case 1:
		return faults.Stop{Node: node, Lose: time.Duration(dice.IntN(5)) * time.Second}
	case 2, 3:
		var names []string
		for _, n := range append(stressed[:len(stressed):len(stressed)], troubled...) {
			if dice.IntN(3) == 0 {
				names = append(names, n)
			}
		}
		return side(names...)
	case 4:
		return faults.Pause{Client: client}
	case 5:
		return faults.Pause{Node: node}
	case 6:
		return cut(link)
	case 7:
		return faults.Hold{Link: link, Direction: faults.Both}
	case 8:
		return faults.Slow{Link: link, Direction: faults.Both, By: time.Duration(dice.IntN(3000)) * time.Millisecond}
	case 9:
		return faults.Clock{Node: redis, Jump: time.Duration(dice.IntN(20)-10) * time.Second}
	default:
		return faults.Reset{Link: link}
	}
}

// beSet lets three clients lock and be set upon for some two minutes.
func beSet(t *testing.T, w testbed.World, seed uint64) {
	t.Helper()
	dice := rand.New(rand.NewPCG(seed, 1))
	var steps []faults.Step
	for range 6 {
		steps = append(steps, faults.Step{
			Fault: anyFault(dice),
			When:  faults.Trigger{At: time.Duration(dice.Int64N(int64(100 * time.Second)))},
			For:   time.Second + time.Duration(dice.Int64N(int64(30*time.Second))),
		})
	}
	s := faults.NewSchedule(w, steps, func(s faults.Step, _ faults.Change, err error) {
		if err != nil {
			t.Errorf("seed %d: %s: %v", seed, s, err)
		}
	})
	s.Start()
	var wg sync.WaitGroup
	for i, name := range troubled {
		l, c := mustLock(t, w, name), w.Client(name)
		wg.Go(func() {
			for range 10 {
				lease, err := l.Acquire(outside)
				c.Sleep(time.Duration(1+i) * time.Second)
				if err == nil {
					_ = l.Release(outside, lease)
				}
				c.Sleep(time.Second)
			}
		})
		wg.Go(func() { // something beside the lock, as a watchdog
			for range 40 {
				time.Sleep(2500*time.Millisecond + 17)
				l.(*plain).env.Redis().Get(outside, "x")
			}
		})
	}
	wg.Wait()
	s.Heal()
	w.Client("client-1").Sleep(2 * time.Minute)
	w.Look(history.AtEnd)
}

// settled fails the test unless the history ends with one primary that all go by
// and that all resemble.
func settled(t *testing.T, h *history.History, seed uint64) {
	t.Helper()
	roles, follows, believed, keys := map[string]string{}, map[string]string{}, map[string]string{}, map[string][]string{}
	for _, r := range h.Records {
		switch {
		case r.Op == history.Role:
			roles[r.Who], follows[r.Who] = r.Text, r.Target
		case r.Op == history.Sentry && len(r.Text) > 14 && r.Text[:14] == "+switch-master":
			believed[r.Who] = r.Target
		case r.Op == history.Keys && r.Who != "store" && r.Text == history.AtEnd:
			keys[r.Who] = append(keys[r.Who], r.Key+"="+r.Owner)
		}
	}
	primary := ""
	for node, role := range roles {
		if role == history.Primary {
			if primary != "" {
				t.Errorf("seed %d: %s and %s are primaries in the end", seed, primary, node)
			}
			primary = node
		}
	}
	for _, node := range stressed[:3] {
		if node != primary && follows[node] != primary {
			t.Errorf("seed %d: %s follows %q, want %q", seed, node, follows[node], primary)
		}
		if got, want := fmt.Sprint(keys[node]), fmt.Sprint(keys[primary]); got != want {
			t.Errorf("seed %d: %s has %s, the primary %s", seed, node, got, want)
		}
	}
	for _, s := range stressed[3:] {
		if b := believed[s]; b != primary && (b != "" || primary != "redis-1") {
			t.Errorf("seed %d: %s takes %q for the primary, want %s", seed, s, b, primary)
		}
	}
}
