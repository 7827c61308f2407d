// Package conditionalupdate is one statement of the database that tests and
// changes: D2 section 8, which says that whoever can do with it needs no lock.
//
//	UPDATE stock SET count = count - 1 WHERE count >= 1
//
// It never sells more than there is, and never has to try again because of others.
//
// Its mistake is the caller's: an update whose answer was lost may have been done.
// Who then tries again changes it twice, since nothing says for whom it was
// changed. D2 calls it idempotent; it is not.
package conditionalupdate

import (
	"context"
	"errors"
	"fmt"

	"lockpick/impls"
	"lockpick/impls/internal/stored"
)

// Version is conditional-update.
var Version = impls.Version{
	Name:    "conditional-update",
	Summary: "one UPDATE … WHERE there is enough; a repeated call changes it twice",
	Where:   "D2 8",
	Strategy: func(_ impls.Env, s impls.Store, cfg impls.Config) (impls.Strategy, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		return number{stored.Number{Store: s}}, nil
	},
}

type number struct{ stored.Number }

// Change ignores the id.
func (n number) Change(ctx context.Context, _ string, delta int64) error {
	switch err := n.Store.AddIf(ctx, delta, -delta); {
	case errors.Is(err, impls.ErrConflict):
		return fmt.Errorf("add %d: %w: %w", delta, impls.ErrNotChanged, err)
	case err != nil:
		return fmt.Errorf("add %d: %w", delta, err)
	}
	return nil
}
