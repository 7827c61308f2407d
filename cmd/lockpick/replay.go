package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockpick/checker/history"
	"lockpick/internal/testbed/sim"
	"lockpick/reports"
	"lockpick/scenarios"
)

func (a *app) replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Run again from a saved run, same seed",
		Long: `replay takes the history of a run, or the directory of one run, carries the run
out again with the same scenario, version and seed, tells it, and says whether
the new history is the same, byte for byte.`,
		Example: `  lockpick replay reports/runs/20260101-120000/gc-pause.watchdog.1.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("replay needs the history of one run, or its directory")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkFlags(); err != nil {
				return err
			}
			return a.replay(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.dir, "out", "", "directory for the new history (default reports/runs/<time>)")
	f.DurationVar(&a.guard, "guard", sim.DefaultGuard, "real time after which a run is said to spin")
	f.BoolVar(&a.full, "full", false, "leave nothing out of the story")
	a.formatFlag(cmd)
	return cmd
}

func (a *app) replay(cmd *cobra.Command, path string) error {
	path, err := historyOf(path)
	if err != nil {
		return err
	}
	saved, err := os.ReadFile(path)
	if err != nil {
		return usageError{err}
	}
	h, sum, err := history.DecodeSum(bytes.NewReader(saved))
	if h == nil {
		return usagef("%s: %w", path, err)
	}
	head := h.Header
	sc, err := a.savedScenario(filepath.Dir(path), head.Scenario)
	if err != nil {
		return err
	}
	a.testbed, a.seed, a.impls = head.Testbed, head.Seed, []string{head.Version}
	if err := a.checkFlags(); err != nil {
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
	b.twice, b.keep = true, true
	jobs, skipped := plan([]*scenarios.Scenario{sc}, vs, a.seed, 1)
	s, err := b.run(cmd.Context(), jobs, skipped)
	if err != nil {
		return err
	}
	a.status = status(s)
	if err := a.tell(s, []*scenarios.Scenario{sc}, true); err != nil {
		return err
	}
	if a.format == "text" && len(s.Runs) == 1 {
		a.compare(h, sum, s.Runs[0], path)
	}
	return nil
}

// compare says whether the new history is the saved one.
func (a *app) compare(h *history.History, sum string, r reports.Run, path string) {
	switch {
	case sum == r.SHA256:
		a.printf("\nThe history is the same as %s, byte for byte.\n", path)
	case !h.Complete:
		a.printf("\nThe saved history %s is cut short, so the two cannot be compared.\n", path)
	default:
		a.printf("\nThe history differs from %s: the version, the scenario or lockpick has changed since.\n", path)
	}
}

// historyOf returns the history that a path means: itself, or the one in a
// directory.
func historyOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", usageError{err}
	}
	if !info.IsDir() {
		return path, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.jsonl"))
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return "", usagef("there is no history in %s", path)
	case len(files) > 1:
		return "", usagef("there are %d histories in %s; name one of them", len(files), path)
	}
	return files[0], nil
}

// savedScenario returns the scenario as it was saved with the run, or else the
// catalogue's.
func (a *app) savedScenario(dir, name string) (*scenarios.Scenario, error) {
	s, err := scenarios.Load(filepath.Join(dir, name+".yaml"), known())
	if errors.Is(err, os.ErrNotExist) {
		return a.scenario(name)
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("the scenario that was saved with the run: %w", err)}
	}
	return s, nil
}
