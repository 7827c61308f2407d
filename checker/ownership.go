package checker

import (
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
			"client that had stored the value. What a replica repeats of its primary counts there alone. Of a key that " +
			"several share nobody may take away another's part before its time, nor shorten it. A client that, while it gives back one lease, deletes or renews another of " +
			"its own counts too. Expiry is nobody's doing, and a thread may renew what another of its process holds. Unknown when no node was observed.",
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
	changes := 0
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || verbs[r.Op] == "" || !ix.nodes[r.Who] || !ix.lock(r.Key) || !ix.counts(i) {
			continue
		}
		changes++
		holder, owner := ix.victim(i)
		switch {
		case r.Client == "" || holder == "":
		case r.Client != holder && r.Op == history.Renewed && ix.sameProcess(r.Client, holder):
			// one timer may serve the whole process
		case r.Client != holder:
			ix.tellForeign(&ev, i, holder, owner)
		case r.Op == history.Deleted || r.Op == history.Renewed:
			ix.tellStale(&ev, i, owner, giving[ix.clients[r.Client]])
		}
	}
	return ev.result(Figure{Name: "changes of the key", Value: float64(changes)})
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
	shared := strings.Contains(owner, "=") && ix.keys().sharing[i] // the node knows but the client that changed it last
	if shared {
		holder, owner = "", ""
	}
	if r.Op == history.Replaced || holder == "" || shared {
		if l := ix.keys().before[i]; l != nil {
			holder, owner = l.holder, l.owner
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
	if given == "" || owned("", given) == owned("", owner) {
		return
	}
	cause := phrase("%s %s its own newer lease %q%s at %v while it gave back %q", r.Client, verbs[r.Op], owner, ix.on(r.Who), r.T, given)
	ev.add(r.T, []string{r.Client}, cause, i, o.begin)
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
