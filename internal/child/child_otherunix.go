//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stopped does not know.
func stopped(int) error { return nil }
