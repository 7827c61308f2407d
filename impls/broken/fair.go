package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// NewestFirst is a flaw of a lock with a queue: who came last is served first.
const NewestFirst Flaw = "newest-first"

// alive is how long a waiter keeps its place that is not heard of.
const alive = 5 * time.Second

// A waiter's place is an element of the list KEYS[2]; that it still waits is a key
// of its own, KEYS[2] and its value.
var (
	queueScript = redis.NewScript(`
		local mine = KEYS[2] .. ":" .. ARGV[1]
		if redis.call("exists", mine) == 0 then
			redis.call("lrem", KEYS[2], 0, ARGV[1])
			redis.call(ARGV[4], KEYS[2], ARGV[1])
		end
		redis.call("set", mine, 1, "PX", ARGV[3])
		redis.call("pexpire", KEYS[2], ARGV[3])
		local head = redis.call("lindex", KEYS[2], 0)
		while redis.call("exists", KEYS[2] .. ":" .. head) == 0 do
			redis.call("lpop", KEYS[2])
			head = redis.call("lindex", KEYS[2], 0)
		end
		if head == ARGV[1] and redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
			redis.call("lpop", KEYS[2])
			redis.call("del", mine)
			return 1
		end
		return 0`)
	withdrawScript = redis.NewScript(`
		redis.call("lrem", KEYS[2], 0, ARGV[1])
		redis.call("del", KEYS[2] .. ":" .. ARGV[1])
		if redis.call("get", KEYS[1]) == ARGV[1] then redis.call("del", KEYS[1]) end
		return 1`)
)

// Fair returns the single lock with a queue of those who wait, with a flaw.
func Fair(f Flaw) impls.Version {
	v := version(f, "fair", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &fair{single{env: e, cfg: c, flaw: f}}, nil
	})
	v.Traits.Fair = true
	return v
}

type fair struct{ single }

func (l *fair) Acquire(ctx context.Context) (impls.Lease, error) {
	token, push := l.token(), "rpush"
	if l.flaw == NewestFirst {
		push = "lpush"
	}
	keys := []string{l.cfg.Key, l.cfg.Key + ":queue"}
	var until time.Time
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		until = time.Now().Add(l.cfg.TTL - impls.Precision)
		n, err := queueScript.Run(ctx, l.env.Redis(), keys, token, l.cfg.TTL.Milliseconds(), alive.Milliseconds(), push).Int()
		return n == 1, err
	})
	if err != nil {
		return impls.Lease{}, errors.Join(err, withdrawScript.Run(context.WithoutCancel(ctx), l.env.Redis(), keys, token).Err())
	}
	return lease(token, until), nil
}
