package faults

// Cutter is a world whose links can be cut. What is sent over a cut link is
// lost, and a connection that lost something is reset when the link is mended.
type Cutter interface {
	Cut(Link, Direction) error
	Mend(Link, Direction) error
}

// Cut loses everything sent over a link.
type Cut struct {
	Link      Link
	Direction Direction
}

// Name implements Fault.
func (Cut) Name() string { return "cut" }

// Target implements Fault.
func (f Cut) Target() string { return f.Link.target(f.Direction) }

// Uses implements Fault.
func (f Cut) Uses() []Use { return f.Link.uses() }

// Inject implements Fault; healing mends the link.
func (f Cut) Inject(w World) (func(), error) {
	c, ok := w.(Cutter)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := c.Cut(f.Link, f.Direction); err != nil {
		return nil, err
	}
	return func() { _ = c.Mend(f.Link, f.Direction) }, nil
}
