package faults

import "fmt"

// Drifter is a world whose nodes have clocks that can run fast or slow.
type Drifter interface {
	// Drift lets the node's clock run at rate seconds a second from now on.
	Drift(node string, rate float64) error
}

// Drift lets a node's clock run at another rate: at 1.1 it gains a tenth, at 0 it
// stands still.
type Drift struct {
	Node string
	Rate float64
}

// Name implements Fault.
func (Drift) Name() string { return "drift" }

// Target implements Fault.
func (f Drift) Target() string { return fmt.Sprintf("%s at rate %g", f.Node, f.Rate) }

// Uses implements Fault.
func (f Drift) Uses() []Use { return []Use{{f.Node, Node}} }

// Inject implements Fault; healing lets the clock run as it should, from what it
// shows by then.
func (f Drift) Inject(w World) (func(), error) {
	d, ok := w.(Drifter)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := d.Drift(f.Node, f.Rate); err != nil {
		return nil, err
	}
	return func() { _ = d.Drift(f.Node, 1) }, nil
}
