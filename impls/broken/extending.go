package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// Flaws of a lock that is extended on request.
const (
	ExtendLie  Flaw = "extend-lie"  // the script's 0 is called 1 (go-redsync/redsync, PR 38)
	ExtendAnew Flaw = "extend-anew" // a key that is free is taken again (leandromoreira/redlock-rb, 36)
)

var anewScript = redis.NewScript(`local v = redis.call("get", KEYS[1]) ` +
	`if not v or v == ARGV[1] then redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1 end return 0`)

// Extending returns the single lock as an Extender, with a flaw.
func Extending(f Flaw) impls.Version {
	v := version(f, "extending", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &extending{single{env: e, cfg: c, flaw: f}}, nil
	})
	v.Traits.Extend = true
	return v
}

type extending struct{ single }

// Extend implements impls.Extender.
func (l *extending) Extend(ctx context.Context, g impls.Lease) (impls.Lease, error) {
	script := renewScript
	if l.flaw == ExtendAnew {
		script = anewScript
	}
	until := time.Now().Add(l.cfg.TTL - impls.Precision)
	n, err := script.Run(ctx, l.env.Redis(), []string{l.key()}, g.Owner, l.cfg.TTL.Milliseconds()).Int()
	switch {
	case err != nil:
		return g, err
	case n == 0 && l.flaw != ExtendLie:
		return g, impls.ErrNotHeld
	}
	g.Until = until
	return g, nil
}
