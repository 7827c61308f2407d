package redisd

import (
	"context"
	"fmt"
	"time"
)

// Pause stops the process where it is, with SIGSTOP. When it returns, on Linux, no
// thread of it runs any more; elsewhere they stop soon. It is ErrDown when there is
// no process.
func (s *Server) Pause() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	l, err := s.running()
	if err == nil {
		err = l.process.Pause()
	}
	if err == nil {
		_, err = s.running() // it may have ended in place of stopping
	}
	if err != nil {
		return fmt.Errorf("redisd: pause %s: %w", s.name, err)
	}
	return nil
}

// Resume lets the process go on. One that does not stand still, or that is down, is
// no error.
func (s *Server) Resume() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	l, err := s.running()
	if err != nil {
		return nil // it was stopped while it stood still
	}
	if err := l.process.Resume(); err != nil {
		return fmt.Errorf("redisd: resume %s: %w", s.name, err)
	}
	return nil
}

// running returns the process that runs now, or ErrDown.
func (s *Server) running() (*life, error) {
	l := s.current()
	select {
	case <-l.process.Ended():
		return nil, ErrDown
	default:
		return l, nil
	}
}

// Stop kills the process, paused or not, and returns when it has ended. What was
// written within lose before is not there when it comes up again: nothing for 0,
// and everything when lose reaches back before the server was first started, or
// before a replica took over all that its primary has. The cut is never too late,
// and up to 10 ms too early, or a thousandth of lose, or the time for which this
// process got no processor. A server without Persist loses everything, and a
// Sentinel nothing. One that is down already loses the same. It is ErrClosed after
// Close.
func (s *Server) Stop(lose time.Duration) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	now := time.Now()
	err := s.end(s.current())
	switch {
	case s.isClosed():
		err = ErrClosed
	case err == nil:
		err = s.data.lose(lose, now)
	}
	if err != nil {
		return fmt.Errorf("redisd: stop %s: %w", s.name, err)
	}
	return nil
}

// Start starts the process again, with the same port and the same clock, and returns
// when it answers and has loaded its data, within 30 s. A server that runs is left
// as it is, and one that fails to start is down as before. It is ErrClosed after
// Close.
func (s *Server) Start(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if _, err := s.running(); err == nil {
		return nil
	}
	return s.run(ctx)
}

// Jump moves the clock, forward or back. The next command sees it. The ends of keys
// stay: they are times of this clock. It works while the server is down, too.
func (s *Server) Jump(by time.Duration) error {
	return s.move("move the clock of", func(c *clock) error { return c.jump(by) })
}

// Drift lets the clock run at rate seconds a second, from 0 to 100, from what it
// shows now. At 1 it runs with the machine's again, and at 0 it stands still. At
// any other rate it is set anew every 10 ms and runs with the machine's in between,
// so it is wrong by at most (rate-1) times 10 ms, on a busy machine times the pause
// between two of them; a slow one goes back by as much each time.
func (s *Server) Drift(rate float64) error {
	return s.move("drift the clock of", func(c *clock) error { return c.drift(rate) })
}

func (s *Server) move(what string, move func(*clock) error) error {
	err := ErrNoClock
	if s.clock != nil {
		err = move(s.clock)
	}
	if err != nil {
		return fmt.Errorf("redisd: %s %s: %w", what, s.name, err)
	}
	return nil
}

// Offset is how far its clock is ahead of the machine's now, 0 when it cannot be
// moved.
func (s *Server) Offset() time.Duration {
	if s.clock == nil {
		return 0
	}
	return s.clock.ahead()
}
