// Package child runs programs that must not outlive this one.
//
// It knows nothing of what they do. Each runs in a process group of its own, so
// that a signal from the terminal does not reach it and one from here reaches
// what it has started as well.
//
// The rule that surprises: on Linux the kernel kills the program when this
// process ends, even by SIGKILL; to the kernel the parent is the thread that
// started it, which is therefore kept until the program has ended. Elsewhere a
// program outlives a parent that is killed.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Process is a program that was started. It is safe for concurrent use.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended; to be read once ended is closed
}

// Start starts the program.
func Start(cmd *exec.Cmd) (*Process, error) {
	group(cmd)
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("child: start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// PID is the program's process number, and that of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err says how the program ended: nil with exit status 0, or while it still runs.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return p.err
	default:
		return nil
	}
}

// send sends a signal to the program's group. A program that has ended is no
// error.
func (p *Process) send(what string, signal func(pid int) error) error {
	select {
	case <-p.ended: // the number may be somebody else's now
		return nil
	default:
	}
	if err := signal(p.PID()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("child: %s %s: %w", what, p.cmd.Path, err)
	}
	return nil
}
