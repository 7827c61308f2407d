package impls

import (
	"context"
	"errors"
)

// Strategy changes a number that many share, such as a stock, safely and without
// a lock. It is one client's, and safe for concurrent use.
type Strategy interface {
	// Prepare sets the number up. It is called once, for one of the clients,
	// before any of them calls Change.
	Prepare(ctx context.Context, initial int64) error

	// Change adds delta to the number, once, unless it would fall below 0. The id
	// names this change among all others; a call that is repeated has the same.
	// ErrNotChanged means that it definitely had no effect. With any other error
	// the outcome is unknown.
	Change(ctx context.Context, id string, delta int64) error

	// Value returns the number.
	Value(ctx context.Context) (int64, error)
}

// ErrNotChanged means that a Strategy definitely changed nothing: there was not
// enough left, or the others were faster every time.
var ErrNotChanged = errors.New("impls: not changed")

// ErrConflict means that the Store changed nothing, because the condition did not
// hold: another version, too little left, an id that is there already.
var ErrConflict = errors.New("impls: the condition does not hold")

// Row is what the Store keeps: a number, and how often it was changed.
type Row struct {
	Value   int64
	Version uint64
}

// Store is a database with one row and a table of ids. Each call is a
// transaction of its own, over the network. ErrConflict means that it had no
// effect; with any other error of a change the outcome is unknown. It is safe for
// concurrent use.
type Store interface {
	// Get reads the row.
	Get(ctx context.Context) (Row, error)

	// SetIf writes v if the row's version still is the given one:
	// UPDATE … SET value = v, version = version + 1 WHERE version = ?.
	SetIf(ctx context.Context, v int64, version uint64) error

	// AddIf adds delta if the number is at least least:
	// UPDATE … SET value = value + ? WHERE value >= ?.
	AddIf(ctx context.Context, delta, least int64) error

	// Insert adds the id to the table, which has a unique index on it, and delta
	// to the number if that is at least least, in one transaction.
	// ErrConflict means that neither happened, because the id was there or the
	// number was too small; Has tells which.
	Insert(ctx context.Context, id string, delta, least int64) error

	// Has reports whether the id is in the table.
	Has(ctx context.Context, id string) (bool, error)
}
