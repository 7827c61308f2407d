package faults

import "fmt"

// Link is what ties a client to a node.
type Link struct {
	Client, Node string
}

func (l Link) String() string { return l.Client + " – " + l.Node }

func (l Link) uses() []Use { return []Use{{l.Client, Client}, {l.Node, Node}} }

// Direction is one way over a link, or both.
type Direction string

// The directions.
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
		return fmt.Sprintf("%s → %s", l.Client, l.Node)
	case ToClient:
		return fmt.Sprintf("%s ← %s", l.Client, l.Node)
	default:
		return l.String()
	}
}
