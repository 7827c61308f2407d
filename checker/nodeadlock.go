package checker

import (
	"fmt"

	"lockpick/checker/history"
)

func noDeadlock() Check {
	return Check{
		Name:    "no-deadlock",
		Letter:  "D",
		Promise: "Once the faults have healed and every lease has had time to end, a newcomer gets the lock.",
		How: "By a probe: a new client that tries the lock after the others have stopped and a lease's time has passed. " +
			"One of its acquires must succeed. Unknown when there was no probe.",
		judge: judgeNoDeadlock,
	}
}

func judgeNoDeadlock(h *history.History) Result {
	ix := newIndex(h)
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
	case last == nil:
		return undecided("no newcomer tried the lock")
	case !h.Complete:
		return undecided("the history is cut short before the newcomer got the lock")
	}
	at, how := last.to, "was refused"
	switch last.outcome {
	case "":
		at, how = ix.end, "still waited"
	case history.Unknown:
		how = "gave up"
	}
	cause := fmt.Sprintf("a newcomer that came at %v %s at %v", last.from, how, at)
	if last.end >= 0 {
		cause += quoted(ix.rec(last.end).Error)
	}
	who, begin := "", -1
	if lives := ix.keys().livesAt(at); len(lives) > 0 {
		who, begin = lives[0].holder, lives[0].begin
		cause += ": " + ix.keeper(at)
	}
	var ev evidence
	ev.add(at, []string{who, history.Probe}, cause, begin, last.begin, last.end)
	return ev.result()
}
