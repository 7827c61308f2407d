package checker

import (
	"time"

	"lockpick/checker/history"
)

func noOrphan() Check {
	return Check{
		Name:    "no-orphan",
		Letter:  "K",
		Promise: "After all clients have stopped, no key lives past its TTL and none lacks one.",
		How: "By two looks at the lock nodes' keys after the clients have stopped: at once, when no key may be without " +
			"a TTL, and after a lease's time, when no key may be left. It counts every key, not only the lock's own. " +
			"Unknown when nobody looked after the lease's time and no violation was found before.",
		judge: judgeNoOrphan,
	}
}

func judgeNoOrphan(ix *index) Result {
	if ix.quiet == forever {
		return undecided("the clients did not come to rest")
	}
	told := map[place]bool{}
	looked := false
	var ev evidence
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.T < ix.quiet {
			continue
		}
		if r.Kind == history.Note && r.Op == history.Looked && r.Text == history.AfterLease {
			looked = true
		}
		if r.Kind != history.Observe || r.Op != history.Keys || !ix.nodes[r.Who] || told[place{r.Who, r.Key}] {
			continue
		}
		switch {
		case r.Text == history.AfterLease:
			ix.tellOrphan(&ev, i, phrase("is still there %v after all clients had stopped", r.T-ix.quiet))
		case r.TTL == history.NoTTL && !looked: // later looks see what the newcomer left
			ix.tellOrphan(&ev, i, "has no TTL after all clients had stopped")
		default:
			continue
		}
		told[place{r.Who, r.Key}] = true
	}
	if ev.total == 0 && !looked {
		return undecided("nobody looked for keys after the lease's time")
	}
	return ev.result(Figure{Name: "keys left over", Value: float64(ev.total)})
}

func (ix *index) tellOrphan(ev *evidence, i int, what string) {
	r := ix.rec(i)
	cause := phrase("the key %q on %s %s", r.Key, r.Who, what)
	begin := -1
	if r.Holder != "" {
		cause += ": it is that of " + r.Holder
		if l := ix.newest(r.Who, r.Holder, r.T); l != nil && ix.lock(r.Key) {
			cause += phrase(", stored at %v", l.from)
			begin = l.begin
		}
		cause += ix.whereabouts(r.Holder, r.T)
	}
	ev.add(r.T, []string{r.Holder}, cause, i, begin)
}

// newest returns the client's value that a node holds at t, or nil.
func (ix *index) newest(node, holder string, t time.Duration) *life {
	var last *life
	for _, l := range ix.keys().of(holder, "") {
		if l.node == node && l.from <= t && l.to > t {
			last = l
		}
	}
	return last
}
