package main

import (
	"time"

	"github.com/spf13/cobra"

	"lockpick/reports"
	"lockpick/scenarios"
)

func (a *app) matrixCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "matrix [SCENARIO…]",
		Short: "Every version × every scenario: the table",
		Long: `matrix runs every version through every scenario, or through those that are
named, and prints the table: which promise broke, and whether that was expected.
It exits 0 only when everything is as expected.`,
		Example: `  lockpick matrix
  lockpick matrix gc-pause clock-jump-single --impl watchdog,redsync`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkFlags(); err != nil {
				return err
			}
			scs, err := a.scenarios(args)
			if err != nil {
				return err
			}
			vs, err := a.versions()
			if err != nil {
				return err
			}
			b, err := a.newBatch()
			if err != nil {
				return err
			}
			b.twice, _ = cmd.Flags().GetBool("twice") // it is there
			start := time.Now()
			jobs, skipped := plan(scs, vs, a.seed, 1)
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
			return reports.Matrix(a.out, s, o)
		},
	}
	a.runFlags(cmd)
	cmd.Flags().StringSliceVar(&a.impls, "impl", nil, "versions to run, separated by commas (default all)")
	cmd.Flags().IntVar(&a.jobs, "jobs", 0, "how many runs go on at a time (default one per core)")
	cmd.Flags().Bool("twice", false, "run everything twice and say what is not deterministic")
	return cmd
}

// scenarios returns those that are named, or the whole catalogue.
func (a *app) scenarios(names []string) ([]*scenarios.Scenario, error) {
	if len(names) == 0 {
		return scenarios.Catalog(known())
	}
	var list []*scenarios.Scenario
	for _, name := range names {
		s, err := a.scenario(name)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
