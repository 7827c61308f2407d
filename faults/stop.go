package faults

import (
	"fmt"
	"math"
	"time"
)

// Stopper is a world whose nodes can be taken down and brought up again.
type Stopper interface {
	// Stop takes a node down at once: its connections break and new ones are
	// refused. It forgets what was written in the last stretch of time given:
	// nothing for 0, everything for Everything.
	Stop(node string, lose time.Duration) error
	Start(node string) error
}

// Everything is longer than any run, for Stop.
const Everything = time.Duration(math.MaxInt64)

// Stop takes a node down.
type Stop struct {
	Node string
	Lose time.Duration // what was written in this long before is gone when it comes back
}

// Name implements Fault.
func (Stop) Name() string { return "stop" }

// Target implements Fault.
func (f Stop) Target() string {
	switch f.Lose {
	case 0:
		return f.Node
	case Everything:
		return f.Node + " with its data"
	default:
		return fmt.Sprintf("%s with the last %v of its data", f.Node, f.Lose)
	}
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
