package redisd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"lockpick/internal/child"
)

// Program is a redis-server that is installed.
type Program struct {
	Path    string // absolute
	Version string // such as "7.0.15"
}

// Installed finds redis-server on the PATH and asks for its version. The error is
// ErrMissing or ErrOld, or says that the program could not be asked.
func Installed(ctx context.Context) (Program, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return Program{}, ErrMissing
	}
	said, err := output(ctx, exec.Command(path, "--version"))
	if err != nil {
		return Program{}, fmt.Errorf("redisd: ask %s for its version: %w", path, err)
	}
	p := Program{Path: path, Version: versionIn(said)}
	switch {
	case p.Version == "":
		return Program{}, fmt.Errorf("redisd: %s --version names no version: it says %q", path, said)
	case !p.atLeast(7, 0):
		return Program{}, fmt.Errorf("%w (%s is %s)", ErrOld, path, p.Version)
	}
	return p, nil
}

// output runs a program to its end and returns what it wrote.
func output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var said bytes.Buffer
	cmd.Stdout = &said
	cmd.WaitDelay = time.Second // for a grandchild that keeps the output open
	p, err := child.Start(cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Ended():
	case <-ctx.Done():
		err := p.Kill()
		<-p.Ended()
		if err == nil {
			err = context.Cause(ctx)
		}
		return "", err
	}
	return said.String(), p.Err()
}

var versionPattern = regexp.MustCompile(`\bv=([0-9]+\.[0-9]+[^ ]*)`)

// versionIn returns the version in what redis-server --version says, "" when there
// is none.
func versionIn(said string) string {
	found := versionPattern.FindStringSubmatch(said)
	if found == nil {
		return ""
	}
	return found[1]
}

var numberPattern = regexp.MustCompile(`^([0-9]+)\.([0-9]+)`)

// atLeast reports whether the program is of that version or a newer one.
func (p Program) atLeast(major, minor int) bool {
	found := numberPattern.FindStringSubmatch(p.Version)
	if found == nil {
		return false
	}
	a, errA := strconv.Atoi(found[1])
	b, errB := strconv.Atoi(found[2])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}

// Faketime says why clocks cannot be moved on this machine, "" when they can.
func Faketime() (reason string) {
	if preload() == "" {
		return "libfaketime is not installed: install it, as with apt-get install faketime"
	}
	return ""
}

// preload returns the libraries that are loaded before a server whose clock can be
// moved, "" when there is no libfaketime.
func preload() string {
	for _, pattern := range []string{"/usr/lib/*/faketime", "/usr/lib64/faketime", "/usr/lib/faketime"} {
		found, err := filepath.Glob(filepath.Join(pattern, "libfaketime.so.1"))
		if err != nil {
			continue
		}
		for _, faketime := range found {
			// glibc's malloc must win over jemalloc, which asks for the time while
			// libfaketime is still being loaded, and so hangs
			libc := filepath.Join(filepath.Dir(filepath.Dir(faketime)), "libc.so.6")
			if _, err := os.Stat(libc); err == nil {
				return faketime + ":" + libc
			}
		}
	}
	return ""
}
