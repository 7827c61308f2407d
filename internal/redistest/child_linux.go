package redistest

import (
	"os/exec"
	"syscall"
)

// diesWithUs lets the kernel kill the program when this process ends, however it
// ends.
func diesWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
