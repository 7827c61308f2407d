package harness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// parts are the ways in which people write a correct lock on one node.
type parts struct {
	take  func(ctx context.Context, v *variant, token string) (bool, error)
	give  func(ctx context.Context, v *variant, token string) (bool, error) // giveScript when nil
	pause func(v *variant, attempt int) time.Duration                       // 100 ms when nil
	keep  bool                                                              // prolongs the lease on request, every TTL/3
}

// variant is a lock put together from parts.
type variant struct {
	parts
	env impls.Env
	cfg impls.Config

	mu      sync.Mutex
	dice    *rand.Rand
	keepers map[string]func()
}

// variants returns every correct lock of these tests.
func variants() []impls.Version {
	var all []impls.Version
	for _, v := range []struct {
		name string
		how  parts
	}{
		{"idempotent", parts{take: takeIdempotent}},
		{"back-off", parts{take: takeSet, pause: backOff}},
		{"set-get", parts{take: takeSetGet}},
		{"eval", parts{take: takeEval, give: giveEval}},
		{"pipeline", parts{take: takePipeline}},
		{"multi", parts{take: takeMulti}},
		{"watch", parts{take: takeWatch, give: giveWatch}},
		{"hash", parts{take: takeHash, give: giveHash}},
		{"extend", parts{take: takeSet, keep: true}},
		{"set-arguments", parts{take: takeSetArgs}},
		{"expire", parts{take: takeSet, give: giveExpire}},
	} {
		traits := impls.Traits{
			TTL: impls.TTLAtomic, Token: impls.TokenUnique, Release: impls.ReleaseAtomic,
			Renew: impls.RenewNone, Wait: impls.WaitPoll,
		}
		all = append(all, impls.Version{
			Name: "variant/" + v.name, Traits: traits,
			New: func(e impls.Env, c impls.Config) (impls.Lock, error) { return newVariant(v.how, e, c), nil },
		})
	}
	return all
}

func newVariant(how parts, e impls.Env, c impls.Config) *variant {
	made := &variant{parts: how, env: e, cfg: c, dice: e.Rand("back-off"), keepers: map[string]func(){}}
	if made.give == nil {
		made.give = giveScript
	}
	return made
}

func (v *variant) Acquire(ctx context.Context) (impls.Lease, error) {
	token := v.env.Token()
	start := time.Now()
	for attempt := 0; ; attempt++ {
		if err := impls.Ended(ctx); err != nil {
			return impls.Lease{}, fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
		}
		sent := time.Now()
		ok, err := v.take(ctx, v, token)
		switch {
		case err != nil:
			return impls.Lease{}, err
		case ok && v.keep:
			return impls.Lease{Owner: token, Lost: v.keepUp(token, sent)}, nil
		case ok:
			return impls.Lease{Owner: token, Until: sent.Add(v.cfg.TTL - impls.Precision)}, nil
		}
		pause := 100 * time.Millisecond
		if v.pause != nil {
			pause = v.pause(v, attempt)
		}
		if time.Since(start)+pause > v.cfg.Wait {
			return impls.Lease{}, impls.ErrNotAcquired
		}
		if err := impls.Sleep(ctx, pause); err != nil {
			return impls.Lease{}, fmt.Errorf("%w: %w", impls.ErrNotAcquired, err)
		}
	}
}

func (v *variant) Release(ctx context.Context, l impls.Lease) error {
	v.mu.Lock()
	stop := v.keepers[l.Owner]
	delete(v.keepers, l.Owner)
	v.mu.Unlock()
	if stop != nil {
		stop()
	}
	ok, err := v.give(ctx, v, l.Owner)
	if err == nil && !ok {
		return impls.ErrNotHeld
	}
	return err
}

func (v *variant) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, stop := range v.keepers {
		stop()
	}
	return nil
}

// Extend implements impls.Extender.
func (v *variant) Extend(ctx context.Context, l impls.Lease) (impls.Lease, error) {
	sent := time.Now()
	n, err := extendScript.Run(ctx, v.env.Redis(), []string{v.cfg.Key}, l.Owner, v.cfg.TTL.Milliseconds()).Int()
	if err == nil && n == 0 {
		err = impls.ErrNotHeld
	}
	l.Until = sent.Add(v.cfg.TTL - impls.Precision)
	return l, err
}

// keepUp extends a lease until it is given back or has to be taken for lost.
func (v *variant) keepUp(token string, sent time.Time) <-chan struct{} {
	lost, done := make(chan struct{}), make(chan struct{})
	ctx, end := context.WithCancel(context.Background())
	v.mu.Lock()
	v.keepers[token] = func() { end(); <-done }
	v.mu.Unlock()
	l := impls.Lease{Owner: token, Until: sent.Add(v.cfg.TTL - impls.Precision)}
	go func() {
		defer close(done)
		for {
			if impls.Sleep(ctx, min(v.cfg.TTL/3, time.Until(l.Until))) != nil {
				return
			}
			next, err := v.Extend(ctx, l)
			switch {
			case err == nil:
				l = next
			case errors.Is(err, impls.ErrNotHeld), !time.Now().Before(l.Until):
				close(lost)
				return
			}
		}
	}()
	return lost
}

