package checker

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"lockpick/checker/history"
)

func ownership() Check {
	return Check{
		Name:    "ownership",
		Letter:  "O",
		Promise: "Nobody deletes, shortens, renews or replaces a lease that is not its own.",
		How: "By the nodes' own record of the lock's key: every change names the client whose command made it and the " +
			"client that had stored the value, or for which the one before it stored it by its owner. What a replica repeats of its primary counts there alone. Of a key that " +
			"several share nobody may take away another's part before its time, nor shorten it, nor change what is beside it without a part of its own unless an acquire does. A client that, while it gives back one lease, deletes or renews a newer one of " +
			"its own counts too, and so does one that stores anew what it has given back, unless an acquire sent it. Expiry is nobody's doing. A thread may renew what " +
			"another of its process holds, and an acquire that does so by the same owner takes over what that other one has begun to give back. A lease is over for everybody after the Until that came with it, and where its key has no TTL " +
			"though leases are to have one, a TTL after its client sent what wrote the value, or when the node's clock is set. A mark that a release leaves " +
			"in place of the value is nobody's. Unknown when no node was observed, and in place of a " +
			"violation when the nodes do not show whose the lock is: the owner of no lease is the key's value or a part of it (a field of a hash " +
			"or its value, an element of a list or set, a member of a sorted set), or leases have no owner and the key holds a number that changes.",
		judge: judgeOwnership,
	}
}

var verbs = map[string]string{
	history.Deleted:   "deleted",
	history.Shortened: "shortened the TTL of",
	history.Renewed:   "renewed",
	history.Replaced:  "replaced",
}

func judgeOwnership(ix *index) Result {
	if !ix.observed {
		return undecided("no node's record of the key")
	}
	giving := ix.listReleases()
	var ev evidence
	ix.revivals(&ev)
	changes := 0
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || verbs[r.Op] == "" || !ix.nodes[r.Who] || !ix.lock(r.Key) || !ix.counts(i) {
			continue
		}
		changes++
		holder, owner := ix.victim(i)
		l := ix.keys().before[i]
		switch {
		case r.Client == "" || holder == "":
		case r.Client != holder && l != nil && (r.Op == history.Deleted || r.Op == history.Replaced) && ix.lapsed(l, r.T):
			// it was nobody's any more
		case r.Client != holder && !ix.h.Complete && ix.namer(owner) == "" && ix.acquiring(r.Client):
			// it may yet be told that the value is its own
		case r.Client != holder && r.Op == history.Renewed && ix.sameProcess(r.Client, holder):
			// one timer may serve the whole process
		case r.Client != holder:
			ix.tellForeign(&ev, i, holder, owner)
		case r.Op == history.Deleted || r.Op == history.Renewed:
			ix.tellStale(&ev, i, owner, giving[ix.clients[r.Client]])
		}
	}
	figure := Figure{Name: "changes of the key", Value: float64(changes)}
	if why := ix.blind(); ev.total > 0 && why != "" {
		return undecided(why, figure)
	}
	return ev.result(figure)
}

// acquiring reports whether a client was in an acquire when the history stopped.
func (ix *index) acquiring(client string) bool {
	o := ix.busyAt(client, ix.end)
	return o != nil && o.name == history.Acquire && o.outcome == ""
}

// revivals finds leases that their client had given back and whose value a command
// of its own stored anew, unless it is one of an acquire.
func (ix *index) revivals(ev *evidence) {
	for _, l := range ix.keys().lives {
		r := ix.rec(l.begin)
		if r.Op != history.Granted && r.Op != history.Replaced || r.Client == "" || r.Client != l.holder {
			continue
		}
		leases := ix.leasesOf(l.holder, l.owner)
		k := len(leases) - 1
		for k >= 0 && ix.leases[leases[k]].from > l.from {
			k--
		}
		if k < 0 {
			continue
		}
		last := &ix.leases[leases[k]]
		if last.release < 0 || ix.ops[last.release].to > l.from || ix.ops[last.release].unsettled() ||
			ix.during(l.holder, l.from, history.Acquire) || !ix.wasThere(l) || ix.acquired(l) {
			continue
		}
		back := &ix.ops[last.release]
		cause := phrase("%s stored %q anew%s at %v, %v after it had given it back", l.holder, l.owner, ix.on(l.node), l.from, l.from-back.to)
		command := ix.commandAt(l.begin)
		if command >= 0 && len(ix.rec(command).Command) > 0 {
			cause += " with " + strings.ToUpper(ix.rec(command).Command[0])
		}
		ev.add(l.from, []string{l.holder}, cause, l.begin, command, back.begin, back.end)
	}
}

// wasThere reports whether the life's value had been on its node before; or on any,
// where one is enough.
func (ix *index) wasThere(l *life) bool {
	return slices.ContainsFunc(ix.keys().of(l.holder, l.owner), func(o *life) bool {
		return o.begin < l.begin && (o.place == l.place || ix.h.Header.Topology.Quorum == 1)
	})
}

