package faults

import "fmt"

// Evicter is a world whose nodes can lose a key, as a Redis does that runs out of
// memory under an eviction policy.
type Evicter interface {
	Evict(node, key string) error
}

// Evict takes one key from a node, once, whatever its time to live.
type Evict struct {
	Node, Key string
}

// Name implements Fault.
func (Evict) Name() string { return "evict" }

// Target implements Fault.
func (f Evict) Target() string { return fmt.Sprintf("%s: %s", f.Node, f.Key) }

// Uses implements Fault.
func (f Evict) Uses() []Use { return []Use{{f.Node, Node}} }

// Inject implements Fault. It cannot be healed.
func (f Evict) Inject(w World) (func(), error) {
	e, ok := w.(Evicter)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, e.Evict(f.Node, f.Key)
}
