package faults

// Holder is a world whose links can keep what is sent over them.
type Holder interface {
	Hold(Link, Direction) error
	Release(Link, Direction) error
}

// Hold keeps everything sent over a link, to be delivered late: the packet that
// arrives after the lease has expired.
type Hold struct {
	Link      Link
	Direction Direction
}

// Name implements Fault.
func (Hold) Name() string { return "hold" }

// Target implements Fault.
func (f Hold) Target() string { return f.Link.target(f.Direction) }

// Uses implements Fault.
func (f Hold) Uses() []Use { return f.Link.uses() }

// Inject implements Fault; healing delivers what was held, in order.
func (f Hold) Inject(w World) (func(), error) {
	h, ok := w.(Holder)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := h.Hold(f.Link, f.Direction); err != nil {
		return nil, err
	}
	return func() { _ = h.Release(f.Link, f.Direction) }, nil
}
