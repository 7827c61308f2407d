package impls

import (
	"context"
	"fmt"
	"time"
)

// Poll calls try until it reports true or fails, wait has passed since the
// call, or ctx is done; it sleeps every between two tries. With a wait of 0 it
// tries once. It returns ErrNotAcquired when the time is up, try's error as it
// is, and both ErrNotAcquired and ctx.Err() when ctx ends while it sleeps:
// every try was refused by then and nothing is in flight.
//
// It waits on the monotonic clock, so a jump of the wall clock neither cuts the
// wait short nor stretches it.
func Poll(ctx context.Context, wait, every time.Duration, try func(context.Context) (bool, error)) error {
	start := time.Now()
	for {
		ok, err := try(ctx)
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		if time.Since(start)+every > wait {
			return ErrNotAcquired
		}
		if err := Sleep(ctx, every); err != nil {
			return fmt.Errorf("%w: %w", ErrNotAcquired, err)
		}
	}
}

// Sleep waits for d or until ctx is done, whichever comes first, and returns
// ctx.Err() in the second case.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
