package checker

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/checker/history"
)

func noOrphan() Check {
	return Check{
		Name:    "no-orphan",
		Letter:  "K",
		Promise: "After all clients have stopped, no key lives past its TTL and none lacks one.",
		How: "By two looks at the lock nodes' keys after the clients have stopped: at once, when no key may be without " +
			"a TTL, and after a lease's time, when no key may be left, on replicas neither. It counts every key, not only " +
			"the lock's own, except counters: a key beside the lock's own that never had a TTL and whose value is a plain " +
			"number, such as a counter of fences, or the lock's own that counts its holders and is 0, is state that is meant to stay; those are only counted. " +
			"Unknown when nobody looked after the lease's time and no violation was found before.",
		judge: judgeNoOrphan,
	}
}

func judgeNoOrphan(ix *index) Result {
	if ix.quiet == forever {
		return undecided("the clients did not come to rest")
	}
	keep := ix.counters()
	told := map[place]bool{}
	onPrimary := map[string]bool{} // by key: told of a primary
	looked := false
	var ev evidence
	var repeated []int // what replicas have
	tell := func(i int) {
		r := ix.rec(i)
		if told[place{r.Who, r.Key}] {
			return
		}
		told[place{r.Who, r.Key}] = true
		if r.Text == history.AfterLease {
			ix.tellOrphan(&ev, i, phrase("is still there %v after all clients had stopped", r.T-ix.quiet))
		} else {
			ix.tellOrphan(&ev, i, "has no TTL after all clients had stopped")
		}
	}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.T < ix.quiet {
			continue
		}
		if r.Kind == history.Note && r.Op == history.Looked && r.Text == history.AfterLease {
			looked = true
		}
		if r.Kind != history.Observe || r.Op != history.Keys || !ix.nodes[r.Who] || keep[place{r.Who, r.Key}] {
			continue
		}
		// later looks see what the newcomer left
		switch {
		case r.Text != history.AfterLease && (r.TTL != history.NoTTL || looked):
		case ix.counts(i):
			onPrimary[r.Key] = true
			tell(i)
		case r.Text == history.AfterLease:
			repeated = append(repeated, i)
		}
	}
	for _, i := range repeated {
		if !onPrimary[ix.rec(i).Key] {
			tell(i)
		}
	}
	figures := []Figure{{Name: "keys left over", Value: float64(ev.total)}}
	if len(keep) > 0 {
		figures = append(figures, Figure{Name: "counters", Value: float64(len(keep))})
	}
	if ev.total == 0 && !looked {
		return undecided("nobody looked for keys after the lease's time")
	}
	return ev.result(figures...)
}

// counters returns the keys that the harness found and that hold nobody's lease:
// plain numbers that never had a TTL, beside the lock's own; or as the lock's own,
// which count the holders, 0.
func (ix *index) counters() map[place]bool {
	out := map[place]bool{}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || r.Op != history.Keys || !ix.nodes[r.Who] {
			continue
		}
		if n, err := strconv.ParseInt(r.Owner, 10, 64); err == nil && r.TTL == history.NoTTL && (n == 0 || ix.beside(r.Key)) {
			out[place{r.Who, r.Key}] = true
		}
	}
	if len(out) == 0 {
		return out
	}
	for i := range ix.h.Records {
		if r := ix.rec(i); r.Kind == history.Observe && r.TTL > 0 {
			delete(out, place{r.Who, r.Key})
		}
	}
	return out
}

// beside reports whether a key is not the lock's own. Where the lock's own has
// another name than the one it was given, that is the shortest that contains it.
func (ix *index) beside(key string) bool {
	if !ix.lock(key) {
		return true
	}
	if key == ix.h.Header.Lock.Key || slices.Contains(ix.h.Header.Lock.Also, key) {
		return false
	}
	return slices.ContainsFunc(ix.h.Records, func(r history.Record) bool {
		return r.Kind == history.Observe && r.Op == history.Granted && ix.nodes[r.Who] &&
			len(r.Key) < len(key) && strings.Contains(key, r.Key) && ix.lock(r.Key)
	})
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
