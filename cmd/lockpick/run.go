package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/reports"
	"lockpick/scenarios"
)

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run SCENARIO…",
		Short: "Run scenarios and tell each run as a story",
		Long: `run carries out scenarios, by name or by file, with the versions that --impl
names, and tells each run: who did what when, what became of the key, which
commands were on the wire, which fault struck, and why the verdict is what it is.
Without --impl, with several seeds, or with --brief, each run is one line.
In the simulator every run is carried out twice, to see that equal seeds give
equal histories.`,
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
			vs, b, err := a.prepare(cmd, args)
			if err != nil {
				return err
			}
			b.twice = b.simulates()
			b.keep = cmd.Flags().Changed("impl") && a.seeds == 1 && !a.brief
			jobs, skipped := b.plan(vs, a.seed, a.seeds)
			s, err := b.run(cmd.Context(), jobs, skipped)
			if err != nil {
				return err
			}
			a.status = status(s)
			return a.tell(s, b.scenarios, b.keep)
		},
	}
	a.runFlags(cmd)
	a.fullFlag(cmd)
	a.briefFlag(cmd)
	cmd.Flags().IntVar(&a.seeds, "seeds", 1, "how many seeds to run, from --seed on")
	return cmd
}

// tell prints what came out: as stories, or a line each.
func (a *app) tell(s reports.Summary, scs []*scenarios.Scenario, stories bool) error {
	if a.format == "json" {
		return reports.JSON(a.out, s)
	}
	o := a.options()
	rest := s // what is told in a line each
	if stories {
		rest.Runs = nil
		byName := map[string]*scenarios.Scenario{}
		for _, sc := range scs {
			byName[sc.Name] = sc
		}
		for i, r := range s.Runs {
			if i > 0 {
				a.printf("\n")
			}
			if err := reports.Story(a.out, r, byName[r.Scenario], o); err != nil {
				return err
			}
		}
	}
	if err := reports.Text(a.out, rest, o); err != nil {
		return err
	}
	a.warn(s)
	return nil
}

// warn names the runs that a second run with the same seed did not repeat: what
// was told of them is one of several possible histories.
func (a *app) warn(s reports.Summary) {
	var unsteady []string
	for _, r := range s.Runs {
		if r.Deterministic != nil && !*r.Deterministic {
			unsteady = append(unsteady, fmt.Sprintf("%s × %s (seed %d)", r.Scenario, r.Version, r.Seed))
		}
	}
	if len(unsteady) > 0 {
		a.printf("\n! NOT DETERMINISTIC: a second run with the same seed gave another history: %s\n", strings.Join(unsteady, ", "))
	}
}
