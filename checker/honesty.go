package checker

import (
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

func honesty() Check {
	return Check{
		Name:    "honesty",
		Letter:  "H",
		Promise: "What the lock tells its caller is what the servers did.",
		How: "Client and node records side by side. Acquire ok: at some instant of the call a quorum held the owner's " +
			"value. Until: not later than the servers' expiry as they knew it then, with no slack. Acquire refused: no " +
			"quorum still holds a value of this call. Extend ok: the servers held it without a gap. Release ok: this call " +
			"removed the value, or left it 10 ms at the most, and every key where several are locked as one; release refused: it did not, nor did the " +
			"nodes that it spoke to hold the value all the while. Of nodes that " +
			"have roles only what a primary held counts. A panic is no answer. Any other unknown outcome promises nothing, but " +
			"for a release or extend whose client had asked the nodes and had every answer, none of them an error: then it " +
			"knew, and did not say. Of a value that its holder writes anew the lease goes on. A release that follows an acquire or release of the " +
			"same owner with an unknown outcome need but take one level off. Unknown when no node was observed, and when the nodes do not " +
			"show whose the lock is (see ownership).",
		judge: judgeHonesty,
	}
}

func judgeHonesty(ix *index) Result {
	var ev evidence
	ix.judgePanics(&ev)
	switch {
	case ev.total > 0 && !ix.observed:
		return ev.result()
	case !ix.observed:
		return undecided("no node's record of the key")
	case ix.tried() == 0:
		return undecided("no client tried to get the lock")
	}
	why := ix.blind()
	for i := range ix.ops {
		o := &ix.ops[i]
		switch {
		case why != "" && o.outcome != history.Unknown:
			// what became of it, the nodes do not show
		case o.outcome == history.Unknown && (o.name == history.Release || o.name == history.Extend):
			ix.judgeSilence(&ev, o)
		case o.name == history.Acquire && o.outcome == history.OK:
			ix.judgeGrant(&ev, o)
		case o.name == history.Acquire && o.outcome == history.Fail:
			ix.judgeRefusal(&ev, o)
		case o.name == history.Extend && o.outcome == history.OK && o.lease >= 0:
			ix.judgeExtension(&ev, o)
		case o.name == history.Release && o.outcome == history.OK:
			ix.judgeRelease(&ev, o)
		case o.name == history.Release && o.outcome == history.Fail:
			ix.judgeNotHeld(&ev, o)
		}
	}
	if ev.total == 0 && why != "" {
		return undecided(why)
	}
	return ev.result()
}

// judgeGrant: acquire said ok. One that nests in a lease was granted if that
// lease still was.
func (ix *index) judgeGrant(ev *evidence, o *op) {
	l := &ix.leases[o.lease]
	if _, ok := newestIn(ix.reigns(l.client.name, l.owner), o.span); !ok {
		cause := phrase("%s was told at %v that it has the lock, but %s", o.client.name, o.to, ix.shortfall(l, o))
		ev.add(o.to, []string{o.client.name}, cause, o.begin, o.end)
		return
	}
	ix.judgeClaim(ev, l, o)
}

// shortfall says how near to a quorum a client's value came during o.
func (ix *index) shortfall(l *lease, o *op) string {
	nodes, places := map[string]bool{}, map[place]bool{}
	for _, life := range ix.keys().of(l.client.name, l.owner) {
		if life.meets(o.span) {
			nodes[life.node], places[life.place] = true, true
		}
	}
	switch {
	case len(nodes) >= ix.h.Header.Topology.Quorum:
		return phrase("only %d of %d keys had its value", len(places), ix.together()*len(nodes))
	case len(nodes) > 0:
		return phrase("only %d of %d nodes held its value, and %d are needed",
			len(nodes), len(ix.nodes), ix.h.Header.Topology.Quorum)
	}
	text := "the servers did not hold its value"
	for _, life := range ix.keys().lives {
		if life.meets(o.span) && life.holder != "" {
			return phrase("%s: at that time %s was that of %s", text, ix.the(life), life.holder)
		}
	}
	return text
}

// judgeClaim holds the Until that came with o against the servers' expiry.
func (ix *index) judgeClaim(ev *evidence, l *lease, o *op) {
	claim := ix.rec(o.end).Until
	if claim == 0 {
		return
	}
	since := ix.ops[l.acquire].from
	until, ok := ix.expiryOf(l.client.name, l.owner, since, o.to)
	if !ok || claim <= until {
		return
	}
	cause := phrase("%s was told at %v that the lock is its own until %v, %v longer than the servers granted it",
		l.client.name, o.to, claim, claim-until)
	ev.add(o.to, []string{l.client.name}, cause, o.begin, o.end, ix.lastTerm(l, o.to))
}

// lastTerm returns the record that last set how long a lease lives, at t.
func (ix *index) lastTerm(l *lease, t time.Duration) int {
	record := -1
	for _, life := range ix.keys().of(l.client.name, l.owner) {
		for _, m := range life.terms {
			if m.at <= t {
				record = max(record, m.record)
			}
		}
	}
	return record
}

// judgeRefusal: acquire said that it was definitely not granted.
func (ix *index) judgeRefusal(ev *evidence, o *op) {
	var left []*life
	records := []int{o.begin, o.end}
	for _, life := range ix.keys().of(o.client.name, "") {
		if o.covers(life.from) && life.since == life.from && life.to > o.to && ix.sent(life) >= o.from && !ix.inLine(life, o.to) {
			left = append(left, life)
			records = append(records, life.begin)
		}
	}
	if nodes := ix.heldBy(left); nodes == 0 || nodes < ix.h.Header.Topology.Quorum {
		return
	}
	cause := phrase("%s was told at %v that it does not have the lock, but the servers had granted it and still held it", o.client.name, o.to)
	ev.add(o.to, []string{o.client.name}, cause+quoted(ix.rec(o.end).Error), records...)
}

// sent returns when the command left its client that made the life begin: a
// packet of an earlier call may arrive during this one.
func (ix *index) sent(l *life) time.Duration { return ix.departed(l.begin) }

// inLine reports whether the life's key, a list or sorted set, has another client's
// value at t that came before it: the lock may be that one's, and this one behind it.
func (ix *index) inLine(l *life, t time.Duration) bool {
	value := ix.rec(l.begin).Owner
	if len(parts(value)) < 2 || strings.Contains(value, "=") {
		return false
	}
	for _, other := range ix.livesAt(t) {
		if other.place == l.place && other.holder != l.holder && other.from < l.from {
			return true
		}
	}
	return false
}

// quoted is an error in brackets.
func quoted(err string) string {
	if err == "" {
		return ""
	}
	return phrase(" (%s)", err)
}

// judgeExtension: extend said ok.
func (ix *index) judgeExtension(ev *evidence, o *op) {
	l := &ix.leases[o.lease]
	r, ok := ix.served(l)
	if !ok {
		return // the acquire lied; that is told already
	}
	if r.to > o.to || r.to >= o.from && ix.prolonged(l, o, r.to) {
		ix.judgeClaim(ev, l, o)
		return
	}
	cause := phrase("%s was told at %v that its lease goes on, but it had ended: %s", o.client.name, o.to, ix.story(r.last))
	ev.add(o.to, []string{o.client.name}, cause, o.begin, o.end, r.last.end)
}

// prolonged reports whether o prolonged the lease on some node before t.
func (ix *index) prolonged(l *lease, o *op, t time.Duration) bool {
	for _, life := range ix.keys().of(l.client.name, l.owner) {
		for _, m := range life.terms {
			if m.op != history.Granted && o.covers(m.at) && m.at <= t {
				return true
			}
		}
	}
	return false
}

// removal is what a release did to the value that it was to remove.
type removal struct {
	removed []*life // by this client, during the call
	left    *life   // one that was still there when it returned; nil when there was none
	nodes   int     // that had one still
	last    *life   // the newest that had ended before; nil when there was none
}

func (ix *index) removalOf(o *op) removal {
	var out removal
	nodes := map[string]bool{}
	for _, l := range ix.keys().of(o.client.name, ix.rec(o.begin).Owner) {
		switch {
		case l.from > o.to:
		case ix.cutShort(l, o):
			out.removed = append(out.removed, l)
		case l.to > o.to:
			out.left = l
			nodes[l.node] = true
		case l.to >= o.from && l.by == o.client.name && (l.how == deleted || l.how == replaced):
			out.removed = append(out.removed, l)
		case out.last == nil || l.to >= out.last.to:
			out.last = l
		}
	}
	out.nodes = len(nodes)
	return out
}

// lastMoment is the longest time that a release may leave a value to end by itself: less
// than anybody waits between two attempts.
const lastMoment = 10 * time.Millisecond

// cutShort reports whether the operation left the life but a moment, as a release may
// that sets an expiry of 1 ms instead of deleting the key.
func (ix *index) cutShort(l *life, o *op) bool {
	m := l.terms[len(l.terms)-1]
	return m.op == history.Shortened && m.by == o.client.name && o.covers(m.at) &&
		m.until-m.at <= lastMoment && min(l.to, ix.end)-m.at <= lastMoment
}

// judgeRelease: release said ok. Where nodes have roles it spoke to one of them,
// and what an old primary still has proves nothing.
func (ix *index) judgeRelease(ev *evidence, o *op) {
	if ix.owesMore(o) {
		return
	}
	r := ix.removalOf(o)
	quorum := ix.h.Header.Topology.Quorum
	if len(r.removed) > 0 && (r.nodes < quorum || ix.ordered) {
		return
	}
	if ev.full() {
		ev.total++
		return
	}
	who := []string{o.client.name}
	cause := phrase("%s was told at %v that it gave the lock back, but ", o.client.name, o.to)
	records := []int{o.begin, o.end}
	promoted, turned := ix.without(o.client.name, ix.rec(o.begin).Owner, o.to)
	switch victim := ix.deletedInstead(o); {
	case victim != nil:
		cause += phrase("it deleted the key of %s instead", victim.holder)
		who, records = append(who, victim.holder), append(records, victim.end)
		if r.last != nil {
			cause += ": before, " + ix.story(r.last)
			records = append(records, r.last.end)
		}
	case promoted != "":
		cause += "this call removed nothing: before, " + promoted
		records = append(records, turned)
	case r.nodes > 0 && ix.together() > 1:
		cause += phrase("%s still held %s", r.left.node, ix.the(r.left))
	case r.nodes > 0:
		cause += phrase("%d of %d nodes still held it", r.nodes, len(ix.nodes))
	case r.last != nil:
		cause += "this call removed nothing: before, " + ix.story(r.last)
		records = append(records, r.last.end)
	default:
		cause += "the servers had never held its value"
	}
	ev.add(o.to, who, cause, records...)
}

// deletedInstead returns another client's life that this call ended.
func (ix *index) deletedInstead(o *op) *life {
	for _, l := range ix.keys().lives {
		if l.how == deleted && l.by == o.client.name && l.holder != l.by && o.covers(l.to) {
			return l
		}
	}
	return nil
}

// owesMore reports whether the release is inside of a lease, or the client still
// had another lease of the same owner, so that it had nothing to remove yet. Where
// nobody knows what became of an earlier acquire or release of that owner, it is
// enough that this call took a level off.
func (ix *index) owesMore(o *op) bool {
	if o.lease < 0 || ix.nests(o) {
		return o.lease >= 0
	}
	if ix.tookLevel(o) && ix.vagueBefore(o.client, ix.rec(o.begin).Owner, o.begin) {
		return true
	}
	own := &ix.leases[o.lease]
	for _, n := range ix.leasesIn(section{own.client, own.round}) {
		l := &ix.leases[n]
		if l != own && l.owner == own.owner && l.from <= o.from && ix.released(l) > o.to {
			return true
		}
	}
	return false
}

// vagueBefore reports whether a client began, before record i, an acquire or
// release of an owner of which nobody knows what became. What an acquire was to store
// is not known either, unless the client has one owner for all its grants.
func (ix *index) vagueBefore(c *client, owner string, i int) bool {
	same := slices.Contains(ix.h.Header.Labels, history.LabelOneOwner) || len(ix.leasesOf(c.name, owner)) > 1
	return slices.ContainsFunc(ix.opsOf(c), func(n int) bool {
		o := &ix.ops[n]
		switch {
		case o.begin >= i || !o.unsettled():
			return false
		case o.name == history.Acquire:
			return same
		default:
			return o.name == history.Release && ix.rec(o.begin).Owner == owner
		}
	})
}

// tookLevel reports whether the release changed how deep the servers say that its
// owner is nested, and left the lock with it.
func (ix *index) tookLevel(o *op) bool {
	for _, l := range ix.keys().of(o.client.name, ix.rec(o.begin).Owner) {
		for _, m := range l.terms {
			if (m.op == history.Replaced || m.op == history.Renewed) && m.by == o.client.name && o.covers(m.at) {
				return true
			}
		}
	}
	return false
}

// judgeNotHeld: release said that the lease was no longer the client's.
func (ix *index) judgeNotHeld(ev *evidence, o *op) {
	r := ix.removalOf(o)
	quorum := ix.h.Header.Topology.Quorum
	if len(r.removed) == 0 && !ix.nests(o) {
		ix.judgeHeldOn(ev, o)
	}
	if len(r.removed) == 0 || r.nodes >= quorum || ix.together() > 1 && ix.heldBy(r.removed) == 0 {
		return // or it removed some of the keys, and another was gone
	}
	for _, s := range ix.reigns(o.client.name, ix.rec(o.begin).Owner) {
		if s.last == nil || s.last.by != o.client.name || !o.covers(s.to) {
			continue
		}
		cause := phrase("%s was told at %v that the lock was no longer its own, but this call removed it", o.client.name, o.to)
		ev.add(o.to, []string{o.client.name}, cause+quoted(ix.rec(o.end).Error), o.begin, o.end, s.last.end)
		return
	}
}

// judgeHeldOn: release said that the lease was no longer the client's, and this
// call removed nothing. It is a lie if enough of the nodes that the call spoke to
// held the value all the while.
func (ix *index) judgeHeldOn(ev *evidence, o *op) {
	var held []*life
	for _, l := range ix.keys().of(o.client.name, ix.rec(o.begin).Owner) {
		if l.from <= o.from && l.to > o.to && ix.spokeTo(l.node, o) && !(l.meant(o.to) == forever && ix.lapsed(l, o.to)) {
			held = append(held, l)
		}
	}
	if nodes := ix.heldBy(held); nodes == 0 || nodes < ix.h.Header.Topology.Quorum {
		return
	}
	cause := phrase("%s was told at %v that the lock was no longer its own, but %s held it before, during and after the call",
		o.client.name, o.to, held[0].node)
	ev.add(o.to, []string{o.client.name}, cause+quoted(ix.rec(o.end).Error), o.begin, o.end, held[0].begin)
}

// spokeTo reports whether the node executed a command of the operation's client
// during the operation.
func (ix *index) spokeTo(node string, o *op) bool {
	for i := o.begin; i < o.end; i++ {
		if r := ix.rec(i); r.Op == history.Command && r.Kind == history.Observe && r.Who == node && r.Client == o.client.name {
			return true
		}
	}
	return false
}
