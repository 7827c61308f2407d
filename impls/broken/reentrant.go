package broken

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// Flaws of a lock that its owner may take again.
const (
	FreeAtFirstRelease Flaw = "free-at-first-release" // the release of the inner level gives the lock away
	OneReleaseMore     Flaw = "one-release-more"      // a nested grant counts twice
	NoNesting          Flaw = "no-nesting"            // the owner is refused like everybody
)

var (
	enterScript = redis.NewScript(`if redis.call("exists", KEYS[1]) == 1 and (ARGV[4] == "0" or redis.call("hexists", KEYS[1], ARGV[1]) == 0) then return 0 end ` +
		`redis.call("hincrby", KEYS[1], ARGV[1], redis.call("exists", KEYS[1]) == 1 and ARGV[3] or 1) ` +
		`redis.call("pexpire", KEYS[1], ARGV[2]) return 1`)
	leaveScript = redis.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return -1 end ` +
		`local depth = redis.call("hincrby", KEYS[1], ARGV[1], -1) ` +
		`if depth <= 0 or ARGV[2] == "0" then redis.call("del", KEYS[1]) return 0 end return depth`)
)

// Reentrant returns a lock on one node that counts how often its owner has taken
// it, with a flaw.
func Reentrant(f Flaw) impls.Version {
	v := version(f, "reentrant", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &reentrant{env: e, cfg: c, flaw: f, owner: e.Token()}, nil
	})
	v.Traits.Token, v.Traits.Reentrant = impls.TokenClient, true
	return v
}

type reentrant struct {
	env   impls.Env
	cfg   impls.Config
	flaw  Flaw
	owner string
}

func (l *reentrant) Acquire(ctx context.Context) (impls.Lease, error) {
	step, nests := 1, 1
	switch l.flaw {
	case OneReleaseMore:
		step = 2
	case NoNesting:
		nests = 0
	default: // this one behaves here
	}
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		n, err := enterScript.Run(ctx, l.env.Redis(), []string{l.cfg.Key}, l.owner, l.cfg.TTL.Milliseconds(), step, nests).Int()
		return n == 1, err
	})
	return impls.Lease{Owner: l.owner}, err
}

func (l *reentrant) Release(ctx context.Context, given impls.Lease) error {
	keeps := 1
	if l.flaw == FreeAtFirstRelease {
		keeps = 0
	}
	depth, err := leaveScript.Run(ctx, l.env.Redis(), []string{l.cfg.Key}, given.Owner, keeps).Int()
	switch {
	case err != nil:
		return fmt.Errorf("release: %w", err)
	case depth < 0:
		return fmt.Errorf("release: %w", impls.ErrNotHeld)
	}
	return nil
}

func (l *reentrant) Close() error { return nil }