// acquired reports whether the command that made the life begin is one that an
// acquire sent: it was late, or it was sent again, as a quorum lock does that goes on
// without a slow node.
func (ix *index) acquired(l *life) bool {
	if ix.during(l.holder, ix.sent(l), history.Acquire) {
		return true
	}
	c := ix.commandAt(l.begin)
	return c >= 0 && slices.ContainsFunc(ix.alike(ix.rec(c)), func(k int) bool {
		o := ix.rec(k)
		return k < c && ix.during(o.Client, cmp.Or(o.Sent, o.T), history.Acquire)
	})
}

// victim returns who had stored the value that record i changed, and the value.
// The record says so itself, except that a replaced value's holder may be the
// client that replaced it.
func (ix *index) victim(i int) (holder, owner string) {
	r := ix.rec(i)
	holder, owner = r.Holder, r.Owner
	if r.Op == history.Replaced {
		owner = r.Was
	}
	l := ix.keys().before[i]
	shared := ix.keys().sharing[i] && len(parts(owner)) > 0 // the node knows but the client that changed it last
	switch {
	case ix.isPool(owner) || ix.keys().marks[i]:
		return "", ""
	case shared:
		holder, owner = "", ""
	}
	if l != nil && (r.Op == history.Replaced || holder == "" || shared || l.handed) {
		holder, owner = l.holder, l.owner
		if n := len(l.also); n > 0 {
			owner = l.also[n-1]
		}
	}
	return holder, owner
}

// tellForeign adds the finding that record i changed another client's lease.
func (ix *index) tellForeign(ev *evidence, i int, holder, owner string) {
	if ev.full() {
		ev.total++
		return
	}
	r := ix.rec(i)
	key := "the key"
	if len(ix.h.Header.Lock.Also) > 0 {
		key = phrase("the key %q", r.Key)
	}
	cause := phrase("%s %s %s of %s%s at %v", r.Client, verbs[r.Op], key, holder, ix.on(r.Who), r.T)
	command := ix.commandAt(i)
	if command >= 0 && len(ix.rec(command).Command) > 0 {
		cause += " with " + strings.ToUpper(ix.rec(command).Command[0])
	}
	begin, before := -1, -1
	if l := ix.keys().before[i]; l != nil {
		begin = l.begin
	}
	if l := ix.lastLifeBefore(i, r.Client); l != nil {
		before = l.end
		cause += ": its own was over, " + ix.story(l)
	} else if owner != "" {
		cause += phrase(": it had not stored %q", owner)
	}
	ev.add(r.T, []string{r.Client, holder}, cause, i, command, begin, before)
}

// tellStale adds the finding that record i changed a lease of the client's own
// while the client was giving back another one.
func (ix *index) tellStale(ev *evidence, i int, owner string, giving []giving) {
	r := ix.rec(i)
	o := ix.releasingAt(giving, r.T)
	if o == nil || owner == "" {
		return
	}
	given := ix.rec(o.begin).Owner
	if l := ix.keys().before[i]; given == "" || owned("", given) == owned("", owner) || l != nil && l.named(given) || !ix.newer(o, owner) {
		return
	}
	cause := phrase("%s %s its own newer lease %q%s at %v while it gave back %q", r.Client, verbs[r.Op], owner, ix.on(r.Who), r.T, given)
	ev.add(r.T, []string{r.Client}, cause, i, o.begin)
}

// newer reports whether the client was granted the lock with the owner after it was with
// what the release o gives back. What an attempt has left that came to nothing may be
// taken away at any time.
func (ix *index) newer(o *op, owner string) bool {
	return slices.ContainsFunc(ix.leasesOf(o.client.name, owner), func(n int) bool {
		return o.lease < 0 || ix.leases[n].from > ix.leases[o.lease].from
	})
}

// giving is a release with the latest end of all releases of its client so far.
type giving struct {
	op     int
	latest time.Duration
}

// listReleases returns every client's releases in the order in which they began.
func (ix *index) listReleases() map[*client][]giving {
	out := map[*client][]giving{}
	for n := range ix.ops {
		o := &ix.ops[n]
		if o.name != history.Release {
			continue
		}
		latest := o.to
		if list := out[o.client]; len(list) > 0 {
			latest = max(latest, list[len(list)-1].latest)
		}
		out[o.client] = append(out[o.client], giving{n, latest})
	}
	return out
}

// releasingAt returns the one release that was open at t, or nil when there was
// none or more than one.
func (ix *index) releasingAt(list []giving, t time.Duration) *op {
	var found *op
	k := sort.Search(len(list), func(k int) bool { return ix.ops[list[k].op].from > t })
	for k--; k >= 0 && list[k].latest >= t; k-- { // else no earlier one was open any more
		o := &ix.ops[list[k].op]
		if !o.open(t) {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	return found
}

// lastLifeBefore returns the client's last life on the node of record i that
// had ended by then.
func (ix *index) lastLifeBefore(i int, client string) *life {
	r := ix.rec(i)
	var last *life
	for _, l := range ix.keys().of(client, "") {
		if l.node == r.Who && l.key == r.Key && l.to <= r.T && l.end < i && l.end >= 0 {
			last = l
		}
	}
	return last
}
