package reports

import (
	"fmt"
	"strings"

	"lockpick/checker/history"
)

// turn is when a node of several takes a role.
type turn struct {
	record int
	role   string // history.Primary or history.Replica
}

// role returns what the node believes to be when record i is written, or "" when
// the nodes of the run have no roles.
func (c *cast) role(node string, i int) string {
	first := c.h.Header.Topology.Primary
	role := ""
	switch {
	case first == node:
		role = history.Primary
	case first != "":
		role = history.Replica
	}
	for _, t := range c.turns[node] {
		if t.record > i {
			break
		}
		role = t.role
	}
	return role
}

// starts reports whether record i says no more of a node than the header does.
func (c *cast) starts(i int) bool {
	r := c.h.Records[i]
	return c.turns[r.Who][0].record == i && c.role(r.Who, i) == c.role(r.Who, -1)
}

// becomes tells a node's new role.
func becomes(r history.Record) string {
	if r.Text == history.Replica {
		text := "is now a replica"
		if r.Target != "" {
			text += " of " + r.Target
		}
		return text
	}
	return "is now the " + r.Text
}

// promoted tells a node's new role, and what a new primary has of the lock. held
// is what the node has, key to value.
func (c *cast) promoted(r history.Record, held map[string]string) string {
	text := becomes(r)
	if r.Text != history.Primary || len(c.keys) == 0 {
		return text
	}
	var has, lacks []string
	lock := c.h.Header.Lock
	keys := append([]string{lock.Key}, lock.Also...)
	if lock.Count > 1 {
		keys = nil
		for n := range lock.Count {
			keys = append(keys, lock.KeyOf(n+1))
		}
	}
	for _, key := range keys {
		if owner, ok := held[key]; ok {
			has = append(has, owner)
		} else {
			lacks = append(lacks, key)
		}
	}
	if len(has) > 0 {
		text += ", with " + strings.Join(has, " and ")
	}
	switch {
	case lock.Count > 1 && len(has) == 0:
		text += ", without any of the locks"
	case lock.Count > 1: // most are free at any time
	case len(lacks) > 0:
		text += ", without " + strings.Join(lacks, " and ")
	}
	return text
}

// follow keeps held, by node and key, up to date with a change of a key.
func follow(held map[string]map[string]string, r history.Record) {
	if held[r.Who] == nil {
		held[r.Who] = map[string]string{}
	}
	switch r.Op {
	case history.Granted, history.Replaced:
		held[r.Who][r.Key] = r.Owner
	case history.Deleted, history.Expired:
		delete(held[r.Who], r.Key)
	}
}

// switched is the word of a Sentinel that goes by a new primary.
const switched = "+switch-master"

// sentries explains the words of Sentinel that not everybody knows.
var sentries = map[string]string{
	"+sdown":                        "it does not answer this Sentinel",
	"-sdown":                        "it answers again",
	"+odown":                        "enough Sentinels say so",
	"-odown":                        "not enough Sentinels say so any more",
	"+try-failover":                 "a failover begins",
	"+failover-end":                 "the failover is over",
	"-failover-abort-not-elected":   "this Sentinel is not elected",
	"-failover-abort-no-good-slave": "no replica can be promoted",
	"-failover-abort-slave-timeout": "the replica does not do as it is told",
	"+fix-slave-config":             "it follows the wrong primary, and is told whose replica it is",
	"+vote-for-leader":              "who is to lead the failover",
	"+elected-leader":               "this Sentinel leads the failover",
	"+selected-slave":               "it is to be promoted",
	"+promoted-slave":               "it has been promoted",
	switched:                        "clients are told of the new primary",
	"+convert-to-slave":             "it was a primary, and is told whose replica it is now",
}

// sentry tells what one or more Sentinels saw or did.
func sentry(e entry, s *spread) entry {
	e.who, e.lines = nodeList(s.nodes), s.lines
	e.text = strings.TrimSpace(s.Text + " " + s.Target)
	word, from, _ := strings.Cut(s.Text, " ")
	if why := sentries[word]; why != "" {
		e.aside = ", " + why
	}
	if word == switched {
		e.ink, e.keep = warn, true
		e.text = fmt.Sprintf("%s %s → %s", word, from, s.Target)
	}
	return e
}

func (c *cast) sentrySign(i int) string { return c.h.Records[i].Text + "\x00" + c.h.Records[i].Target }

// sentinels gathers what several Sentinels say alike, by the record of the first
// that says it.
func (c *cast) sentinels() map[int]*spread {
	var indices []int
	for i, r := range c.h.Records {
		if r.Kind == history.Observe && r.Op == history.Sentry {
			indices = append(indices, i)
		}
	}
	out := map[int]*spread{}
	for _, s := range c.gather(indices, c.sentrySign) {
		out[s.lines[0]] = s
	}
	return out
}

// topologyLine says which nodes there are and how they are tied.
func topologyLine(t history.Topology) string {
	name := orWho(t.Name, "topology")
	switch {
	case t.Primary != "" && t.Quorum == 1:
		var replicas []string
		for _, n := range t.Nodes {
			if n != t.Primary {
				replicas = append(replicas, n)
			}
		}
		text := "primary " + t.Primary
		if len(replicas) > 0 {
			text += ", replicas " + nodeList(replicas)
		}
		if len(t.Sentinels) > 0 {
			text += ", " + nodeList(t.Sentinels)
		}
		return fmt.Sprintf("%s (%s)", name, text)
	case t.Primary != "":
		return fmt.Sprintf("%s (%s, quorum %d, replicas of %s)", name, nodeList(t.Nodes), t.Quorum, t.Primary)
	case len(t.Nodes) > 1:
		return fmt.Sprintf("%s (%s, quorum %d)", name, nodeList(t.Nodes), t.Quorum)
	default:
		return fmt.Sprintf("%s (%s)", name, nodeList(t.Nodes))
	}
}
