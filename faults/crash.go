package faults

// Crasher is a world whose clients can be killed.
type Crasher interface {
	Crash(client string) error
}

// Crash kills a client. It cannot be healed.
type Crash struct{ Client string }

// Name implements Fault.
func (Crash) Name() string { return "crash" }

// Target implements Fault.
func (f Crash) Target() string { return f.Client }

// Uses implements Fault.
func (f Crash) Uses() []Use { return []Use{{f.Client, Client}} }

// Inject implements Fault.
func (f Crash) Inject(w World) (func(), error) {
	c, ok := w.(Crasher)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, c.Crash(f.Client)
}