// backOff doubles from 25 ms to 1.6 s and takes a random part of it.
func backOff(v *variant, attempt int) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	most := 25 * time.Millisecond << min(attempt, 6)
	return most/2 + time.Duration(v.dice.Int64N(int64(most)))
}

var (
	giveSource   = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	releaseByKey = redis.NewScript(giveSource)
	extendScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
	idempotent   = redis.NewScript(`
		local now = redis.call("get", KEYS[1])
		if not now or now == ARGV[1] then
			redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
			return 1
		end
		return 0`)
	hashTake = redis.NewScript(`
		if redis.call("exists", KEYS[1]) == 0 then
			redis.call("hset", KEYS[1], ARGV[1], 1)
			redis.call("pexpire", KEYS[1], ARGV[2])
			return 1
		end
		return 0`)
	hashGive = redis.NewScript(`
		if redis.call("hexists", KEYS[1], ARGV[1]) == 1 then return redis.call("del", KEYS[1]) end
		return 0`)
)

func one(n int, err error) (bool, error) { return n == 1, err }

func takeSet(ctx context.Context, v *variant, token string) (bool, error) {
	return v.env.Redis().SetNX(ctx, v.cfg.Key, token, v.cfg.TTL).Result()
}

func takeSetArgs(ctx context.Context, v *variant, token string) (bool, error) {
	err := v.env.Redis().SetArgs(ctx, v.cfg.Key, token, redis.SetArgs{Mode: "NX", TTL: v.cfg.TTL}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// takeSetGet is SET NX GET PX, which answers with what was there.
func takeSetGet(ctx context.Context, v *variant, token string) (bool, error) {
	err := v.env.Redis().Do(ctx, "set", v.cfg.Key, token, "nx", "get", "px", v.cfg.TTL.Milliseconds()).Err()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	return false, err
}

func takeIdempotent(ctx context.Context, v *variant, token string) (bool, error) {
	return one(idempotent.Run(ctx, v.env.Redis(), []string{v.cfg.Key}, token, v.cfg.TTL.Milliseconds()).Int())
}

func takeEval(ctx context.Context, v *variant, token string) (bool, error) {
	source := `if redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then return 1 end return 0`
	return one(v.env.Redis().Eval(ctx, source, []string{v.cfg.Key}, token, v.cfg.TTL.Milliseconds()).Int())
}

// takePipeline sends the SET and the question whose lock it is together.
func takePipeline(ctx context.Context, v *variant, token string) (bool, error) {
	p := v.env.Redis().Pipeline()
	p.SetNX(ctx, v.cfg.Key, token, v.cfg.TTL)
	holder := p.Get(ctx, v.cfg.Key)
	if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	return holder.Val() == token, nil
}

func takeMulti(ctx context.Context, v *variant, token string) (bool, error) {
	var set *redis.BoolCmd
	_, err := v.env.Redis().TxPipelined(ctx, func(p redis.Pipeliner) error {
		set = p.SetNX(ctx, v.cfg.Key, token, v.cfg.TTL)
		p.PTTL(ctx, v.cfg.Key)
		return nil
	})
	if err != nil {
		return false, err
	}
	return set.Val(), nil
}

// takeWatch looks first and sets only if nobody else did meanwhile.
func takeWatch(ctx context.Context, v *variant, token string) (bool, error) {
	taken := false
	err := v.env.Redis().(redis.UniversalClient).Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Exists(ctx, v.cfg.Key).Result()
		if err != nil || n > 0 {
			taken = n > 0
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.Set(ctx, v.cfg.Key, token, v.cfg.TTL).Err()
		})
		return err
	}, v.cfg.Key)
	switch {
	case errors.Is(err, redis.TxFailedErr), taken && err == nil:
		return false, nil
	default:
		return err == nil, err
	}
}

func takeHash(ctx context.Context, v *variant, token string) (bool, error) {
	return one(hashTake.Run(ctx, v.env.Redis(), []string{v.cfg.Key}, token, v.cfg.TTL.Milliseconds()).Int())
}

func giveScript(ctx context.Context, v *variant, token string) (bool, error) {
	return one(releaseByKey.Run(ctx, v.env.Redis(), []string{v.cfg.Key}, token).Int())
}

func giveEval(ctx context.Context, v *variant, token string) (bool, error) {
	return one(v.env.Redis().Eval(ctx, giveSource, []string{v.cfg.Key}, token).Int())
}

func giveHash(ctx context.Context, v *variant, token string) (bool, error) {
	return one(hashGive.Run(ctx, v.env.Redis(), []string{v.cfg.Key}, token).Int())
}

// giveExpire lets the key expire in a millisecond.
func giveExpire(ctx context.Context, v *variant, token string) (bool, error) {
	return one(extendScript.Run(ctx, v.env.Redis(), []string{v.cfg.Key}, token, 1).Int())
}

// giveWatch deletes the key only if it is still as it was when it was compared.
func giveWatch(ctx context.Context, v *variant, token string) (bool, error) {
	ours := false
	err := v.env.Redis().(redis.UniversalClient).Watch(ctx, func(tx *redis.Tx) error {
		holder, err := tx.Get(ctx, v.cfg.Key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if ours = holder == token; !ours {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, v.cfg.Key).Err() })
		return err
	}, v.cfg.Key)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return ours && err == nil, err
}

var _ impls.Extender = (*variant)(nil)
