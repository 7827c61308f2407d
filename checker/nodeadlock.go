package checker

import "lockpick/checker/history"

func noDeadlock() Check {
	return Check{
		Name:    "no-deadlock",
		Letter:  "D",
		Promise: "No client waits for ever, and once the faults have healed and every lease has ended, a newcomer gets the lock.",
		How: "No client may still be in an operation when the harness has given it longer than every wait of the " +
			"scenario takes. And by a probe: a new client that tries the lock after the others have stopped and a lease's " +
			"time has passed. One of its acquires must succeed. Of several locks it tries the first. Unknown when there was no probe.",
		judge: judgeNoDeadlock,
	}
}

func judgeNoDeadlock(ix *index) Result {
	var ev evidence
	ix.stuck(&ev)
	if ev.total > 0 {
		return ev.result()
	}
	var last *op
	for i := range ix.ops {
		o := &ix.ops[i]
		if !o.client.probe() || o.name != history.Acquire {
			continue
		}
		if o.outcome == history.OK {
			return Result{Verdict: Holds}
		}
		last = o
	}
	switch {
	case last == nil && ix.number > 1:
		return idle("the newcomer tried the first lock")
	case last == nil:
		return undecided("no newcomer tried the lock")
	case !ix.h.Complete:
		return undecided("the history is cut short before the newcomer got the lock")
	}
	at, how := last.to, "was refused"
	switch last.outcome {
	case "":
		at, how = ix.end, "still waited"
	case history.Unknown:
		how = "gave up"
	default: // was refused
	}
	cause := phrase("a newcomer that came at %v %s at %v", last.from, how, at)
	if last.end >= 0 {
		cause += quoted(ix.rec(last.end).Error)
	}
	who, begin := "", -1
	if lives := ix.livesAt(at); len(lives) > 0 {
		who, begin = lives[0].holder, lives[0].begin
		cause += ": " + ix.keeper(lives, at)
	}
	ev.add(at, []string{who, history.Probe}, cause, begin, last.begin, last.end)
	return ev.result()
}

// stuck finds the clients that the harness gave up waiting for.
func (ix *index) stuck(ev *evidence) {
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Note || r.Op != history.Stuck {
			continue
		}
		cause, begin := phrase("%s %s", r.Target, r.Text), -1
		if c := ix.clients[r.Target]; c != nil {
			for _, n := range ix.opsOf(c) {
				if o := &ix.ops[n]; o.outcome == "" {
					begin = o.begin
					cause = phrase("%s has been in %s since %v and %s", c.name, o.name, o.from, r.Text)
				}
			}
		}
		ev.add(r.T, []string{r.Target}, cause, i, begin)
	}
}
