package reference

import (
	"fmt"
	"strings"

	"lockpick/faults"
	"lockpick/scenarios"
)

// step tells a step as a sentence.
func step(s faults.Step) string {
	what, lasts := struck(s.Fault)
	text := when(s.When) + ", " + what
	switch {
	case lasts && s.For > 0:
		text += ", for " + short(s.For)
	case lasts:
		text += ", until the clients have stopped"
	}
	return sentence(text)
}

// events says what a client does, in the words that follow its name.
var events = map[faults.Event]string{
	faults.Acquiring: "asks for the lock",
	faults.Acquired:  "has got the lock",
	faults.Reading:   "is about to read the resource",
	faults.Writing:   "is about to write the resource",
	faults.Written:   "has written the resource",
	faults.Releasing: "is about to release the lock",
	faults.Released:  "has released the lock",
}

// phases says where in a section a command is sent.
var phases = map[faults.Phase]string{
	faults.InAcquire: "'s acquire",
	faults.InHold:    ", while it holds the lock,",
	faults.InRelease: "'s release",
}

// points says how far a command has come.
var points = map[faults.Point]string{
	faults.BeforeSend: "is about to be sent",
	faults.Applied:    "has been executed and is not answered yet",
	faults.Replied:    "has been answered, and the answer is not read yet",
}

func when(t faults.Trigger) string {
	if t.Client == "" {
		if t.At == 0 {
			return "at the start"
		}
		return short(t.At) + " after the start"
	}
	cause, nth := t.Client+" "+events[t.Event], max(t.Nth, 1)
	if w := t.Wire; w != nil {
		which, number := "command", w.Command
		if number == 0 {
			which, number, nth = codes(w.Names, " or "), nth, 1
		}
		cause = fmt.Sprintf("the %s %s of %s%s %s", ordinal(number), which, t.Client, phases[w.During], points[w.Point])
	}
	if nth > 1 {
		cause += " for the " + ordinal(nth) + " time"
	}
	if t.After > 0 {
		return short(t.After) + " after " + cause
	}
	return "when " + cause
}

func ordinal(n int) string {
	names := []string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
	if n > 0 && n < len(names) {
		return names[n]
	}
	return fmt.Sprintf("%dth", n)
}

// struck says what a fault does, and whether it lasts.
func struck(f faults.Fault) (what string, lasts bool) {
	switch f := f.(type) {
	case faults.Pause:
		return f.Target() + " stands still", true
	case faults.Crash:
		return f.Client + " dies", false
	case faults.Cancel:
		return f.Client + "'s caller hangs up: the context of its critical section ends", false
	case faults.Cut:
		return lane(f.Link, f.Direction) + " is cut", true
	case faults.Partition:
		return partition(f), true
	case faults.Hold:
		return "what is sent on " + lane(f.Link, f.Direction) + " is held back", true
	case faults.Slow:
		return lane(f.Link, f.Direction) + " gets slower by " + short(f.By), true
	case faults.Reset:
		return "the connections between " + f.Link.Far() + " and " + f.Link.Node + " are reset", false
	case faults.Drop:
		return "that " + string(f.What) + " is lost", false
	case faults.Clock:
		return fmt.Sprintf("the wall clock of %s jumps by %s", f.Client+f.Node, signed(f)), false
	case faults.Drift:
		return fmt.Sprintf("the clock of %s runs at %g times its speed", f.Node, f.Rate), true
	case faults.Evict:
		return f.Node + " loses the key " + code(f.Key), false
	case faults.ForgetScripts:
		return f.Node + " forgets its scripts", false
	case faults.Refuse:
		return refusal(f), true
	case faults.Stop:
		return stop(f), true
	default:
		return strings.TrimSpace(f.Name() + " " + f.Target()), false
	}
}

func signed(f faults.Clock) string {
	if f.Jump < 0 {
		return short(f.Jump)
	}
	return "+" + short(f.Jump)
}

func lane(l faults.Link, d faults.Direction) string {
	switch d {
	case faults.ToNode:
		return "the way from " + l.Far() + " to " + l.Node
	case faults.ToClient:
		return "the way from " + l.Node + " to " + l.Far()
	default:
		return "the link between " + l.Far() + " and " + l.Node
	}
}

func partition(f faults.Partition) string {
	var names []string
	for _, u := range f.Side {
		names = append(names, u.Name)
	}
	verb := " are cut off from all others"
	if len(names) == 1 {
		verb = " is cut off from all others"
	}
	return and(names) + verb
}

func refusal(f faults.Refuse) string {
	what := "every command"
	if len(f.Commands) > 0 {
		what = codes(f.Commands, " and ")
	}
	return fmt.Sprintf("%s answers %s with the error %s", f.Node, what, code(strings.SplitN(f.With.Text(), " ", 2)[0]))
}

func stop(f faults.Stop) string {
	switch f.Lose {
	case 0:
		return f.Node + " is down and keeps its data"
	case faults.Everything:
		return f.Node + " is down and loses its data"
	default:
		return fmt.Sprintf("%s is down and loses what was written in the last %s", f.Node, short(f.Lose))
	}
}

// nodes says what a scenario runs on.
func nodes(t scenarios.Topology) string {
	text := "one Redis"
	if t.Redis == scenarios.Sentinel {
		text = fmt.Sprintf("a primary with %s, watched by %d Sentinels to which a node is down after %s",
			count(t.Replicas, "replica"), scenarios.Sentinels, short(t.DownAfter))
		if t.MinReplicas > 0 {
			text += fmt.Sprintf("; it takes no write unless %s answered in the last %s", count(t.MinReplicas, "replica"), short(t.MaxLag))
		}
	}
	return text + fmt.Sprintf("; versions that ask a majority get %d nodes of their own instead", t.Quorum)
}
