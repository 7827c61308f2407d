package live

import (
	"fmt"
	"sync"
	"time"

	"lockpick/internal/testbed"
)

// How often watch looks at the clock, and for how long it may have been kept from
// it: a client that waits for a reply meanwhile must not give up.
const (
	glimpse  = 5 * time.Millisecond
	hindered = shortestTimeout * 2 / 3
)

// watch sees to it that this process gets time to run. What happened while it did
// not is the machine's doing and says nothing of a lock. The returned function ends
// it and says what was wrong: nil, or testbed.ErrDisturbed.
func watch() (stop func() error) {
	over := make(chan struct{})
	var done sync.WaitGroup
	var seen []time.Time
	done.Go(func() {
		tick := time.NewTicker(glimpse)
		defer tick.Stop()
		for {
			seen = append(seen, time.Now())
			select {
			case <-over:
				return
			case <-tick.C:
			}
		}
	})
	return func() error {
		close(over)
		done.Wait()
		return disturbed(seen)
	}
}

// disturbed says whether there was too long a time between two looks at the clock.
func disturbed(seen []time.Time) error {
	worst := time.Duration(0)
	for i, at := range seen[1:] {
		worst = max(worst, at.Sub(seen[i])-glimpse)
	}
	if worst < hindered {
		return nil
	}
	return fmt.Errorf("%w: this machine was too busy and gave lockpick no time for %v", testbed.ErrDisturbed, worst.Round(time.Millisecond))
}
