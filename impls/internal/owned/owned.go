// Package owned has the two scripts that the documents use to touch a lock only
// while it holds the caller's own value: compare and delete (D1 v4, D2 2.3) and
// compare and prolong (D1 v5).
//
// It knows no lock: what an answer of false means is the version's business, and
// some versions ignore it.
//
// Each call is EVALSHA, and EVAL only when the server does not know the script
// yet, so the first call on a fresh server is two commands.
package owned

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed delete.lua
var deleteSource string

//go:embed renew.lua
var renewSource string

var (
	deleteScript = redis.NewScript(deleteSource)
	renewScript  = redis.NewScript(renewSource)
)

// Delete removes key if its value is owner. It reports whether it did. After an
// error the key may or may not have been removed.
func Delete(ctx context.Context, client redis.Scripter, key, owner string) (bool, error) {
	n, err := deleteScript.Run(ctx, client, []string{key}, owner).Int()
	return n == 1, err
}

// Renew makes key live for ttl from now if its value is owner. It reports
// whether it did. After an error the key may or may not have been prolonged.
func Renew(ctx context.Context, client redis.Scripter, key, owner string, ttl time.Duration) (bool, error) {
	n, err := renewScript.Run(ctx, client, []string{key}, owner, ttl.Milliseconds()).Int()
	return n == 1, err
}
