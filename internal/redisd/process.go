package redisd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockpick/internal/child"
)

// pidFile has the number of a server's process while it runs, for whoever cleans
// up after this one.
const pidFile = "pid"

var (
	errPortTaken  = errors.New("its port is taken")
	errNoFaketime = errors.New("libfaketime is not loaded into it: does it fit this redis-server?")
)

// life is one process of a server.
type life struct {
	process *child.Process
	log     int64         // where its part of the log begins
	crashed chan struct{} // closed when it has ended by itself
	gone    chan struct{} // closed when it has ended and what it left is cleared away
	asked   bool          // to end; guarded by the server's mu
}

// begin starts the server's process.
func (s *Server) begin() (*life, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	log, err := os.OpenFile(s.file(logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.program.Path, s.arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	// this process may have such a clock itself
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FAKETIME") })
	if s.clock != nil {
		cmd.Env = append(cmd.Env, FaketimeEnvironment(s.clock.file)...)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // since then
		return nil, ErrClosed
	}
	process, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	l := &life{process: process, log: info.Size(), crashed: make(chan struct{}), gone: make(chan struct{})}
	s.life = l
	err = os.WriteFile(s.file(pidFile), fmt.Appendln(nil, process.PID()), 0o600)
	go s.follow(l)
	return l, err
}

// follow goes along with a process to its end, and clears away what it left.
func (s *Server) follow(l *life) {
	if s.data.kept {
		s.data.watch(l.process.Ended())
	}
	<-l.process.Ended()
	removeShared(l.process.PID())
	_ = os.Remove(s.file(pidFile)) // it may not have been written
	s.mu.Lock()
	if !l.asked {
		close(l.crashed)
	}
	s.mu.Unlock()
	close(l.gone)
}

// end kills a process and waits until it is gone. It is safe for concurrent use.
func (s *Server) end(l *life) error {
	s.mu.Lock()
	select {
	case <-l.process.Ended(): // nobody had asked for that
	default:
		l.asked = true
	}
	s.mu.Unlock()
	if err := l.process.Kill(); err != nil {
		return err
	}
	limit := time.NewTimer(soon)
	defer limit.Stop()
	select {
	case <-l.gone:
		return nil
	case <-limit.C:
		return fmt.Errorf("its process %d has not ended %v after it was killed", l.process.PID(), soon)
	}
}

// wait returns when the process answers, and what it was told at first is done. The
// error says why it never will, or that it was not to be waited for any longer.
func (s *Server) wait(ctx context.Context, l *life) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it has not answered within %v", patience))
	defer cancel()
	asking, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-l.process.Ended():
			stop() // somebody else may be at its port and leave us waiting
		case <-asking.Done():
		}
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := isUp(asking, s.addr, l.process.PID())
		if err == nil {
			err = s.greet(asking)
		}
		if err == nil {
			return s.setClock(l.process.PID())
		}
		select {
		case <-l.process.Ended():
			return s.ending(l)
		default:
		}
		select {
		case <-asking.Done(): // for one reason or the other: the next round tells
		case <-tick.C:
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
	}
}

// setClock sees to it that a process that has started has the server's clock.
func (s *Server) setClock(pid int) error {
	switch {
	case s.clock == nil:
		return nil
	case !hasFaketime(pid):
		return errNoFaketime
	}
	return s.clock.again()
}

// ending says how a process has ended that was to run.
func (s *Server) ending(l *life) error {
	if s.isClosed() {
		return ErrClosed
	}
	if bytes.Contains(s.saidSince(l.log), []byte("Address already in use")) {
		return errPortTaken
	}
	if err := l.process.Err(); err != nil {
		return fmt.Errorf("it has ended with %w", err)
	}
	return errors.New("it has ended with exit status 0")
}

// run starts the process and waits until it answers. It leaves none that does not.
func (s *Server) run(ctx context.Context) error {
	var l *life
	err := context.Cause(ctx)
	if err == nil {
		l, err = s.begin()
	}
	if err == nil {
		if err = s.wait(ctx, l); err == nil {
			return nil
		}
	}
	if l != nil {
		err = errors.Join(err, s.end(l))
		err = fmt.Errorf("%w\n%s", err, s.lastWords(l.log))
	}
	return fmt.Errorf("redisd: start %s: %w", s.name, err)
}

// logFile has all that the server's processes wrote.
const logFile = "log"

const (
	lastBytes = 4 << 10
	lastLines = 10
)

// saidSince returns the end of what the log has after that position.
func (s *Server) saidSince(position int64) []byte {
	f, err := os.Open(s.file(logFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(position, info.Size()-lastBytes)
	text := make([]byte, max(info.Size()-from, 0))
	n, _ := f.ReadAt(text, from) // what there is, is enough
	return text[:n]
}

// lastWords is the end of the log since that position, in words for an error.
func (s *Server) lastWords(position int64) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(s.saidSince(position)), "\uFFFD"))
	if text == "" {
		return "its log is empty"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(len(lines)-lastLines, 0):]
	return "the last of its log:\n" + strings.Join(lines, "\n")
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }
