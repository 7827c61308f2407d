package harness_test

import (
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// threeClients is the run of the figure in the design: three clients, about 40
// commands.
var threeClients = plain("three-clients", workload(func(w *scenarios.Workload) {
	w.Clients, w.Rounds, w.Stagger, w.Work = 3, 4, 0, 50*time.Millisecond
}), func(s *scenarios.Scenario) { s.Checks = []string{"mutual-exclusion", "no-lost-update", "no-deadlock"} })

// twoLeases is two clients that each let several leases of 30 s go by.
var twoLeases = plain("two-leases", workload(func(w *scenarios.Workload) { w.Rounds, w.Work = 2, 5*time.Minute }),
	func(s *scenarios.Scenario) {
		s.Lock.Wait = 10 * time.Minute
		s.Checks = []string{"mutual-exclusion", "no-lost-update", "no-deadlock"}
	})

// oneLease is one lease of 30 s that expires and one that is given back.
var oneLease = plain("one-lease", workload(func(w *scenarios.Workload) { w.Work = 35 * time.Second }),
	func(s *scenarios.Scenario) { s.Checks = []string{"mutual-exclusion", "no-lost-update", "no-deadlock"} })

// asCommand lets the collector work as the command sets it.
func asCommand(b *testing.B) {
	b.Helper()
	old := debug.SetGCPercent(400)
	b.Cleanup(func() { debug.SetGCPercent(old) })
}

func commands(h *history.History) int {
	return count(h, func(r history.Record) bool { return r.Op == history.Command })
}

// BenchmarkRun measures whole runs, one after the other, judged and hashed.
func BenchmarkRun(b *testing.B) {
	asCommand(b)
	for _, bench := range []struct {
		name    string
		version string
		sc      *scenarios.Scenario
	}{
		{"three clients", "lua-release", threeClients},
		{"one lease", "lua-release", oneLease},
		{"two clients renew", "watchdog", twoLeases},
	} {
		b.Run(bench.name, func(b *testing.B) {
			v, _ := catalog.Lookup(bench.version)
			p := pair{bench.sc, v}
			bubble.UseBench(b, func(b *testing.B) {
				var virtual time.Duration
				sent := 0
				for b.Loop() {
					out, err := harness.Do(b.Context(), p.setup(uint64(b.N), io.Discard))
					if err != nil {
						b.Fatal(err)
					}
					records := out.History.Records
					virtual += records[len(records)-1].T
					sent += commands(out.History)
				}
				n := float64(b.N)
				b.ReportMetric(n/b.Elapsed().Seconds(), "runs/s")
				b.ReportMetric(float64(sent)/n, "commands/run")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sent), "ns/command")
				b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "sim/wall")
			})
		})
	}
}

// BenchmarkRunsSideBySide measures how many runs of three clients all cores do.
func BenchmarkRunsSideBySide(b *testing.B) {
	asCommand(b)
	v, _ := catalog.Lookup("lua-release")
	p := pair{threeClients, v}
	bubble.UseBench(b, func(b *testing.B) {
		next := make(chan uint64)
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for seed := range next {
					if _, err := harness.Do(b.Context(), p.setup(seed, io.Discard)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for b.Loop() {
			next <- uint64(b.N)
		}
		close(next)
		workers.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	})
}

// BenchmarkMatrix measures every version in every scenario, on all cores.
func BenchmarkMatrix(b *testing.B) {
	asCommand(b)
	pairs := mustPairs(b)
	bubble.UseBench(b, func(b *testing.B) {
		for b.Loop() {
			next := make(chan pair)
			var workers sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				workers.Go(func() {
					for p := range next {
						if _, err := harness.Do(b.Context(), p.setup(1, io.Discard)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for _, p := range pairs {
				next <- p
			}
			close(next)
			workers.Wait()
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/matrix")
		b.ReportMetric(float64(len(pairs)), "runs/matrix")
	})
}

// BenchmarkScenario measures each scenario with all of its versions on one core:
// where the time of the matrix goes.
func BenchmarkScenario(b *testing.B) {
	asCommand(b)
	for _, sc := range mustCatalog(b) {
		b.Run(sc.Name, func(b *testing.B) {
			bubble.UseBench(b, func(b *testing.B) {
				for b.Loop() {
					for _, v := range catalog.All() {
						if harness.Skip(sc, v) != "" {
							continue
						}
						p := pair{sc, v}
						if _, err := harness.Do(b.Context(), p.setup(1, io.Discard)); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		})
	}
}

// BenchmarkJudge measures what all checks together cost on histories of a usual
// and of a large run, and what share of the run that is.
func BenchmarkJudge(b *testing.B) {
	asCommand(b)
	var names []string
	for _, c := range checker.All() {
		names = append(names, c.Name)
	}
	for _, bench := range []struct{ scenario, version string }{
		{"gc-pause", "lua-release"}, {"oversell", "watchdog"}, {"counter-200", "lua-release"}, {"counter-200", "redsync"},
	} {
		b.Run(bench.scenario+" "+bench.version, func(b *testing.B) {
			p := mustPair(b, bench.scenario, bench.version)
			bubble.UseBench(b, func(b *testing.B) {
				start := time.Now()
				out, err := harness.Do(b.Context(), p.setup(1, io.Discard))
				if err != nil {
					b.Fatal(err)
				}
				whole := time.Since(start)
				own := time.Now()
				harness.Judge(out.History, p.scenario.Checks)
				share := float64(time.Since(own)) / float64(whole)
				for b.Loop() {
					harness.Judge(out.History, names)
				}
				b.ReportMetric(float64(len(out.History.Records)), "records")
				b.ReportMetric(100*share, "%of-run")
			})
		})
	}
}
