package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
)

// client does one client's rounds and records them. Its methods are called by
// one goroutine, except watch.
type client struct {
	run      *run
	number   int // from 1
	name     string
	key      string // of its lock
	client   testbed.Client
	lock     impls.Lock     // nil when the version is a strategy
	strategy impls.Strategy // nil when it is not
	dice     *rand.Rand     // how exactly it sleeps where it can be cancelled
	ids      int            // operations so far
	round    int

	after  <-chan struct{} // closed when the client may make its handle; nil when it need not wait
	opened chan struct{}   // closed when it has
}

func newClient(r *run, number int, name, key string) *client {
	return &client{
		run: r, number: number, name: name, key: key, client: r.world.Client(name), opened: make(chan struct{}),
		dice: rand.New(rand.NewPCG(r.Seed, uint64(number))),
	}
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
	r.ID, r.Op, r.Key, r.Text = o.record.ID, o.record.Op, o.record.Key, o.record.Text
	r.Depth, r.Shared = o.record.Depth, o.record.Shared
	if r.Owner == "" {
		r.Owner = o.record.Owner
	}
	if r.Value == nil {
		r.Value = o.record.Value
	}
	r.Fence = max(r.Fence, o.record.Fence)
	r.Kind = outcome(r.Op, err)
	r.Panicked, r.Answered = isPanic(err), r.Answered && r.Kind == history.Unknown
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
	history.Change:  impls.ErrNotChanged,
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
	if !c.openInTurn() {
		return
	}
	w := c.run.Scenario.Workload
	c.client.Sleep(delay)
	for c.round = 1; c.round <= roundsOf(w, c.name) && ctx.Err() == nil; c.round++ {
		if c.round > 1 {
			c.client.Sleep(w.Think)
		}
		c.oneRound()
	}
	c.round = 0
	c.record(history.Record{Kind: history.Observe, Op: history.Done})
}

// oneRound is one critical section, or what a strategy or a reader does instead.
// Its context ends with it, as that of a handler does. Were it to end as the next
// round begins, whatever it calls off would end at the instant at which the lock
// is asked again, and which of the two came first would be chance.
func (c *client) oneRound() {
	ctx, end := c.client.Section()
	defer end()
	switch {
	case c.strategy != nil:
		c.changing(ctx)
	case slices.Contains(c.run.Scenario.Workload.Readers, c.name):
		c.reading(ctx)
	default:
		c.section(ctx)
	}
}

// openInTurn makes the client's handle after that of the thread before it: whose
// handle makes what the process shares must not depend on which of them runs first.
func (c *client) openInTurn() bool {
	defer close(c.opened)
	if c.after != nil {
		<-c.after
	}
	return c.open(c.run.Scenario.Lock.Wait)
}

// open makes the client's handle, once.
func (c *client) open(wait time.Duration) bool {
	if c.lock != nil || c.strategy != nil {
		return true
	}
	v := c.run.Version
	cfg := config(c.run.Scenario, v)
	cfg.Key, cfg.Wait = c.key, wait
	var err error
	if v.Strategy != nil {
		c.strategy, err = c.client.Strategy(v, cfg)
	} else {
		c.lock, err = c.client.Lock(v, cfg)
	}
	if err == nil && c.lock == nil && c.strategy == nil {
		err = errors.New("its New returned neither a lock nor an error")
	}
	if err != nil {
		c.run.fail(fmt.Errorf("make the lock: %w", err))
		return false
	}
	return true
}

// sleep works for d, or until the section is cancelled. It reports whether the
// section goes on.
func (c *client) sleep(section context.Context, d time.Duration) bool {
	if c.run.cancels {
		// Client.Sleep cannot be cut short; a few nanoseconds, as there, keep two
		// clients from doing something at the same instant
		_ = impls.Sleep(section, d+time.Duration(1+c.dice.IntN(999)))
		c.client.Checkpoint() // a client that stands still notices nothing
	} else {
		c.client.Sleep(d)
	}
	return section.Err() == nil
}

// tell lets the schedule know what the client does.
func (c *client) tell(e faults.Event) {
	if c.client.Alive() {
		c.run.schedule.Client(c.name, e)
	}
}

// probe tries the lock, once, as a newcomer. Without a lock it reads what the
// strategy has made of the resource.
func (c *client) probe() {
	ctx := c.client.Context()
	wait := max(c.run.scaled(ProbeWait), time.Second)
	timeouts := max(c.run.scaled(time.Minute), 5*time.Second) // of I/O
	if !c.within(wait+timeouts, "the lock panicked", func() {
		if !c.open(wait) {
			return
		}
		if c.strategy != nil {
			c.total(ctx)
		} else if lease, err := c.acquire(ctx, 1); err == nil {
			c.release(ctx, lease, 1)
		}
	}) {
		c.run.note(history.Record{Op: history.Stuck, Target: c.name, Text: "does not come back"})
	}
}

// within calls f and reports whether it has come back before the limit. If it
// panics, that is a failure of the run, and called so.
func (c *client) within(limit time.Duration, panicked string, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.run.catch(panicked)
		f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// close ends the client's background work.
func (c *client) close() {
	if c.lock == nil {
		return
	}
	if !c.within(time.Minute, "the lock panicked in Close", func() {
		_ = c.lock.Close() // nothing of the run depends on it any more
	}) {
		c.run.note(history.Record{Op: history.Stuck, Target: c.name, Text: "does not come back from Close"})
	}
}
