package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/internal/harness"
	"lockpick/reports"
)

func (a *app) checkCommand() *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use:   "check HISTORY…",
		Short: "Judge recorded histories",
		Long: `check applies the checks to histories that were recorded, with no server and
without running anything. What a scenario expected is not known here: any
violation is exit status 1. A history that is cut short can show a violation, but
nothing can be said to hold in it: exit status 3.`,
		Example: `  lockpick check reports/runs/20260101-120000/*.jsonl
  lockpick check run.jsonl --check mutual-exclusion,ownership`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("check needs the file of a history")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkFlags(); err != nil {
				return err
			}
			for _, name := range names {
				if _, ok := checker.Lookup(name); !ok {
					return usagef("there is no check %q%s; see lockpick list checks", name, a.hint(name, checkNames()))
				}
			}
			if len(names) == 0 {
				names = checkNames()
			}
			return a.check(args, names)
		},
	}
	a.formatFlag(cmd)
	cmd.Flags().StringSliceVar(&names, "check", nil, "checks to apply, separated by commas (default all)")
	cmd.Flags().BoolVar(&a.full, "full", false, "leave nothing out")
	return cmd
}

// check judges files. One that cannot be read is told and the others are still
// judged; the worst exit status counts.
func (a *app) check(paths, names []string) error {
	s := reports.Summary{AsExpected: true}
	var broken error
	for _, path := range paths {
		r, err := checkFile(path, names)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", path, err))
		}
		if r != nil {
			s.Runs = append(s.Runs, *r)
			s.AsExpected = s.AsExpected && r.AsExpected
		}
	}
	a.status = status(s)
	if a.format == "json" {
		if err := reports.JSON(a.out, s); err != nil {
			return err
		}
	} else {
		o := a.options()
		for i, r := range s.Runs {
			if i > 0 {
				fmt.Fprintln(a.out)
			}
			if err := reports.Story(a.out, r, nil, o); err != nil {
				return err
			}
		}
	}
	if broken != nil {
		if a.status == statusOK {
			a.status = statusUndecided
		}
		fmt.Fprintf(a.err, "lockpick: %v\n", broken)
	}
	return nil
}

// checkFile judges one history. With an error, what could be read of it is
// judged all the same, as a history that is cut short.
func checkFile(path string, names []string) (*reports.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, sum, err := history.DecodeSum(f)
	if h == nil {
		return nil, err
	}
	r := &reports.Run{
		Scenario: h.Header.Scenario, Version: h.Header.Version, Testbed: h.Header.Testbed, Seed: h.Header.Seed,
		Undecided: checker.Undecided(h), History: path, SHA256: sum, Records: h,
		Verdicts: map[string]checker.Verdict{}, Reasons: map[string]string{},
	}
	r.AsExpected = r.Undecided == ""
	for _, res := range harness.Judge(h, names) {
		r.Verdicts[res.Check] = res.Verdict
		if res.Reason != "" {
			r.Reasons[res.Check] = res.Reason
		}
		r.Findings = append(r.Findings, res.Findings...)
		r.Figures = append(r.Figures, res.Figures...)
		r.AsExpected = r.AsExpected && res.Verdict == checker.Holds
	}
	return r, err
}
