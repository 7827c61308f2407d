package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"lockpick/impls"
	"lockpick/internal/harness"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/local"
	"lockpick/internal/testbed/sim"
	"lockpick/scenarios"
)

// simulated is the testbed whose time is virtual and whose runs repeat themselves.
const simulated = "sim"

// testbeds are what --testbed takes.
var testbeds = []string{simulated, local.Name}

// defaultScale is the time scale of real servers: a lease of 30 s becomes 1.5 s.
const defaultScale = 1.0 / 20

// newTestbed returns the testbed of that name. dir is where the histories are, for
// the error of a simulation that does not come to its end.
func (a *app) newTestbed(ctx context.Context, name, dir string) (testbed.Testbed, error) {
	if name == local.Name {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program that is a client: %w", err)
		}
		return local.New(ctx, func() *exec.Cmd { return exec.Command(self, "client") })
	}
	// virtual time that stands still cannot be stopped from within the process
	spins := func(err error) {
		fmt.Fprintf(a.err, "lockpick: %v; the history so far is in %s\n", err, dir)
		os.Exit(statusFailed)
	}
	return sim.New(sim.WithGuard(a.guard, spins)), nil
}

// simulates reports whether time is virtual and runs repeat themselves.
func (b *batch) simulates() bool { return b.testbed.Name() == simulated }

// scaleOf is the time scale at which a scenario is run.
func (b *batch) scaleOf(sc *scenarios.Scenario) float64 {
	if b.simulates() {
		return 1
	}
	return sc.Scale(b.app.scale)
}

// skip says why a pair is not run, or "".
func (b *batch) skip(sc *scenarios.Scenario, v impls.Version) string {
	return cmp.Or(harness.Skip(sc, v), b.testbed.Refuses(harness.Need(sc, v)))
}

// idle is how many runs on real servers, which wait most of the time, a core can
// carry out at a time without disturbing them.
const idle = 2

// workers is how many runs go on at a time.
func (b *batch) workers() int {
	switch {
	case b.app.jobs > 0:
		return b.app.jobs
	case b.simulates():
		return runtime.GOMAXPROCS(0)
	default:
		return idle * runtime.GOMAXPROCS(0)
	}
}
