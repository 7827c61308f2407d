package faults

import "cmp"

// Pauser is a world whose clients and nodes can be stopped in place.
type Pauser interface {
	Pause(name string) error
	Resume(name string) error
}

// Pause stops a client or a node, whichever is named: its I/O and its work stand
// still until it is healed. What a node was sent meanwhile it executes then.
type Pause struct{ Client, Node string }

// Name implements Fault.
func (Pause) Name() string { return "pause" }

// Target implements Fault.
func (f Pause) Target() string { return cmp.Or(f.Client, f.Node) }

// Uses implements Fault.
func (f Pause) Uses() []Use { return either(f.Client, f.Node) }

// Inject implements Fault; healing lets it go on.
func (f Pause) Inject(w World) (func(), error) {
	p, ok := w.(Pauser)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := p.Pause(f.Target()); err != nil {
		return nil, err
	}
	return func() { _ = p.Resume(f.Target()) }, nil // it was there to be paused
}
