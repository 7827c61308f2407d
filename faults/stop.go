package faults

// Stopper is a world whose nodes can be taken down and brought up again.
type Stopper interface {
	// Stop takes a node down at once: its connections break and new ones are
	// refused. With lose, it forgets its data.
	Stop(node string, lose bool) error
	Start(node string) error
}

// Stop takes a node down.
type Stop struct {
	Node string
	Lose bool // its data is gone when it comes back
}

// Name implements Fault.
func (Stop) Name() string { return "stop" }

// Target implements Fault.
func (f Stop) Target() string {
	if f.Lose {
		return f.Node + " with its data"
	}
	return f.Node
}

// Uses implements Fault.
func (f Stop) Uses() []Use { return []Use{{f.Node, Node}} }

// Inject implements Fault; healing starts the node again.
func (f Stop) Inject(w World) (func(), error) {
	s, ok := w.(Stopper)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	if err := s.Stop(f.Node, f.Lose); err != nil {
		return nil, err
	}
	return func() { _ = s.Start(f.Node) }, nil
}
