package faults

import (
	"fmt"
	"time"
)

// Jumper is a world whose nodes have clocks that can be moved.
type Jumper interface {
	Jump(node string, by time.Duration) error
}

// Clock moves a node's clock, forward or back, once.
type Clock struct {
	Node string
	Jump time.Duration
}

// Name implements Fault.
func (Clock) Name() string { return "clock" }

// Target implements Fault.
func (f Clock) Target() string { return fmt.Sprintf("%s by %+v", f.Node, f.Jump) }

// Uses implements Fault.
func (f Clock) Uses() []Use { return []Use{{f.Node, Node}} }

// Inject implements Fault. It is not healed: the clock stays where it is.
func (f Clock) Inject(w World) (func(), error) {
	j, ok := w.(Jumper)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, j.Jump(f.Node, f.Jump)
}
