package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/internal/harness"
	"lockpick/reports"
	"lockpick/scenarios"
)

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check HISTORY…",
		Short: "Judge recorded histories",
		Long: `check applies the checks to histories that were recorded, with no server and
without running anything. A directory stands for the histories in it. What a
scenario expected is not known here: any violation is exit status 1. A history
that is cut short can show a violation, but nothing can be said to hold in it:
exit status 3. A file that is no history is exit status 2, unless another one
shows a violation.`,
		Example: `  lockpick check reports/runs/20260101-120000 --brief
  lockpick check run.jsonl --check mutual-exclusion,ownership`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("check needs the file of a history")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkFlags(); err != nil {
				return err
			}
			names, err := chosen(cmd, "check", "check", checkNames())
			if err != nil {
				return err
			}
			return a.check(cmd.Context(), args, names)
		},
	}
	a.formatFlag(cmd)
	cmd.Flags().StringSlice("check", nil, "checks to apply, separated by commas (default all)")
	a.fullFlag(cmd)
	a.briefFlag(cmd)
	return cmd
}

// check judges files. One that cannot be read is told and the others are still
// judged; the worst exit status counts.
func (a *app) check(ctx context.Context, args, names []string) error {
	s := reports.Summary{AsExpected: true}
	refused := statusOK
	refuse := func(err error) {
		fmt.Fprintf(a.err, "lockpick: %v\n", err)
		switch {
		case !errors.Is(err, errEmpty):
			refused = statusUsage
		case refused == statusOK:
			refused = statusUndecided
		}
	}
	for _, arg := range args {
		paths, err := expand(arg)
		if err != nil {
			refuse(err)
		}
		for _, path := range paths {
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted before %s was checked", path)
			}
			r, err := checkFile(path, names)
			if err != nil {
				refuse(err)
				continue
			}
			if a.brief || a.format == "json" {
				r.Records = nil
			}
			s.Runs = append(s.Runs, *r)
			s.AsExpected = s.AsExpected && r.AsExpected
		}
	}
	a.status = status(s)
	if refused != statusOK {
		s.AsExpected = false
		if a.status != statusViolated {
			a.status = refused
		}
	}
	return a.tell(s, nil, !a.brief)
}

// expand lists the histories of a directory; a file stands for itself.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return histories(path)
	}
	return []string{path}, nil
}

// errEmpty is a history that was killed before its first line.
var errEmpty = errors.New("the file is empty, as a run leaves it that is killed before it begins")

// checkFile judges one history. One that stops making sense is judged as far as
// it goes, as a history that is cut short. The error is that there is none.
func checkFile(path string, names []string) (*reports.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, sum, err := history.DecodeSum(f)
	if info, statErr := f.Stat(); statErr == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, fmt.Errorf("%s: %w", path, errEmpty)
	}
	if h == nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &reports.Run{
		Scenario: h.Header.Scenario, Version: h.Header.Version, Testbed: h.Header.Testbed, Seed: h.Header.Seed,
		Undecided: checker.Undecided(h), History: path, SHA256: sum, Records: h,
		Verdicts: map[string]checker.Verdict{}, Reasons: map[string]string{},
	}
	if err != nil {
		r.Undecided += fmt.Sprintf(" at %v", err)
	}
	if _, err := os.Stat(savedScenarioPath(filepath.Dir(path), r.Scenario)); err == nil || !slices.Contains(scenarios.Names(), r.Scenario) {
		r.Again = "lockpick replay " + quote(path)
	}
	r.AsExpected = r.Undecided == ""
	for _, res := range harness.Judge(h, names) {
		if res.Idle && every(names) {
			r.Figures = append(r.Figures, counted(res)...)
			continue
		}
		r.Verdicts[res.Check] = res.Verdict
		if res.Reason != "" {
			r.Reasons[res.Check] = res.Reason
		}
		r.Findings = append(r.Findings, res.Findings...)
		r.Figures = append(r.Figures, res.Figures...)
		r.AsExpected = r.AsExpected && res.Verdict == checker.Holds
	}
	r.Verdict = worst(r.Verdicts)
	return r, nil
}
