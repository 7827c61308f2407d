// Package optimisticversion is the database's optimistic lock: D1 section 5.1.
//
//	update products
//	set stock = stock - 1, version = version + 1
//	where id = 1001 and stock >= 1 and version = 5;
//
// The row is read, and written if its version still is the one that was read. No
// row changed means that somebody was faster; then it begins again 10 ms later,
// until Config.Wait has passed.
//
// Its mistake is the caller's, and everybody's: an update whose answer was lost may
// have been done. Who then tries again reads the row anew, finds a version that
// fits, and changes it twice. Nothing in the row says for whom it was changed.
package optimisticversion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/stored"
)

const retryDelay = 10 * time.Millisecond

// Version is optimistic-version.
var Version = impls.Version{
	Name:    "optimistic-version",
	Summary: "reads the row, writes it if its version is unchanged, tries again otherwise; a repeated call changes it twice",
	Where:   "D1 5.1",
	Strategy: func(_ impls.Env, s impls.Store, cfg impls.Config) (impls.Strategy, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		return &number{Number: stored.Number{Store: s}, wait: cfg.Wait}, nil
	},
}

type number struct {
	stored.Number
	wait time.Duration
}

// Change ignores the id.
func (n *number) Change(ctx context.Context, _ string, delta int64) error {
	err := impls.Poll(ctx, n.wait, retryDelay, func(ctx context.Context) (bool, error) {
		row, err := n.Store.Get(ctx)
		if err != nil {
			return false, fmt.Errorf("read the row: %w", err)
		}
		if row.Value+delta < 0 {
			return false, fmt.Errorf("%w: %d left", impls.ErrNotChanged, row.Value)
		}
		err = n.Store.SetIf(ctx, row.Value+delta, row.Version)
		if errors.Is(err, impls.ErrConflict) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case errors.Is(err, impls.ErrNotAcquired):
		return fmt.Errorf("add %d: %w: others were faster every time: %w", delta, impls.ErrNotChanged, err)
	case err != nil:
		return fmt.Errorf("add %d: %w", delta, err)
	}
	return nil
}
