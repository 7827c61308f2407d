// Package uncheckedreply is a lock whose scripts answer rightly and whose client
// takes every answer for a yes.
//
// go-redsync/redsync#38, and again #61:
//
//	status, err := deleteScript.Do(conn, m.name, value)
//	return err == nil && status != 0
//
// Its mistake: the client library returns the script's answer as an int64 in an
// interface, and 0 is an int. Values of different types are never equal, so the
// comparison is always true. Extend says yes of a lease that has run out and is
// another's by now, and Release says that it gave back what it had not. Nothing of
// another's is touched: the scripts compare, and only the words are wrong.
//
// The library was Redlock over several nodes; here it is one node, and everything
// else is lua-release. Until is counted from before the request was sent.
package uncheckedreply

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

const retryDelay = 100 * time.Millisecond

//go:embed delete.lua
var deleteSource string

//go:embed touch.lua
var touchSource string

var (
	deleteScript = redis.NewScript(deleteSource)
	touchScript  = redis.NewScript(touchSource)
)

// Version is unchecked-reply.
var Version = impls.Version{
	Name:      "unchecked-reply",
	Summary:   "SET NX PX, Lua release and extension, whose 0 the client takes for a yes: an int64 is compared with an int",
	Where:     "go-redsync/redsync#38, go-redsync/redsync#61",
	VariantOf: "lua-release",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
		Extend:  true,
	},
	New: newLock,
}

type lock struct {
	client impls.Redis
	uuid   func() string
	cfg    impls.Config
}

var _ impls.Extender = (*lock)(nil)

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	var until time.Time
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		until = l.until()
		return l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token, Until: until}, nil
}

// until is when a lease is over that is asked for now.
func (l *lock) until() time.Time { return time.Now().Add(l.cfg.TTL - impls.Precision) }

// Extend never finds out that the lease is gone.
func (l *lock) Extend(ctx context.Context, lease impls.Lease) (impls.Lease, error) {
	until := l.until()
	status, err := touchScript.Run(ctx, l.client, []string{l.cfg.Key}, lease.Owner, l.cfg.TTL.Milliseconds()).Result()
	if err != nil {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, err)
	}
	if !yes(status) {
		return impls.Lease{}, fmt.Errorf("extend %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	lease.Until = until
	return lease, nil
}

// Release never finds out either.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	status, err := deleteScript.Run(ctx, l.client, []string{l.cfg.Key}, lease.Owner).Result()
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !yes(status) {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

// yes is the mistake: status is an int64.
func yes(status any) bool { return status != 0 }

func (l *lock) Close() error { return nil }
