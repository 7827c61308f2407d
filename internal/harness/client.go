package harness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
)

// client does one client's rounds and records them. Its methods are called by
// one goroutine, except watch.
type client struct {
	run    *run
	number int // from 1
	name   string
	client testbed.Client
	lock   impls.Lock
	ids    int // operations so far
	round  int
}

func newClient(r *run, number int, name string) *client {
	return &client{run: r, number: number, name: name, client: r.world.Client(name)}
}

func (c *client) crashed() <-chan struct{} { return c.client.Context().Done() }

// record adds a record of the client's own. A client that has crashed says
// nothing any more.
func (c *client) record(r history.Record) { c.recordAs(c.name, r) }

func (c *client) recordAs(source string, r history.Record) {
	if !c.client.Alive() {
		return
	}
	r.T, r.Who, r.Round = c.run.world.Now(), c.name, c.round
	c.run.rec.Add(source, r)
}

// operation is one that is under way.
type operation struct {
	client *client
	record history.Record
}

// invoke records the beginning of an operation. Its number follows from the
// client and how many it has begun.
func (c *client) invoke(r history.Record) operation {
	clients := c.run.Scenario.Workload.Clients + 1 // and the probe
	r.Kind, r.ID = history.Invoke, c.ids*clients+c.number
	c.ids++
	c.record(r)
	return operation{c, r}
}

// end records how the operation ended, with what it learned.
func (o operation) end(err error, learned history.Record) {
	r := learned
	r.ID, r.Op, r.Key = o.record.ID, o.record.Op, o.record.Key
	if r.Owner == "" {
		r.Owner = o.record.Owner
	}
	if r.Value == nil {
		r.Value = o.record.Value
	}
	r.Fence = max(r.Fence, o.record.Fence)
	r.Kind = outcome(r.Op, err)
	if err != nil {
		r.Error = err.Error()
	}
	o.client.record(r)
}

// definite are the errors that say that an operation had no effect. Those of
// another operation do not count: an Acquire that could not tell, cleaned up and
// found nothing may say ErrNotHeld and still not know.
var definite = map[string]error{
	history.Acquire: impls.ErrNotAcquired,
	history.Release: impls.ErrNotHeld,
	history.Extend:  impls.ErrNotHeld,
	history.Write:   testbed.ErrRefused,
}

// outcome maps the error of an operation to what is known. It is the one place
// that does.
func outcome(op string, err error) history.Kind {
	switch no := definite[op]; {
	case err == nil:
		return history.OK
	case no != nil && errors.Is(err, no):
		return history.Fail
	default:
		return history.Unknown
	}
}

// work does the client's rounds.
func (c *client) work(delay time.Duration) {
	defer c.client.Enter("")
	ctx := c.client.Context()
	if !c.open(c.run.Scenario.Lock.Wait) {
		return
	}
	w := c.run.Scenario.Workload
	c.client.Sleep(delay)
	for c.round = 1; c.round <= w.Rounds && ctx.Err() == nil; c.round++ {
		if c.round > 1 {
			c.client.Sleep(w.Think)
		}
		c.section(ctx)
	}
	c.round = 0
	c.record(history.Record{Kind: history.Observe, Op: history.Done})
}

// open makes the client's handle.
func (c *client) open(wait time.Duration) bool {
	cfg := config(c.run.Scenario, c.run.Version)
	cfg.Wait = wait
	lock, err := c.client.Lock(c.run.Version, cfg)
	if err == nil && lock == nil {
		err = errors.New("its New returned neither a lock nor an error")
	}
	if err != nil {
		c.run.fail(fmt.Errorf("make the lock: %w", err))
		return false
	}
	c.lock = lock
	return true
}

// section is one critical section: acquire, read, work, write, release.
func (c *client) section(ctx context.Context) {
	lease, err := c.acquire(ctx)
	if err != nil {
		return
	}
	over := c.watch(lease)
	lease = c.use(ctx, lease)
	close(over)
	c.release(ctx, lease)
}

func (c *client) acquire(ctx context.Context) (impls.Lease, error) {
	c.client.Enter(faults.InAcquire)
	op := c.invoke(history.Record{Op: history.Acquire, Key: c.run.Scenario.Lock.Key})
	c.tell(faults.Acquiring)
	lease, err := c.lock.Acquire(ctx)
	c.client.Checkpoint() // the call returns when the client runs
	learned := history.Record{}
	if err == nil {
		learned = c.learned(lease)
		c.client.Enter(faults.InHold)
	} else {
		c.client.Enter("")
	}
	op.end(err, learned)
	if err == nil {
		c.tell(faults.Acquired)
	}
	return lease, err
}

// learned is what a lease says.
func (c *client) learned(l impls.Lease) history.Record {
	r := history.Record{Owner: c.client.Label(l.Owner), Fence: l.Fence}
	if !l.Until.IsZero() {
		r.Until = claim(c.run.world.Now(), time.Until(l.Until))
	}
	return r
}

// claim is the time of the run that lies left from now. Whatever a version
// claims stays a claim: one of the past does not become 0, which is none, and
// one of the far future does not overflow into the past.
func claim(now, left time.Duration) time.Duration {
	if left > math.MaxInt64-now {
		return math.MaxInt64
	}
	return max(now+left, 1)
}

