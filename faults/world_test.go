package faults_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockpick/faults"
)

// world is a testbed that can do everything and writes down what it is told to
// do. Its time stands still until pass is called.
type world struct {
	clock
	done  []string
	fails error        // what every ability answers
	onCut func() error // called in the middle of a cut
}

func (w *world) do(format string, args ...any) error {
	w.done = append(w.done, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
	return w.fails
}

func (w *world) Pause(c string) error  { return w.do("pause %s", c) }
func (w *world) Resume(c string) error { return w.do("resume %s", c) }
func (w *world) Crash(c string) error  { return w.do("crash %s", c) }
func (w *world) Cancel(c string) error { return w.do("cancel %s", c) }
func (w *world) Cut(l faults.Link, d faults.Direction) error {
	if w.onCut != nil {
		if err := w.onCut(); err != nil {
			return err
		}
	}
	return w.do("cut %s %s", l, d)
}
func (w *world) Mend(l faults.Link, d faults.Direction) error    { return w.do("mend %s %s", l, d) }
func (w *world) Hold(l faults.Link, d faults.Direction) error    { return w.do("hold %s %s", l, d) }
func (w *world) Release(l faults.Link, d faults.Direction) error { return w.do("release %s %s", l, d) }
func (w *world) Slow(l faults.Link, d faults.Direction, by time.Duration) error {
	return w.do("slow %s %s %v", l, d, by)
}
func (w *world) Reset(l faults.Link) error                { return w.do("reset %s", l) }
func (w *world) Jump(node string, by time.Duration) error { return w.do("jump %s %v", node, by) }
func (w *world) Evict(node, key string) error             { return w.do("evict %s %s", node, key) }
func (w *world) ForgetScripts(node string) error          { return w.do("forget %s", node) }
func (w *world) Drift(node string, rate float64) error    { return w.do("drift %s %g", node, rate) }
func (w *world) Stop(node string, lose time.Duration) error {
	return w.do("stop %s %v", node, lose)
}
func (w *world) Start(node string) error { return w.do("start %s", node) }
func (w *world) Partition(side []string) (func(), error) {
	return w.undo(w.do("partition %q", side), "join %q", side)
}
func (w *world) Refuse(node string, names []string, text string) (func(), error) {
	return w.undo(w.do("refuse %q on %s: %s", names, node, text), "obey %q on %s", names, node)
}

// undo returns how to end what was begun with err.
func (w *world) undo(err error, format string, args ...any) (func(), error) {
	if err != nil {
		return nil, err
	}
	return func() { _ = w.do(format, args...) }, nil
}

func (w *world) report(s faults.Step, c faults.Change, err error) {
	text := fmt.Sprintf("%s %s", c, s.Fault.Name())
	if err != nil {
		text += ": " + err.Error()
	}
	_ = w.do("%s", text)
}

// clock is a testbed that can do no harm at all.
type clock struct {
	now   time.Duration
	later []timer
}

type timer struct {
	at time.Duration
	f  func()
}

func (c *clock) After(d time.Duration, f func()) {
	c.later = append(c.later, timer{c.now + d, f})
}

// pass lets time pass, and everything happen that is due by then.
func (c *clock) pass(d time.Duration) {
	end := c.now + d
	for {
		slices.SortStableFunc(c.later, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
		if len(c.later) == 0 || c.later[0].at > end {
			c.now = end
			return
		}
		next := c.later[0]
		c.later = c.later[1:]
		c.now = next.at
		next.f()
	}
}

// wants compares what was done with what should have been.
func (w *world) wants(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(w.done, want) {
		t.Errorf("done:\n%q\nwant:\n%q", w.done, want)
	}
}

// schedule arms the steps in a new world and starts it.
func schedule(steps ...faults.Step) (*world, *faults.Schedule) {
	w := &world{}
	s := faults.NewSchedule(w, steps, w.report)
	s.Start()
	return w, s
}

var (
	pause = faults.Pause{Client: "client-1"}
	crash = faults.Crash{Client: "client-1"}
	link  = faults.Link{Client: "client-1", Node: "redis-1"}
)
