package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/internal/testbed/sim"
)

// formats are what --format takes.
var formats = []string{"text", "json"}

func (a *app) langFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.lang, "lang", "en", "language of titles and lessons: en or zh")
}

func (a *app) formatFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.format, "format", formats[0], "how to print: text for people, json for programs")
	a.langFlag(cmd)
}

// outFlags are those of every command that runs something.
func (a *app) outFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.dir, "out", "", "directory for the histories and the summary (default reports/runs/<time>)")
	f.DurationVar(&a.guard, "guard", sim.DefaultGuard, "real time for which virtual time may stand still before a run is said to spin; a run may take 20 times as long")
	a.formatFlag(cmd)
}

// runFlags are those of a command that chooses what to run.
func (a *app) runFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Uint64Var(&a.seed, "seed", 1, "what chance follows from; the same seed gives the same history")
	f.StringVar(&a.testbed, "testbed", simulated, "what to run on: "+strings.Join(testbeds, " or "))
	f.Float64Var(&a.scale, "time-scale", defaultScale, "what the times of a scenario are multiplied by on real servers; more where they would become too short")
	f.StringSlice("impl", nil, "versions to run, separated by commas (default all)")
	f.StringSlice("check", nil, "checks to judge by, separated by commas, or all (default those of the scenario)")
	f.IntVar(&a.jobs, "jobs", 0, "how many runs go on at a time; 0 is one per core, and two on real servers")
	a.outFlags(cmd)
}

func (a *app) fullFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.full, "full", false, "leave nothing out")
}

func (a *app) briefFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.brief, "brief", false, "one line per run instead of a story")
}

// checkFlags refuses what no command accepts. A flag that the command does not
// have is at its default.
func (a *app) checkFlags() error {
	switch {
	case !slices.Contains(formats, a.format):
		return unknown("format", a.format, formats, "--format "+strings.Join(formats, " or --format "))
	case a.lang != "en" && a.lang != "zh":
		return usagef("--lang %q is neither en nor zh", a.lang)
	case !slices.Contains(testbeds, a.testbed):
		return unknown("testbed", a.testbed, testbeds, "--testbed "+strings.Join(testbeds, " or --testbed "))
	case !(a.scale > 0 && a.scale <= 1):
		return usagef("--time-scale %v is not above 0 and at most 1", a.scale)
	case a.seeds < 1:
		return usagef("--seeds %d would run nothing; it counts from 1", a.seeds)
	case uint64(a.seeds-1) > math.MaxUint64-a.seed:
		return usagef("--seed %d has no %d seeds from there on", a.seed, a.seeds)
	case a.jobs < 0:
		return usagef("--jobs %d is negative; 0 is one per core", a.jobs)
	case a.guard <= 0:
		return usagef("--guard %v leaves a run no time", a.guard)
	}
	return nil
}

// chosen returns the names that a flag such as --impl gives, each once, or all
// of them when the flag is not there or says all. A flag that is there and
// empty, as of a shell variable that is not set, is a mistake.
func chosen(cmd *cobra.Command, flag, what string, all []string) ([]string, error) {
	if !cmd.Flags().Changed(flag) {
		return all, nil
	}
	given, err := cmd.Flags().GetStringSlice(flag)
	if err != nil {
		return nil, err
	}
	if len(given) == 1 && given[0] == "all" {
		return all, nil
	}
	var names []string
	for _, name := range given {
		name = strings.TrimSpace(name)
		if !slices.Contains(all, name) {
			return nil, unknown(what, name, all, "lockpick list "+what+"s")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, usagef("--%s names no %s; see lockpick list %ss", flag, what, what)
	}
	return names, nil
}
