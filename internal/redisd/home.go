package redisd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Home is the directory of what is started together. Its name says which process
// it belongs to, so that another one can take it away when that was killed.
type Home struct{ dir string }

// homes begins the name of every home, and marker is a file in it: nothing else is
// ever taken away.
const (
	homes  = "lockpick-servers-"
	marker = "this-is-a-home-of-lockpick"
)

// NewHome makes one in the system's directory for temporary files, and takes away
// those that killed processes have left there.
func NewHome() (*Home, error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", homes, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("redisd: make a directory for servers: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("redisd: make a directory for servers: %w", err), os.RemoveAll(dir))
	}
	return &Home{dir}, nil
}

// Close takes it away.
func (h *Home) Close() error { return os.RemoveAll(h.dir) }

// make makes a directory in it.
func (h *Home) make(name string) (string, error) {
	dir := filepath.Join(h.dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// sweep takes away the homes of processes that are gone. One that cannot be taken
// away is somebody else's.
func sweep(dir string) {
	found, err := filepath.Glob(filepath.Join(dir, homes+"*"))
	if err != nil {
		return // the pattern is good
	}
	for _, home := range found {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(home), homes), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 || runs(pid) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(home, marker)); err == nil {
			_ = os.RemoveAll(home)
		}
	}
}

// runs reports whether there is a process of that number.
func runs(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || !errors.Is(err, syscall.ESRCH)
}
