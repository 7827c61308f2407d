package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/checker/history"
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
	a.outFlags(cmd)
	a.fullFlag(cmd)
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
	if !slices.Contains(testbeds, head.Testbed) {
		return usagef("%s was recorded on testbed %q, which is not available; there is %s", path, head.Testbed, strings.Join(testbeds, " and "))
	}
	a.testbed, a.scale = head.Testbed, head.TimeScale
	sc, err := a.savedScenario(path, head.Scenario)
	if err != nil {
		return err
	}
	vs, err := versions([]string{head.Version})
	if err != nil {
		return err
	}
	b, err := a.newBatch(cmd.Context(), []*scenarios.Scenario{sc})
	if err != nil {
		return err
	}
	b.twice, b.keep = b.simulates(), true
	jobs, skipped := b.plan(vs, head.Seed, 1)
	s, err := b.run(cmd.Context(), jobs, skipped)
	if err != nil {
		return err
	}
	a.status = status(s)
	if err := a.tell(s, b.scenarios, true); err != nil {
		return err
	}
	if a.format == "text" && len(s.Runs) == 1 && b.simulates() {
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
	files, err := histories(path)
	switch {
	case err != nil:
		return "", err
	case len(files) > 1:
		return "", usagef("there are %d histories in %s; name one of them", len(files), path)
	}
	return files[0], nil
}

// histories lists those of a directory, of which there is at least one.
func histories(dir string) ([]string, error) {
	files, err := fs.Glob(os.DirFS(dir), "*.jsonl")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, usagef("there is no history in %s", dir)
	}
	for i, f := range files {
		files[i] = filepath.Join(dir, f)
	}
	return files, nil
}

// savedScenario returns the scenario as it was saved with the run, or else the
// catalogue's.
func (a *app) savedScenario(path, name string) (*scenarios.Scenario, error) {
	saved := savedScenarioPath(filepath.Dir(path), name)
	s, err := a.load(saved)
	switch {
	case errors.Is(err, fs.ErrNotExist) && slices.Contains(scenarios.Names(), name):
		return scenarios.Lookup(name, known())
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s: its scenario %q is neither in the catalogue nor saved beside it as %s", path, name, saved)
	case err != nil:
		return nil, usagef("the scenario that was saved with the run: %w", err)
	}
	return s, nil
}
