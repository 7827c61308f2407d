package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
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
		return "", fmt.Errorf("make the directory of --out: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return "", fmt.Errorf("nothing can be written to %s: %w; --out names another directory", dir, err)
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
