package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// soon is how long the kernel may take to stop a program. A thread that waits for
// a device stops when that has answered.
const soon = 5 * time.Second

// stopped waits until every thread of a program stands still, or it has ended.
func stopped(pid int) error {
	for end := time.Now().Add(soon); ; time.Sleep(100 * time.Microsecond) {
		still, err := standsStill(pid)
		switch {
		case err != nil || still:
			return err
		case time.Now().After(end):
			return fmt.Errorf("it still runs after %v", soon)
		}
	}
}

// standsStill looks at every thread of a program. One that is there no more stands
// still.
func standsStill(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
			continue
		case err != nil:
			return false, err
		}
		// the state follows the name, which stands in parentheses and may contain some
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		if state := bytes.TrimSpace(rest); len(state) == 0 || !bytes.ContainsAny(state[:1], "TtZX") {
			return false, nil
		}
	}
	return true, nil
}