// watch records the loss of the lease, when the version tells of it, until the
// returned channel is closed.
func (c *client) watch(l impls.Lease) (over chan struct{}) {
	over = make(chan struct{})
	if l.Lost == nil {
		return over
	}
	round := c.round
	go func() {
		select {
		case <-l.Lost:
		case <-over:
			return
		}
		c.client.Checkpoint() // a client that stands still learns nothing
		select {
		case <-over: // it went on first, and has released
			return
		default:
		}
		if !c.client.Alive() {
			return
		}
		c.run.rec.Add(c.name+"/lost", history.Record{
			T: c.run.world.Now(), Who: c.name, Kind: history.Observe, Op: history.Lost,
			Owner: c.client.Label(l.Owner), Round: round,
		})
	}()
	return over
}

// use reads the resource, works, and writes it. It returns the lease as it was
// last extended.
func (c *client) use(ctx context.Context, l impls.Lease) impls.Lease {
	c.tell(faults.Reading)
	op := c.invoke(history.Record{Op: history.Read})
	v, err := c.client.Read(ctx)
	if err != nil {
		op.end(err, history.Record{})
		return l
	}
	op.end(nil, history.Record{Value: history.Int(v)})
	w := c.run.Scenario.Workload
	l, goOn := c.labour(ctx, l, workOf(w, c.name, c.run.sectionNumber(c.number, c.round)))
	next, ok := c.change(v)
	if !ok || !goOn || w.Heed && !c.heed(l) {
		return l
	}
	c.tell(faults.Writing)
	c.client.Checkpoint()
	op = c.invoke(history.Record{Op: history.Write, Value: history.Int(next), Fence: l.Fence})
	op.end(c.client.Write(ctx, next, l.Fence), history.Record{})
	c.tell(faults.Written)
	return l
}

// labour works for d and extends the lease meanwhile, if the scenario says so and
// the lock can. It reports false when the client heeds its lease and was told
// that it is gone.
func (c *client) labour(ctx context.Context, l impls.Lease, d time.Duration) (impls.Lease, bool) {
	w := c.run.Scenario.Workload
	lock, ok := c.lock.(impls.Extender)
	for ok && w.Extend > 0 && d > w.Extend && ctx.Err() == nil {
		c.client.Sleep(w.Extend)
		d -= w.Extend
		op := c.invoke(history.Record{Op: history.Extend, Key: c.run.Scenario.Lock.Key, Owner: c.client.Label(l.Owner)})
		extended, err := lock.Extend(ctx, l)
		c.client.Checkpoint()
		learned := history.Record{}
		if err == nil {
			l, learned = extended, c.learned(extended)
		}
		op.end(err, learned)
		if w.Heed && errors.Is(err, impls.ErrNotHeld) {
			return l, false
		}
	}
	c.client.Sleep(d)
	return l, true
}

// change is what the section does to the resource. It is not done when there is
// nothing left in stock.
func (c *client) change(v int64) (int64, bool) {
	switch c.run.Scenario.Workload.Resource {
	case "counter":
		return v + 1, true
	case "stock":
		return v - 1, v > 0
	default: // register: every write is of a value of its own
		return int64(c.number)*1_000_000 + int64(c.round), true
	}
}

// heed asks the lease whether it still is one.
func (c *client) heed(l impls.Lease) bool {
	why := ""
	select {
	case <-l.Lost: // nil, which never answers, when the version does not tell
		why = "the version says that the lease is lost"
	default:
		if !l.Until.IsZero() && !time.Now().Before(l.Until) {
			why = "the lease's own time is up"
		}
	}
	c.record(history.Record{Kind: history.Observe, Op: history.Heed, Owner: c.client.Label(l.Owner), Error: why})
	return why == ""
}

func (c *client) release(ctx context.Context, l impls.Lease) {
	c.client.Enter(faults.InRelease)
	op := c.invoke(history.Record{Op: history.Release, Key: c.run.Scenario.Lock.Key, Owner: c.client.Label(l.Owner)})
	c.tell(faults.Releasing)
	err := c.lock.Release(ctx, l)
	c.client.Checkpoint()
	c.client.Enter("")
	op.end(err, history.Record{})
	c.tell(faults.Released)
}

// tell lets the schedule know what the client does.
func (c *client) tell(e faults.Event) {
	if c.client.Alive() {
		c.run.schedule.Client(c.name, e)
	}
}

// probe tries the lock, once, as a newcomer.
func (c *client) probe() {
	ctx := c.client.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.run.catch("the lock panicked")
		if !c.open(ProbeWait) {
			return
		}
		if lease, err := c.acquire(ctx); err == nil {
			c.release(ctx, lease)
		}
	}()
	limit := time.NewTimer(ProbeWait + time.Minute) // the minute is for time-outs of I/O
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		c.run.note(history.Record{Op: history.Stuck, Target: c.name, Text: "does not come back"})
	}
}

// close ends the client's background work.
func (c *client) close() {
	if c.lock == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.run.catch("the lock panicked in Close")
		_ = c.lock.Close() // nothing of the run depends on it any more
	}()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		c.run.note(history.Record{Op: history.Stuck, Target: c.name, Text: "does not come back from Close"})
	}
}
