package main

import (
	"time"

	"github.com/spf13/cobra"

	"lockpick/impls"
	"lockpick/reports"
)

func (a *app) matrixCommand() *cobra.Command {
	twice := false
	cmd := &cobra.Command{
		Use:   "matrix [SCENARIO…]",
		Short: "Every version × every scenario: the table",
		Long: `matrix runs every version through every scenario, or through those that are
named, and prints the table: which promise broke, and whether that was expected.
It exits 0 only when everything is as expected.`,
		Example: `  lockpick matrix
  lockpick matrix gc-pause clock-jump-single --impl watchdog,redsync`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if twice && a.testbed != simulated {
				return usagef("--twice is for the simulator: a run on real servers is never the same twice")
			}
			vs, b, err := a.prepare(cmd, args)
			if err != nil {
				return err
			}
			b.twice = twice
			start := time.Now()
			jobs, skipped := b.plan(vs, a.seed, 1)
			s, err := b.run(cmd.Context(), jobs, skipped)
			if err != nil {
				return err
			}
			a.status = status(s)
			if a.format == "json" {
				return reports.JSON(a.out, s)
			}
			o := a.options()
			o.Wall = time.Since(start)
			if err := reports.Matrix(a.out, s, o); err != nil {
				return err
			}
			a.warn(s)
			a.printf("\n The histories and %s are in %s\n", reports.SummaryFile, b.dir)
			return nil
		},
	}
	a.runFlags(cmd)
	a.fullFlag(cmd)
	cmd.Flags().BoolVar(&twice, "twice", false, "run everything twice and say what is not deterministic")
	return cmd
}

// prepare reads the command line of a command that chooses what to run, and
// makes the directory. Nothing has run when it fails.
func (a *app) prepare(cmd *cobra.Command, args []string) ([]impls.Version, *batch, error) {
	if err := a.checkFlags(); err != nil {
		return nil, nil, err
	}
	names, err := chosen(cmd, "impl", "version", versionNames())
	if err != nil {
		return nil, nil, err
	}
	vs, err := versions(names)
	if err != nil {
		return nil, nil, err
	}
	scs, err := a.scenarios(args)
	if err != nil {
		return nil, nil, err
	}
	if cmd.Flags().Changed("check") {
		checks, err := chosen(cmd, "check", "check", checkNames())
		if err != nil {
			return nil, nil, err
		}
		for _, s := range scs {
			s.Checks = checks // what the scenario does not expect must hold
		}
	}
	b, err := a.newBatch(cmd.Context(), scs)
	return vs, b, err
}
