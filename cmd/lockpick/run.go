package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockpick/reports"
	"lockpick/scenarios"
)

func (a *app) runCommand() *cobra.Command {
	brief := false
	cmd := &cobra.Command{
		Use:   "run SCENARIO…",
		Short: "Run scenarios and tell each run as a story",
		Long: `run carries out scenarios, by name or by file, with the versions that --impl
names, and tells each run: who did what when, what became of the key, which
commands were on the wire, which fault struck, and why the verdict is what it is.
Without --impl, with several seeds, or with --brief, each run is one line.
Every run is carried out twice, to see that equal seeds give equal histories.`,
		Example: `  lockpick run delete-other --impl setnx-ex
  lockpick run gc-pause --impl redsync --seed 7 --full
  lockpick run my-scenario.yaml --impl lua-release,watchdog --seeds 100`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("run needs a scenario; see lockpick list scenarios")
			}
			return nil
		},
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
			b.twice = true
			b.keep = len(a.impls) > 0 && a.seeds <= 1 && !brief
			jobs, skipped := plan(scs, vs, a.seed, a.seeds)
			s, err := b.run(cmd.Context(), jobs, skipped)
			if err != nil {
				return err
			}
			a.status = status(s)
			return a.tell(s, scs, b.keep)
		},
	}
	a.runFlags(cmd)
	cmd.Flags().StringSliceVar(&a.impls, "impl", nil, "versions to run, separated by commas (default all)")
	cmd.Flags().IntVar(&a.seeds, "seeds", 1, "how many seeds to run, from --seed on")
	cmd.Flags().IntVar(&a.jobs, "jobs", 0, "how many runs go on at a time (default one per core)")
	cmd.Flags().BoolVar(&a.full, "full", false, "leave nothing out of a story")
	cmd.Flags().BoolVar(&brief, "brief", false, "one line per run instead of a story")
	return cmd
}

// tell prints what came out: as stories, or a line each.
func (a *app) tell(s reports.Summary, scs []*scenarios.Scenario, stories bool) error {
	o := a.options()
	switch {
	case a.format == "json":
		return reports.JSON(a.out, s)
	case !stories || len(s.Runs) == 0:
		return reports.Text(a.out, s, o)
	}
	byName := map[string]*scenarios.Scenario{}
	for _, sc := range scs {
		byName[sc.Name] = sc
	}
	for i, r := range s.Runs {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := reports.Story(a.out, r, byName[r.Scenario], o); err != nil {
			return err
		}
	}
	if len(s.Skipped) > 0 {
		return reports.Text(a.out, reports.Summary{Skipped: s.Skipped}, o)
	}
	return nil
}
