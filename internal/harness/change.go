package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
)

// What a caller does that has not heard how its change ended: it asks again, for
// the same change.
const (
	changeTries = 3
	changePause = time.Second
)

// changing is the section of a client without a lock: it works, and then the
// strategy changes the resource. However often the client has to ask, it is one
// operation, which ends as the last call did.
func (c *client) changing(ctx context.Context) {
	c.tell(faults.Reading)
	if !c.sleep(ctx, c.workTime()) {
		return
	}
	c.tell(faults.Writing)
	c.client.Checkpoint()
	if ctx.Err() != nil {
		return
	}
	delta := c.delta()
	id := fmt.Sprintf("%s/%d", c.name, c.round)
	op := c.invoke(history.Record{Op: history.Change, Value: history.Int(delta), Text: id})
	err := c.strategy.Change(ctx, id, delta)
	for try := 1; try < changeTries && outcome(history.Change, err) == history.Unknown; try++ {
		if !c.sleep(ctx, c.run.scaled(changePause)) {
			break
		}
		err = c.strategy.Change(ctx, id, delta)
	}
	c.client.Checkpoint() // the call returns when the client runs
	op.end(err, history.Record{})
	c.tell(faults.Written)
}

// delta is what a section adds to the resource.
func (c *client) delta() int64 {
	if c.run.Scenario.Workload.Resource == stock {
		return -1
	}
	return 1
}

// prepare lets the strategy, if there is one, set the resource up before anybody
// uses it and before anything goes wrong. It reports whether the run can begin.
func (c *client) prepare() bool {
	if c.run.Version.Strategy == nil {
		return true
	}
	result := make(chan error, 1)
	back := c.within(time.Minute, "the strategy panicked", func() {
		if c.open(ProbeWait) {
			result <- c.strategy.Prepare(c.client.Context(), c.run.Scenario.Workload.Initial)
		}
	})
	err := errors.New("it does not come back")
	if back {
		select {
		case err = <-result:
		default:
			return false // and said why
		}
	}
	if err != nil {
		c.run.fail(fmt.Errorf("prepare the strategy: %w", err))
	}
	return err == nil
}

// total reads what the strategy has made of the resource.
func (c *client) total(ctx context.Context) {
	op := c.invoke(history.Record{Op: history.Read})
	v, err := c.strategy.Value(ctx)
	learned := history.Record{}
	if err == nil {
		learned.Value = history.Int(v)
	}
	op.end(err, learned)
}
