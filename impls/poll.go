package impls

import (
	"context"
	"fmt"
	"time"
)

// Poll calls try until it reports true or fails, wait has passed since the
// call, or ctx is done; it sleeps for every between two tries. With a wait of 0 it
// tries once. It returns ErrNotAcquired when the time is up, try's error as it
// is, and both ErrNotAcquired and ctx.Err() when ctx ends before a try or while
// it sleeps: every try was refused by then and nothing is in flight.
//
// It waits on the monotonic clock, so a jump of the wall clock neither cuts the
// wait short nor stretches it.
func Poll(ctx context.Context, wait, every time.Duration, try func(context.Context) (bool, error)) error {
	if err := Ended(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
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
// ctx.Err() in the second case. When both happen at the same instant ctx is
// done: virtual time makes that instant likely, and a select would toss a coin.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return Ended(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ended is ctx.Err(), except that a deadline which has passed counts although
// the context's own timer has not run yet.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
