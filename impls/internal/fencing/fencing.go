// Package fencing numbers the grants of a lock on the node that grants them: the
// fencing token of D1 section 4.
//
// The counter lies beside the lock, under the lock's key and ":fence". It has no
// time to live, on purpose: a counter that expired would begin again, and the
// store would take the fences of the new grants for older than those it has seen.
//
// It knows nothing of who checks the numbers.
package fencing

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed grant.lua
var grantSource string

//go:embed raise.lua
var raiseSource string

var (
	grantScript = redis.NewScript(grantSource)
	raiseScript = redis.NewScript(raiseSource)
)

// Counter is the key of the lock's counter.
func Counter(key string) string { return key + ":fence" }

// Grant takes the lock for ttl if nobody has it and counts the grant, in one
// step. It returns the number, from 1, or 0 when the lock is taken. After an
// error the lock may have been granted.
func Grant(ctx context.Context, client redis.Scripter, key, owner string, ttl time.Duration) (uint64, error) {
	return grantScript.Run(ctx, client, []string{key, Counter(key)}, owner, ttl.Milliseconds()).Uint64()
}

// Raise lifts the counter to at least the fence, whoever has the lock, and
// reports whether it is owner. After an error the counter may have been lifted.
func Raise(ctx context.Context, client redis.Scripter, key, owner string, fence uint64) (bool, error) {
	n, err := raiseScript.Run(ctx, client, []string{key, Counter(key)}, owner, fence).Int()
	return n == 1, err
}
