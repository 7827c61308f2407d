// Package idempotencykey makes a change that may be asked for any number of times
// and is done once: D1's table at the end of section 5 and D2 section 8, which
// prefers this to a lock wherever it can be had.
//
// The caller names the change. One transaction inserts the name into a table where
// it may be only once, and changes the number. Whoever asks again, because the
// answer was lost, finds the name there, and knows that it was done.
//
//	INSERT INTO changes (id) VALUES (?);
//	UPDATE stock SET count = count - 1 WHERE count >= 1;
//
// The change is done once also when a lost request arrives after the repeated one.
// What the caller must do is keep the name: one made anew for each attempt is worth
// nothing.
package idempotencykey

import (
	"context"
	"errors"
	"fmt"

	"lockpick/impls"
	"lockpick/impls/internal/stored"
)

// Version is idempotency-key.
var Version = impls.Version{
	Name:    "idempotency-key",
	Summary: "the change's own id in a table with a unique index, in the transaction that changes the number",
	Where:   "D1 5, the table; D2 8",
	Strategy: func(_ impls.Env, s impls.Store, cfg impls.Config) (impls.Strategy, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		return number{stored.Number{Store: s}}, nil
	},
}

type number struct{ stored.Number }

// Change may be repeated with the same id. ErrNotChanged is the answer of this call:
// one before it, if it was not heard of, may still arrive, and will be done if there
// is enough by then.
func (n number) Change(ctx context.Context, id string, delta int64) error {
	err := n.Store.Insert(ctx, id, delta, -delta)
	if err == nil {
		return nil
	}
	if !errors.Is(err, impls.ErrConflict) {
		return fmt.Errorf("change %q: %w", id, err)
	}
	switch done, asked := n.Store.Has(ctx, id); {
	case asked != nil:
		return fmt.Errorf("change %q: is it done?: %w", id, asked)
	case done:
		return nil
	default:
		return fmt.Errorf("change %q: %w: too little left", id, impls.ErrNotChanged)
	}
}
