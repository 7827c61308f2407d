package faults

// Pauser is a world whose clients can be stopped in place.
type Pauser interface {
	Pause(client string) error
	Resume(client string) error
}

// Pause stops a client: its I/O and its work stand still until it is healed.
type Pause struct{ Client string }

// Name implements Fault.
func (Pause) Name() string { return "pause" }

// Target implements Fault.
func (f Pause) Target() string { return f.Client }

// Uses implements Fault.
func (f Pause) Uses() []Use { return []Use{{f.Client, Client}} }

// Inject implements Fault; healing resumes the client.
func (f Pause) Inject(w World) (func(), error) {
	p, ok := w.(Pauser)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := p.Pause(f.Client); err != nil {
		return nil, err
	}
	return func() { _ = p.Resume(f.Client) }, nil // it was there to be paused
}
