package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockpick/reports"
)

// defaultDir is where runs go unless --out says otherwise.
const defaultDir = "reports/runs"

// outputDir makes the directory and sees to it that files can be written there.
// A directory that was named may exist; one that was not is new.
func outputDir(named string) (string, error) {
	dir := named
	if named == "" {
		var err error
		if dir, err = freshDir(time.Now()); err != nil {
			return "", fmt.Errorf("make a directory for the histories: %w; --out names another", err)
		}
	} else if err := os.MkdirAll(named, 0o755); err != nil {
		return "", usagef("make the directory of --out: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return "", usagef("nothing can be written to %s: %w; --out names another directory", dir, err)
	}
	return dir, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// freshDir makes a directory named after the time, and after a number when there
// is one already.
func freshDir(now time.Time) (string, error) {
	if err := os.MkdirAll(defaultDir, 0o755); err != nil {
		return "", err
	}
	base := filepath.Join(defaultDir, now.Format("20060102-150405"))
	for n := 1; ; n++ {
		dir := base
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// savedScenarioPath is where the scenario of a run is kept beside its history.
func savedScenarioPath(dir, name string) string { return filepath.Join(dir, name+".yaml") }

// keepScenario puts a scenario that came from a file beside the histories, where
// replay looks for it. It touches no file of that name unless an earlier run put
// it there: in a directory that was named it may be somebody's own.
func (a *app) keepScenario(dir, name string) error {
	path := savedScenarioPath(dir, name)
	f, fromFile := a.files[name]
	there, err := os.ReadFile(path)
	switch {
	case err == nil && !fromFile:
		return usagef("%s would be taken for the scenario of this run by replay; --out names another directory", path)
	case err == nil && bytes.Equal(there, f.data), !fromFile:
		return nil
	case err == nil:
		runs, err := fs.Glob(os.DirFS(dir), name+".*.jsonl")
		if err != nil || len(runs) == 0 {
			return usagef("%s is another scenario of that name and would be lost; --out names another directory", path)
		}
	}
	return os.WriteFile(path, f.data, 0o644)
}

// forgetSummary removes that of an earlier command from a directory that was
// named: it is not the summary of this one, should this one fail.
func forgetSummary(dir string) error {
	if err := os.Remove(filepath.Join(dir, reports.SummaryFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	return nil
}

// save writes the summary next to the histories, whole or not at all.
func (b *batch) save(s reports.Summary) error {
	path := filepath.Join(b.dir, reports.SummaryFile)
	f, err := os.CreateTemp(b.dir, ".summary-*")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = errors.Join(reports.JSON(w, s), w.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
