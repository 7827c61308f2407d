package faults

import (
	"fmt"
	"time"
)

// Slower is a world whose links can be made slower than they are. Delays add up;
// a negative one takes away what was added.
type Slower interface {
	Slow(l Link, d Direction, by time.Duration) error
}

// Slow adds to the latency of every message over a link.
type Slow struct {
	Link      Link
	Direction Direction
	By        time.Duration
}

// Name implements Fault.
func (Slow) Name() string { return "slow" }

// Target implements Fault.
func (f Slow) Target() string { return fmt.Sprintf("%s by %v", f.Link.target(f.Direction), f.By) }

// Uses implements Fault.
func (f Slow) Uses() []Use { return f.Link.uses() }

// Inject implements Fault; healing takes the delay away.
func (f Slow) Inject(w World) (func(), error) {
	s, ok := w.(Slower)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := s.Slow(f.Link, f.Direction, f.By); err != nil {
		return nil, err
	}
	return func() { _ = s.Slow(f.Link, f.Direction, -f.By) }, nil
}
