//go:build !unix

package child

import (
	"errors"
	"os/exec"
)

func group(*exec.Cmd) {}

// Kill ends the program at once.
func (p *Process) Kill() error {
	return p.send("kill", func(int) error { return p.cmd.Process.Kill() })
}

// Terminate asks the program to end, which here is to kill it.
func (p *Process) Terminate() error { return p.Kill() }

// Pause cannot be done here.
func (p *Process) Pause() error { return p.send("pause", cannot) }

// Resume cannot be done here.
func (p *Process) Resume() error { return p.send("resume", cannot) }

func cannot(int) error { return errors.ErrUnsupported }
