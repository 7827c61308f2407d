package harness

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/scenarios"
)

// section is one critical section: acquire, read, work, write, release, all under
// its own context. When that is cancelled the client gives back what it has at
// once, under the same context, as a handler does that has deferred the release.
func (c *client) section(ctx context.Context) {
	leases := c.nest(ctx)
	if len(leases) == 0 {
		return
	}
	over := c.watch(leases[0])
	innermost := len(leases) - 1
	leases[innermost] = c.use(ctx, leases[innermost])
	close(over)
	if c.keeps() {
		return
	}
	kept := len(leases) - min(len(leases), releases(c.run.Scenario.Workload))
	for i := innermost; i >= kept; i-- {
		c.release(ctx, leases[i], i+1)
	}
}

// keeps reports whether the client's task ends without giving back the lock.
func (c *client) keeps() bool { return slices.Contains(c.run.Scenario.Workload.Keep, c.name) }

// releases is how often a section gives the lock back, at most; a scenario that
// does not say means every time.
func releases(w scenarios.Workload) int {
	if w.Releases > 0 {
		return w.Releases
	}
	return max(w.Nest, 1)
}

// nest acquires the lock as often as the scenario says, one inside the other, up
// to the first time that it does not get it.
func (c *client) nest(ctx context.Context) []impls.Lease {
	var leases []impls.Lease
	for range max(c.run.Scenario.Workload.Nest, 1) {
		lease, err := c.acquire(ctx, len(leases)+1)
		if err != nil {
			break
		}
		leases = append(leases, lease)
	}
	return leases
}

// acquire gets the lock, to the given depth: 1 for the first time in a section.
func (c *client) acquire(ctx context.Context, depth int) (impls.Lease, error) {
	return c.acquireBy(ctx, history.Record{Depth: inside(depth)}, c.lock.Acquire)
}

// inside is the depth as the history has it: 0 for what is not nested.
func inside(depth int) int {
	if depth == 1 {
		return 0
	}
	return depth
}

// acquireBy gets the lock by one of its methods. r says how, for the history.
func (c *client) acquireBy(ctx context.Context, r history.Record, method func(context.Context) (impls.Lease, error)) (impls.Lease, error) {
	c.client.Enter(faults.InAcquire)
	r.Op, r.Key = history.Acquire, c.key
	op := c.invoke(r)
	c.tell(faults.Acquiring)
	var lease impls.Lease
	err := call(func() (err error) {
		lease, err = method(ctx)
		return err
	})
	c.client.Checkpoint() // the call returns when the client runs
	learned := history.Record{}
	if err == nil {
		learned = c.learned(lease)
	}
	if err == nil || r.Depth > 1 {
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
	v, ok := c.read(ctx)
	if !ok {
		return l
	}
	w := c.run.Scenario.Workload
	l, goOn := c.labour(ctx, l, c.workTime())
	next, ok := c.next(v)
	if !ok || !goOn || w.Heed && !c.heed(l) {
		return l
	}
	c.tell(faults.Writing)
	c.client.Checkpoint()
	if ctx.Err() != nil {
		return l
	}
	op := c.invoke(history.Record{Op: history.Write, Value: history.Int(next), Fence: l.Fence})
	op.end(c.client.Write(ctx, next, l.Fence), history.Record{})
	c.tell(faults.Written)
	return l
}

// read reads the resource, unless the section is over.
func (c *client) read(ctx context.Context) (int64, bool) {
	c.tell(faults.Reading)
	if ctx.Err() != nil {
		return 0, false
	}
	op := c.invoke(history.Record{Op: history.Read})
	v, err := c.client.Read(ctx)
	if err != nil {
		op.end(err, history.Record{})
		return 0, false
	}
	op.end(nil, history.Record{Value: history.Int(v)})
	return v, true
}

// workTime is how long the client works in its section.
func (c *client) workTime() time.Duration {
	return workOf(c.run.Scenario.Workload, c.name, c.run.sectionNumber(c.number, c.round))
}

// labour works for d and extends the lease meanwhile, if the scenario says so and
// the lock can. It reports false when the section was cancelled, an extend
// panicked, or the client heeds its lease and was told that it is gone.
func (c *client) labour(ctx context.Context, l impls.Lease, d time.Duration) (impls.Lease, bool) {
	w := c.run.Scenario.Workload
	lock, ok := c.lock.(impls.Extender)
	for ok && w.Extend > 0 && d > w.Extend {
		if !c.sleep(ctx, w.Extend) {
			return l, false
		}
		d -= w.Extend
		op := c.invoke(history.Record{Op: history.Extend, Key: c.key, Owner: c.client.Label(l.Owner)})
		var extended impls.Lease
		answered, err := c.asked(func() (err error) {
			extended, err = lock.Extend(ctx, l)
			return err
		})
		c.client.Checkpoint()
		learned := history.Record{Answered: answered}
		if err == nil {
			l, learned = extended, c.learned(extended)
		}
		op.end(err, learned)
		if w.Heed && errors.Is(err, impls.ErrNotHeld) || isPanic(err) {
			return l, false
		}
	}
	return l, c.sleep(ctx, d)
}

// next is what the section makes of the resource. It is not done when there is
// nothing left in stock.
func (c *client) next(v int64) (int64, bool) {
	switch c.run.Scenario.Workload.Resource {
	case counter:
		return v + 1, true
	case stock:
		return v - 1, v > 0
	default: // register: every write is of a value of its own
		return int64(c.number)*1_000_000 + int64(c.round), true
	}
}

// The resources that are changed by one.
const (
	counter = "counter"
	stock   = "stock"
)

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

// release gives back what was acquired to the given depth.
func (c *client) release(ctx context.Context, l impls.Lease, depth int) {
	c.client.Enter(faults.InRelease)
	op := c.invoke(history.Record{
		Op: history.Release, Key: c.key, Owner: c.client.Label(l.Owner), Depth: inside(depth),
	})
	c.tell(faults.Releasing)
	answered, err := c.asked(func() error { return c.lock.Release(ctx, l) })
	c.client.Checkpoint()
	if depth > 1 {
		c.client.Enter(faults.InHold)
	} else {
		c.client.Enter("")
	}
	op.end(err, history.Record{Answered: answered})
	c.tell(faults.Released)
}

// reading is the section of a client that reads, twice, while it has the lock in
// shared mode: what it reads must not change under it.
func (c *client) reading(ctx context.Context) {
	lock, ok := c.lock.(impls.SharedLocker)
	if !ok {
		c.run.fail(errNotShared)
		return
	}
	lease, err := c.acquireBy(ctx, history.Record{Shared: true}, lock.AcquireShared)
	if err != nil {
		return
	}
	over := c.watch(lease)
	if _, ok := c.read(ctx); ok {
		var goOn bool
		if lease, goOn = c.labour(ctx, lease, c.workTime()); goOn {
			c.read(ctx)
		}
	}
	close(over)
	if !c.keeps() {
		c.release(ctx, lease, 1)
	}
}

// errNotShared means that a version's Traits promise more than it has.
var errNotShared = errors.New("the version says that it has a shared mode, and its lock is no SharedLocker")
