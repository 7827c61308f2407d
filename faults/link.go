package faults

import (
	"cmp"
	"fmt"
)

// Link is what ties a client to a node, or two nodes to each other: a replica
// to its primary, a Sentinel to what it watches.
type Link struct {
	Client, Node string
	Peer         string // the other node, when there is no Client
}

// Far returns the end that is not Node.
func (l Link) Far() string { return cmp.Or(l.Client, l.Peer) }

func (l Link) String() string { return l.Far() + " – " + l.Node }

func (l Link) uses() []Use { return append(either(l.Client, l.Peer), Use{l.Node, Node}) }

// Direction is one way over a link, or both.
type Direction string

// The directions. A link between two nodes is struck both ways.
const (
	ToNode   Direction = "to-node"
	ToClient Direction = "to-client"
	Both     Direction = "both"
)

// Covers reports whether d includes the single direction one.
func (d Direction) Covers(one Direction) bool { return d == Both || d == one }

// target says which way a link is struck.
func (l Link) target(d Direction) string {
	switch d {
	case ToNode:
		return fmt.Sprintf("%s → %s", l.Far(), l.Node)
	case ToClient:
		return fmt.Sprintf("%s ← %s", l.Far(), l.Node)
	default:
		return l.String()
	}
}
