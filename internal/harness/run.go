package harness

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/internal/testbed"
	"lockpick/scenarios"
)

// run is one run under way.
type run struct {
	Setup
	rec      *history.Recorder
	world    testbed.World
	steps    []faults.Step // of the scenario, as they strike this version's topology
	cancels  bool          // one of them cancels a section
	schedule *faults.Schedule
	ended    time.Duration

	disturbed error // why the testbed says that the run shows nothing

	mu     sync.Mutex
	failed []error // faults that the testbed could not inject
}

// source is where the harness's own records come from; it sorts after the
// clients', whose doing they remark on.
const source = "~" + history.World

// carryOut is the whole of a run, in the testbed's own time.
func (r *run) carryOut(w testbed.World) {
	r.world = w
	r.schedule = faults.NewSchedule(w, r.steps, r.report)
	var all []*client
	for i, name := range r.Scenario.Clients() {
		c := newClient(r, i+1, name, r.Scenario.KeyOf(i+1))
		if i > 0 && r.Scenario.ProcessOf(i) == r.Scenario.ProcessOf(i+1) {
			c.after = all[i-1].opened
		}
		all = append(all, c)
	}
	probe := newClient(r, len(all)+1, history.Probe, r.Scenario.KeyOf(1))
	if !probe.prepare() {
		return
	}
	r.schedule.Start()
	r.work(all)
	r.quiet(probe)
	for _, c := range append(all, probe) {
		c.close()
	}
	r.ended = w.Now()
}

// work lets the clients do their rounds and returns when each of them has
// finished, crashed, or waited longer than any wait of the scenario can explain.
func (r *run) work(all []*client) {
	horizon := time.NewTimer(r.horizon())
	defer horizon.Stop()
	var finished []chan struct{}
	for i, c := range all {
		done := make(chan struct{})
		finished = append(finished, done)
		go func() {
			defer close(done)
			defer r.catch("the lock panicked")
			c.work(time.Duration(i) * r.Scenario.Workload.Stagger)
		}()
	}
	over := false
	for i, c := range all {
		if !over {
			select {
			case <-finished[i]:
				continue
			case <-c.crashed():
				continue
			case <-horizon.C:
				over = true
			}
		}
		select {
		case <-finished[i]:
		case <-c.crashed():
		default:
			r.note(history.Record{Op: history.Stuck, Target: c.name, Text: "did not finish within " + r.horizon().String()})
		}
	}
}

// scaled is what a time that the scenario does not name is at the scale of those
// that it does.
func (r *run) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.Scale)
}

// horizon is longer than any run that comes to an end: every client waits as
// long as it may in every round, every fault lasts, and a new primary is found
// after each of them.
func (r *run) horizon() time.Duration {
	sc := r.Scenario
	longest := max(sc.Workload.Work, sc.Workload.SlowWork.Work)
	for _, d := range sc.Workload.WorkOf {
		longest = max(longest, d)
	}
	calls := max(sc.Workload.Nest, 1)
	if r.Version.Strategy != nil {
		calls = changeTries
	}
	io := time.Duration(1+sc.Lock.Retries) * r.scaled(time.Minute) // time-outs
	section := config(sc, r.Version).TTL + sc.Workload.Think + longest + time.Duration(calls)*(sc.Lock.Wait+io)
	total := time.Duration(sc.Workload.Rounds)*section + time.Duration(sc.Workload.Clients)*sc.Workload.Stagger
	for _, s := range sc.Steps {
		total += s.When.At + s.When.After + s.For + r.failover()
	}
	return total
}

// failover is longer than it takes until there is one primary again, which every
// replica and Sentinel has heard of, or until replicas that nobody watches have
// caught up. It is 0 when no node depends on another.
func (r *run) failover() time.Duration {
	if topology(r.Scenario, r.Version).Primary == "" {
		return 0
	}
	return 4*r.Scenario.Topology.DownAfter + r.scaled(30*time.Second)
}

// quiet heals the faults, waits until every lease must have ended, and lets the
// probe try the lock.
func (r *run) quiet(probe *client) {
	r.schedule.Heal()
	time.Sleep(r.settling())
	r.note(history.Record{Op: history.Quiet})
	r.world.Look("quiet")
	time.Sleep(config(r.Scenario, r.Version).TTL + Slack)
	r.look("after the lease")
	probe.probe()
	r.look("end")
}

// settling is how long it takes after the end of the faults until nothing of them
// is under way: what a hold kept, a slow link still carries or a node was sent
// while it stood still is delivered and done, and the nodes agree who they are.
func (r *run) settling() time.Duration {
	d := time.Millisecond + slowest(r.steps)
	if len(r.steps) > 0 {
		d += r.failover()
	}
	return d
}

// slowest is the most that a step adds to the latency of a link.
func slowest(steps []faults.Step) time.Duration {
	most := time.Duration(0)
	for _, s := range steps {
		if f, ok := s.Fault.(faults.Slow); ok {
			most = max(most, f.By)
		}
	}
	return most
}

func (r *run) look(text string) {
	r.world.Look(text)
	r.note(history.Record{Op: history.Looked, Text: text})
}

func (r *run) note(rec history.Record) { r.noteAt(r.world.Now(), rec) }

func (r *run) noteAt(t time.Duration, rec history.Record) {
	rec.T, rec.Who, rec.Kind = t, history.World, history.Note
	r.rec.Add(source, rec)
}

// left remarks, when the world is gone, that the lock did not end with it.
func (r *run) left() {
	r.noteAt(r.ended, history.Record{Op: history.Left, Text: "code of the lock still ran, or waited, after Close"})
}

// report records what became of a step.
func (r *run) report(s faults.Step, change faults.Change, err error) {
	if err != nil {
		r.fail(fmt.Errorf("step %q: %w", s, err))
		return
	}
	// steps may change at one instant and in several goroutines: each is a source
	number := slices.IndexFunc(r.steps, func(o faults.Step) bool { return reflect.DeepEqual(o, s) })
	r.rec.Add(fmt.Sprintf("%s/%04d", source, number), history.Record{
		T: r.world.Now(), Who: history.World, Kind: history.Fault,
		Op: s.Fault.Name(), Target: s.Fault.Target(), For: s.For, Text: string(change),
	})
}

// fail remembers what kept the run from being carried out.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
}

// catch turns a panic in a goroutine of the harness into a failure of the run:
// one of New, of Close, or of the harness itself. One of the lock's other methods
// is an outcome; see call. A panic in a goroutine of the lock's own ends the process, as it
// would anywhere.
func (r *run) catch(what string) {
	if p := recover(); p != nil {
		r.fail(fmt.Errorf("%s: %v\n%s", what, p, debug.Stack()))
	}
}

// failure is the first fault that could not be injected.
func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 {
		return nil
	}
	return r.failed[0]
}

// workOf returns how long a client works in a section, the n-th of the run.
func workOf(w scenarios.Workload, client string, n int) time.Duration {
	if s := w.SlowWork; s.Every > 0 && n%s.Every == 0 {
		return s.Work
	}
	if d, ok := w.WorkOf[client]; ok {
		return d
	}
	return w.Work
}

// roundsOf returns how many sections a client does.
func roundsOf(w scenarios.Workload, client string) int {
	if n, ok := w.RoundsOf[client]; ok {
		return n
	}
	return w.Rounds
}

// sectionNumber numbers the sections of the run so that the number depends on
// the client and its round alone.
func (r *run) sectionNumber(client, round int) int {
	return (round-1)*r.Scenario.Workload.Clients + client
}
