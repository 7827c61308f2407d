package faults

// Resetter is a world that can reset open connections.
type Resetter interface {
	Reset(Link) error
}

// Reset breaks the open connections of a link, once. New ones can be made.
type Reset struct{ Link Link }

// Name implements Fault.
func (Reset) Name() string { return "reset" }

// Target implements Fault.
func (f Reset) Target() string { return f.Link.String() }

// Uses implements Fault.
func (f Reset) Uses() []Use { return f.Link.uses() }

// Inject implements Fault.
func (f Reset) Inject(w World) (func(), error) {
	r, ok := w.(Resetter)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, r.Reset(f.Link)
}
