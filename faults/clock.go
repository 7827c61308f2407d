package faults

import (
	"cmp"
	"fmt"
	"time"
)

// Jumper is a world whose clients and nodes have wall clocks that can be moved.
type Jumper interface {
	Jump(name string, by time.Duration) error
}

// Clock moves the wall clock of a client or a node, whichever is named, forward
// or back, once. What measures time by a monotonic clock does not notice.
type Clock struct {
	Client, Node string
	Jump         time.Duration
}

// Name implements Fault.
func (Clock) Name() string { return "clock" }

// Target implements Fault.
func (f Clock) Target() string {
	sign := "" // a negative jump has its own
	if f.Jump > 0 {
		sign = "+"
	}
	return fmt.Sprintf("%s by %s%v", cmp.Or(f.Client, f.Node), sign, f.Jump)
}

// Uses implements Fault.
func (f Clock) Uses() []Use { return either(f.Client, f.Node) }

// Inject implements Fault. It is not healed: the clock stays where it is.
func (f Clock) Inject(w World) (func(), error) {
	j, ok := w.(Jumper)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, j.Jump(cmp.Or(f.Client, f.Node), f.Jump)
}
