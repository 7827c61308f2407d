package sim_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim"
	"lockpick/internal/testbed/sim/bubble"
)

// BenchmarkCommands measures what one Redis command costs in the simulator, from
// the client library to the history and back, and where that goes: a script is
// the dearest, a fresh world is paid once per run.
func BenchmarkCommands(b *testing.B) {
	for _, bench := range []struct {
		name string
		do   func(ctx context.Context, c *plain)
	}{
		{"SET", func(ctx context.Context, p *plain) { p.env.Redis().SetNX(ctx, "k", "v", time.Minute) }},
		{"EVALSHA", func(ctx context.Context, p *plain) { plainRelease.Run(ctx, p.env.Redis(), []string{"k"}, "w") }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bubble.UseBench(b, func(b *testing.B) {
				// not b.Loop, which would read the virtual clock
				runOn(b, sim.New(), single, func(w testbed.World) {
					p := mustLock(b, w, "client-1").(*plain)
					for range b.N {
						bench.do(context.Background(), p)
					}
				})
			})
		})
	}
}

// BenchmarkWorld measures a run in which nothing happens, and one in which three
// clients lock three times each, which is about 40 commands.
func BenchmarkWorld(b *testing.B) {
	for _, bench := range []struct {
		name   string
		rounds int
	}{{"empty", 0}, {"three clients", 3}} {
		b.Run(bench.name, func(b *testing.B) {
			bubble.UseBench(b, func(b *testing.B) {
				s := sim.New()
				var virtual time.Duration
				for b.Loop() {
					virtual += runOn(b, s, single, func(w testbed.World) { contend(b, w, bench.rounds) })
				}
				b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
			})
		})
	}
}

// BenchmarkSentinels measures simulated time per real time of a topology with two
// replicas and three Sentinels: at rest, with a failover, and with three clients
// that lock.
func BenchmarkSentinels(b *testing.B) {
	for _, bench := range []struct {
		name string
		do   func(w testbed.World)
	}{
		{"a minute at rest", func(w testbed.World) { w.Client("client-1").Sleep(time.Minute) }},
		{"a minute with a failover", func(w testbed.World) {
			inject(b, w, faults.Stop{Node: "redis-1"})
			w.Client("client-1").Sleep(time.Minute)
		}},
		{"three clients", func(w testbed.World) { contend(b, w, 3) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bubble.UseBench(b, func(b *testing.B) {
				s := sim.New()
				topology := history.Topology{
					Name: "sentinel", Nodes: []string{"redis-1", "redis-2", "redis-3"}, Quorum: 1,
					Primary: "redis-1", Sentinels: []string{"sentinel-1", "sentinel-2", "sentinel-3"},
				}
				var virtual time.Duration
				for b.Loop() {
					virtual += runOn(b, s, topology, bench.do)
				}
				b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
			})
		})
	}
}

func contend(b *testing.B, w testbed.World, rounds int) {
	b.Helper()
	var all sync.WaitGroup
	for _, name := range []string{"client-1", "client-2", "client-3"} {
		all.Go(func() {
			l := mustLock(b, w, name)
			for range rounds {
				lease, err := l.Acquire(context.Background())
				if err != nil {
					b.Error(err)
				}
				w.Client(name).Sleep(50 * time.Millisecond)
				if err := l.Release(context.Background(), lease); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

var single = history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1}

func runOn(b *testing.B, s *sim.Testbed, topology history.Topology, f func(testbed.World)) (virtual time.Duration) {
	b.Helper()
	clients := []string{"client-1", "client-2", "client-3"}
	rec, err := history.NewRecorder(&bytes.Buffer{}, history.Header{
		Lockpick: history.Format, Scenario: "bench", Version: "plain", Testbed: "sim", Topology: topology,
		Workload: history.Workload{Clients: clients},
	})
	if err != nil {
		b.Fatal(err)
	}
	spec := testbed.Spec{
		Need:    testbed.Need{Topology: topology, Replicas: testbed.Replicas{DownAfter: 5 * time.Second}},
		Clients: clients, Store: "store", Recorder: rec,
	}
	if err := s.Run(context.Background(), spec, func(w testbed.World) { f(w); virtual = w.Now() }); err != nil {
		b.Fatal(err)
	}
	return virtual
}
