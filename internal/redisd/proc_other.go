//go:build !linux

package redisd

import (
	"os"
	"syscall"
)

// runsIn reports whether a process of that number runs, wherever it does: there is
// no telling here. It may be a server, which outlives a parent that is killed here.
func runsIn(pid int, _ string) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// hasFaketime cannot be known here.
func hasFaketime(int) bool { return true }

// removeShared has nothing to do: the libfaketime that shares such files is found
// on Linux alone.
func removeShared(int) {}
