//go:build unix

package child

import (
	"errors"
	"os"
	"syscall"
)

// Kill ends the program at once, paused or not.
func (p *Process) Kill() error { return p.send("kill", signaller(syscall.SIGKILL)) }

// Terminate asks the program to end.
func (p *Process) Terminate() error { return p.send("terminate", signaller(syscall.SIGTERM)) }

// Pause stops the program where it is. On Linux no instruction of it is executed
// any more when it returns; elsewhere that may take a moment longer.
func (p *Process) Pause() error {
	return p.send("pause", func(pid int) error {
		if err := signaller(syscall.SIGSTOP)(pid); err != nil {
			return err
		}
		return stopped(pid)
	})
}

// Resume lets it go on.
func (p *Process) Resume() error { return p.send("resume", signaller(syscall.SIGCONT)) }

func signaller(s syscall.Signal) func(pid int) error {
	return func(pid int) error {
		err := syscall.Kill(-pid, s)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
