// Package luadecrement takes one from a stock without a lock: D1 section 5.3. The
// test and the change are one script, which Redis runs in one step.
//
//	local stock = tonumber(redis.call('get', KEYS[1]))
//	if stock <= 0 then
//	    return -1
//	end
//	redis.call('decr', KEYS[1])
//	return stock - 1
//
// Its mistakes:
//
//   - Where there is no number, because nobody stored it yet or the server has lost
//     it, tonumber is nil, the comparison fails, and the caller gets a script error
//     in place of an answer.
//   - The script does not know which sale it is for. A caller whose answer was lost
//     and who tries again sells two.
//   - The stock is only in Redis: a failover or a restart may put back what was sold.
//
// lua-decrement-guarded is the same with the first one mended: it answers -2 where
// there is no number.
//
// The number lies under the lock's key and ":stock", without a time to live. It
// changes by one. What is put back goes through a script of the same shape.
package luadecrement

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

//go:embed decrement.lua
var decrementSource string

//go:embed increment.lua
var incrementSource string

//go:embed guard.lua
var guardSource string

// The scripts by what they add, without the guard and with it.
var (
	plain = map[int64]*redis.Script{
		-1: redis.NewScript(decrementSource),
		1:  redis.NewScript(incrementSource),
	}
	withGuard = map[int64]*redis.Script{
		-1: redis.NewScript(guardSource + decrementSource),
		1:  redis.NewScript(guardSource + incrementSource),
	}
)

// What the scripts return in place of the new number.
const (
	tooFew   = -1
	noNumber = -2
)

// errNoNumber is the guard's.
var errNoNumber = errors.New("there is no number under the key")

// Version is lua-decrement.
var Version = impls.Version{
	Name:    "lua-decrement",
	Summary: "the stock in Redis, tested and taken from in one script; a missing key is a script error, a repeated call sells twice",
	Where:   "D1 5.3",
	Strategy: func(env impls.Env, _ impls.Store, cfg impls.Config) (impls.Strategy, error) {
		return newStock(env, cfg, plain)
	},
}

// Guarded is lua-decrement-guarded.
var Guarded = impls.Version{
	Name:    "lua-decrement-guarded",
	Summary: "lua-decrement that answers for a missing key; a repeated call still sells twice",
	Where:   "D1 5.3",
	Strategy: func(env impls.Env, _ impls.Store, cfg impls.Config) (impls.Strategy, error) {
		return newStock(env, cfg, withGuard)
	},
}

type stock struct {
	client  impls.Redis
	key     string
	scripts map[int64]*redis.Script
}

func newStock(env impls.Env, cfg impls.Config, scripts map[int64]*redis.Script) (impls.Strategy, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &stock{client: env.Redis(), key: cfg.Key + ":stock", scripts: scripts}, nil
}

func (s *stock) Prepare(ctx context.Context, initial int64) error {
	if err := s.client.Set(ctx, s.key, initial, 0).Err(); err != nil {
		return fmt.Errorf("set %q: %w", s.key, err)
	}
	return nil
}

// Change ignores the id.
func (s *stock) Change(ctx context.Context, _ string, delta int64) error {
	script, ok := s.scripts[delta]
	if !ok {
		return fmt.Errorf("add %d to %q: %w: it changes by one", delta, s.key, impls.ErrNotChanged)
	}
	switch left, err := script.Run(ctx, s.client, []string{s.key}).Int64(); {
	case err != nil:
		return fmt.Errorf("add %d to %q: %w", delta, s.key, err)
	case left == noNumber:
		return fmt.Errorf("add %d to %q: %w: %w", delta, s.key, impls.ErrNotChanged, errNoNumber)
	case left == tooFew:
		return fmt.Errorf("add %d to %q: %w: too little left", delta, s.key, impls.ErrNotChanged)
	}
	return nil
}

func (s *stock) Value(ctx context.Context) (int64, error) {
	v, err := s.client.Get(ctx, s.key).Int64()
	if err != nil {
		return 0, fmt.Errorf("get %q: %w", s.key, err)
	}
	return v, nil
}
