package faults

// Canceller is a world whose clients can be told to stop what they do.
type Canceller interface {
	// Cancel ends the context of the client's critical section.
	Cancel(client string) error
}

// Cancel ends the context under which a client works in its critical section, as
// a server does whose caller has hung up. What the client does under that context
// from then on, giving the lock back included, is told so.
type Cancel struct{ Client string }

// Name implements Fault.
func (Cancel) Name() string { return "cancel" }

// Target implements Fault.
func (f Cancel) Target() string { return f.Client }

// Uses implements Fault.
func (f Cancel) Uses() []Use { return []Use{{f.Client, Client}} }

// Inject implements Fault. It cannot be healed; the next section has a new context.
func (f Cancel) Inject(w World) (func(), error) {
	c, ok := w.(Canceller)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, c.Cancel(f.Client)
}
