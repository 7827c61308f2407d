package faults

import "strings"

// Partitioner is a world whose network can be split in two.
type Partitioner interface {
	// Partition cuts every link between one of the names and all others.
	Partition(side []string) (mend func(), err error)
}

// Partition splits the network: the clients and nodes of Side reach one another,
// and nobody else. The store of the protected resource is another network, which
// everybody still reaches, unless Side names it.
type Partition struct {
	Side []Use
}

// Name implements Fault.
func (Partition) Name() string { return "partition" }

func (f Partition) names() []string {
	names := make([]string, len(f.Side))
	for i, u := range f.Side {
		names[i] = u.Name
	}
	return names
}

// Target implements Fault.
func (f Partition) Target() string { return strings.Join(f.names(), ", ") + " from the rest" }

// Uses implements Fault.
func (f Partition) Uses() []Use { return f.Side }

// Inject implements Fault; healing mends every link.
func (f Partition) Inject(w World) (func(), error) {
	p, ok := w.(Partitioner)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return p.Partition(f.names())
}
