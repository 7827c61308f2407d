package checker

import (
	"slices"
	"strings"

	"lockpick/checker/history"
)

// judgePanics: a call panicked, which no method of a lock may.
func (ix *index) judgePanics(ev *evidence) {
	for i := range ix.ops {
		o := &ix.ops[i]
		if o.outcome != history.Unknown || !ix.rec(o.end).Panicked {
			continue
		}
		cause := phrase("%s's %s at %v did not return but panicked, and its caller does not know what came of it: %s",
			o.client.name, o.name, o.to, strings.TrimPrefix(ix.rec(o.end).Error, "panic: "))
		ev.add(o.to, []string{o.client.name}, cause, o.begin, o.end)
	}
}

// judgeSilence: a release or extend said neither yes nor no. It should have, if
// the client had every answer. Where that is not certain nobody is accused: of a
// client that was stopped or called off, of nodes that answered late or with an
// error, or that were asked whether others follow.
func (ix *index) judgeSilence(ev *evidence, o *op) {
	end := ix.rec(o.end)
	if end.Panicked || !end.Answered || ix.calledOff(o) || ix.slowed(o) {
		return
	}
	last, ok := ix.answer(o)
	if !ok {
		return
	}
	r := ix.rec(last)
	cause := phrase("%s's %s said at %v neither yes nor no%s, although every node that it asked had answered: %s said %s at %v",
		o.client.name, o.name, o.to, quoted(end.Error), r.Who, r.Reply, r.T)
	ev.add(o.to, []string{o.client.name}, cause, o.begin, last, o.end)
}

// calledOff reports whether the section of o was cancelled by then: what runs
// under its context may send nothing any more.
func (ix *index) calledOff(o *op) bool {
	section := span{to: o.to}
	if o.lease >= 0 {
		section.from = ix.ops[ix.leases[o.lease].acquire].from
	}
	return slices.ContainsFunc(o.client.cancelled, section.meets)
}

// slows are the faults that may let an answer come too late for a lock that waits
// only so long, of a node or of the client, or keep a node from answering.
var slows = map[string]bool{"cut": true, "partition": true, "hold": true, "slow": true, "pause": true, "stop": true, "refuse": true}

// slowed reports whether such a fault was in force, during o, on the way between
// its client and the lock's nodes or at one of them.
func (ix *index) slowed(o *op) bool {
	return slices.ContainsFunc(ix.faults, func(f fault) bool {
		if !slows[f.name] || !f.meets(o.span) {
			return false
		}
		return f.name == "partition" || f.names(o.client.name) ||
			slices.ContainsFunc(targets(f.target), func(name string) bool { return ix.nodes[name] })
	})
}

// answer returns the record of the last command that the client had a node execute
// during o. It is false when there is none, when a node whose answer counts was not
// asked, and when the answers to the client's process leave something open: an error,
// or how many replicas follow.
func (ix *index) answer(o *op) (record int, ok bool) {
	unheard := map[string]bool{} // by node: it did not know a script, and was not asked again
	record = -1
	for i := o.begin; i < o.end; i++ {
		r := ix.rec(i)
		if r.Op != history.Command || r.Kind != history.Observe || !ix.nodes[r.Who] || !ix.sameProcess(r.Client, o.client.name) {
			continue
		}
		name := ""
		if len(r.Command) > 0 {
			name = r.Command[0]
		}
		unknown := strings.HasPrefix(r.Reply, "(error) NOSCRIPT")
		if strings.EqualFold(name, "WAIT") || strings.Contains(r.Reply, "(error)") && !unknown {
			return -1, false
		}
		unheard[r.Who] = unknown
		if r.Client == o.client.name {
			record = i
		}
	}
	if ix.h.Header.Topology.Quorum > 1 && len(unheard) < len(ix.nodes) {
		return -1, false
	}
	for _, missing := range unheard {
		if missing {
			return -1, false
		}
	}
	return record, record >= 0
}
