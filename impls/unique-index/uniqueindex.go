// Package uniqueindex lets a unique index of the database decide who gets a unit:
// the first row of D1's table at the end of section 5, "单纯防止重复执行: 数据库唯一索引".
//
// The units are numbered. Who wants one reads how many are left, and inserts that
// number into a table where it may be only once, together with the change. Who
// finds it there was too late, and tries for the next one 10 ms later, until
// Config.Wait has passed.
//
// Its mistakes:
//
//   - The index keeps one unit from being sold to two, not one buyer from being sold
//     two units. A caller whose answer was lost tries again and gets the next unit.
//   - A number that was taken stays taken. Where units are put back, the number that
//     they bring back is in the table already, and nobody can have it.
package uniqueindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/stored"
)

const retryDelay = 10 * time.Millisecond

// Version is unique-index.
var Version = impls.Version{
	Name:    "unique-index",
	Summary: "claims the unit's number in a table with a unique index; a repeated call claims another unit",
	Where:   "D1 5, the table",
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
			return false, fmt.Errorf("read how many are left: %w", err)
		}
		if row.Value+delta < 0 {
			return false, fmt.Errorf("%w: %d left", impls.ErrNotChanged, row.Value)
		}
		// the highest of the units that leave or come
		unit := fmt.Sprintf("unit-%d", max(row.Value, row.Value+delta))
		err = n.Store.Insert(ctx, unit, delta, -delta)
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
