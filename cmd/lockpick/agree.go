package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockpick/internal/testbed/local"
	"lockpick/reports"
	"lockpick/scenarios"
)

func (a *app) agreeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agree [SCENARIO…]",
		Short: "Run everything in the simulator and on real servers, and say where verdicts differ",
		Long: `agree runs every version through every scenario, or through those that are named,
first in the simulator and then on a testbed of real servers, and prints each
verdict that differs. What the testbed cannot do is skipped in both. A verdict that
the scenario leaves to chance may differ.

It exits 0 when the two agree, 1 when verdicts differ, 3 when some were not
reached, and 4 when a run could not be carried out.`,
		Example: `  lockpick agree gc-pause delete-other
  lockpick agree --impl watchdog,redlock --time-scale 0.1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("testbed") {
				a.testbed = local.Name
			}
			if a.testbed == simulated {
				return usagef("agree compares the simulator with another testbed, such as --testbed %s", local.Name)
			}
			vs, real, err := a.prepare(cmd, args)
			if err != nil {
				return err
			}
			jobs, skipped := real.plan(vs, a.seed, 1)
			twin, err := real.twin(cmd)
			if err != nil {
				return err
			}
			expected, err := twin.run(cmd.Context(), jobs, nil)
			if err != nil {
				return err
			}
			got, err := real.run(cmd.Context(), jobs, skipped)
			if err != nil {
				return err
			}
			g := reports.Agree(expected, got, chance(real.scenarios))
			a.status = agreed(g, got)
			if a.format == "json" {
				return g.JSON(a.out)
			}
			if err := g.Text(a.out, a.options()); err != nil {
				return err
			}
			a.printf(" The histories are in %s, those of the simulator in %s\n", real.dir, twin.dir)
			return nil
		},
	}
	a.runFlags(cmd)
	cmd.Flags().Lookup("testbed").DefValue = local.Name
	return cmd
}

// twin is a batch of the same in the simulator, in a directory within b's.
func (b *batch) twin(cmd *cobra.Command) (*batch, error) {
	dir := filepath.Join(b.dir, simulated)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the directory of the simulator's runs: %w", err)
	}
	bed, err := b.app.newTestbed(cmd.Context(), simulated, dir)
	if err != nil {
		return nil, err
	}
	return &batch{app: b.app, dir: dir, scenarios: b.scenarios, testbed: bed}, nil
}

// chance reports whether one of the scenarios leaves a verdict to chance.
func chance(scs []*scenarios.Scenario) func(scenario, check, version string) bool {
	byName := map[string]*scenarios.Scenario{}
	for _, sc := range scs {
		byName[sc.Name] = sc
	}
	return func(scenario, check, version string) bool { return byName[scenario].EitherWay(check, version) }
}

// agreed is the exit status of an agreement.
func agreed(g reports.Agreement, real reports.Summary) int {
	code := statusOK
	if g.Pairs == 0 {
		return statusUndecided
	}
	for _, r := range real.Runs {
		if r.Failed != "" {
			return statusFailed
		}
	}
	for _, d := range g.Differences {
		if !d.Open() {
			return statusViolated
		}
		code = statusUndecided
	}
	return code
}
