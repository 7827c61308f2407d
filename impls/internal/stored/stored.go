// Package stored is what the strategies share whose number lies in the Store: how
// it is set up and read.
//
// How it is changed is each strategy's own.
package stored

import (
	"context"
	"fmt"

	"lockpick/impls"
)

// Number is the number in a store. It is as safe for concurrent use as the store.
type Number struct{ Store impls.Store }

// Prepare writes the number, unless it is what it should be. It fails when
// somebody else changes it meanwhile.
func (n Number) Prepare(ctx context.Context, initial int64) error {
	row, err := n.Store.Get(ctx)
	if err == nil && row.Value != initial {
		err = n.Store.SetIf(ctx, initial, row.Version)
	}
	if err != nil {
		return fmt.Errorf("set the number to %d: %w", initial, err)
	}
	return nil
}

// Value reads the number.
func (n Number) Value(ctx context.Context) (int64, error) {
	row, err := n.Store.Get(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the number: %w", err)
	}
	return row.Value, nil
}
