package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// Flaws of a lock whose grants are numbered.
const (
	FenceRepeats Flaw = "fence-repeats" // two grants in turn have the same number
	FenceFalls   Flaw = "fence-falls"   // it counts down
	FenceFirst   Flaw = "fence-first"   // counted before the lock is asked for: who waits has a number that is older than the grants it waited for
)

var (
	countScript = redis.NewScript(`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("incr", KEYS[2]) end return 0`)
	raiseScript = redis.NewScript(`if tonumber(redis.call("get", KEYS[2]) or 0) < tonumber(ARGV[2]) then redis.call("set", KEYS[2], ARGV[2]) end ` +
		`if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end return 0`)
)

// Fenced returns the single lock with a fence, counted in the script that grants,
// with a flaw.
func Fenced(f Flaw) impls.Version {
	v := version(f, "fenced", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &fenced{single{env: e, cfg: c, flaw: f}}, nil
	})
	v.Traits.Fencing = true
	return v
}

type fenced struct{ single }

func counter(key string) string { return key + ":fence" }

func (l *fenced) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.token()
	c := l.env.Redis()
	var first, got uint64
	if l.flaw == FenceFirst {
		n, err := c.Incr(ctx, counter(l.cfg.Key)).Uint64()
		if err != nil {
			return impls.Lease{}, err
		}
		first = n
	}
	var until time.Time
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (ok bool, err error) {
		until = time.Now().Add(l.cfg.TTL - impls.Precision)
		if l.flaw == FenceFirst {
			return l.set(ctx, token)
		}
		got, err = countScript.Run(ctx, c, []string{l.cfg.Key, counter(l.cfg.Key)}, token, l.cfg.TTL.Milliseconds()).Uint64()
		return got > 0, err
	})
	if err != nil {
		return impls.Lease{}, err
	}
	g := lease(token, until)
	switch g.Fence = got; l.flaw {
	case FenceRepeats:
		g.Fence = (got + 1) / 2
	case FenceFalls:
		g.Fence = 1_000_000 - got
	case FenceFirst:
		g.Fence = first
	default: // this one behaves here
	}
	return g, nil
}
