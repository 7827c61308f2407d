package redisd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// runsIn reports whether a process of that number runs, in dir or below. Another
// one that has been given the number since is somewhere else.
func runsIn(pid int, dir string) bool {
	at := directory(pid)
	return at == dir || strings.HasPrefix(at, dir+string(filepath.Separator))
}

// directory returns the working directory of a process of this user, "" when there
// is none or it has ended, even if nobody has asked yet how it did.
func directory(pid int) string {
	at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return ""
	}
	return at
}

// hasFaketime reports whether a process has loaded libfaketime, which the loader
// leaves out without an error from a program that it does not fit.
func hasFaketime(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && bytes.Contains(text, []byte("libfaketime"))
}

// removeShared removes what libfaketime shares between a process and its children,
// which outlives one that is killed. The semaphore is the last: libfaketime does
// not start in a process that finds the other file alone. A process that has been
// given the number since keeps its own.
func removeShared(pid int) {
	if directory(pid) != "" {
		return
	}
	for _, name := range []string{"/dev/shm/faketime_shm_%d", "/dev/shm/sem.faketime_sem_%d"} {
		file := fmt.Sprintf(name, pid)
		if info, err := os.Lstat(file); err == nil && isMine(info) {
			_ = os.Remove(file) // somebody else may be cleaning up too
		}
	}
}
