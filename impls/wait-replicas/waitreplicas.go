// Package waitreplicas is what people try against the failover of D1 section 4
// and D2 section 5.1: after SET NX PX, WAIT until a replica has the grant. Redisson
// does this for every command of its locks and calls its RedLock deprecated for it
// (redisson/redisson#2669).
//
//	SET key token NX PX ttl
//	WAIT 1 bound
//
// One replica is asked for, as many as a failover needs, and TTL/10 is the bound,
// at most 1 s. With fewer acknowledgements the value is deleted again, since the
// replica may get it all the same, and the client tries again.
//
// WAIT speaks of the writes of its own connection, so the two commands share one: on
// another connection of the pool it would count the replicas of writes that were
// never made there.
//
// Its mistakes:
//
//   - The acknowledgement is one replica's, and the failover may promote another, or
//     the one that has restarted empty since (redis/redis-doc#1863). The grant is
//     then lost although it was acknowledged.
//   - The lock now needs a replica that keeps up: with none there is no lock at all,
//     and a service that forbids WAIT has no lock either (redisson/redisson#3474).
//   - The time that WAIT takes is not taken off the lease.
//
// An error of WAIT leaves the outcome unknown, though the SET was answered: who
// answers to the delete may be another server by then. There is no renewal. A
// refused client tries again every 100 ms (the retry_delay of D1 section 7) until
// Config.Wait has passed.
package waitreplicas

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// acknowledgements is how many replicas must have the grant.
const acknowledgements = 1

// Version is wait-replicas.
var Version = impls.Version{
	Name:    "wait-replicas",
	Summary: "SET NX PX, then WAIT until one replica has it, else it is given back; compare-and-delete in Lua, no renewal",
	Where:   "redisson/redisson#2669; against D1 4 and D2 5.1",
	Traits: impls.Traits{
		TTL:      impls.TTLAtomic,
		Token:    impls.TokenUnique,
		Release:  impls.ReleaseAtomic,
		Renew:    impls.RenewNone,
		Wait:     impls.WaitPoll,
		Replicas: true,
	},
	New: newLock,
}

// client is one that gives out a single connection.
type client interface {
	impls.Redis
	Conn() *redis.Conn
}

type lock struct {
	client client
	uuid   func() string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c, ok := env.Redis().(client)
	if !ok {
		return nil, fmt.Errorf("wait-replicas: a %T has no connections of its own", env.Redis())
	}
	return &lock{client: c, uuid: env.Token, cfg: cfg}, nil
}

// bound is how long a replica has to acknowledge.
func (l *lock) bound() time.Duration {
	return min(max(l.cfg.TTL/10, time.Millisecond), time.Second) // 0 would be for ever
}

// Acquire may return up to TTL/3 after ctx has ended, when it has to clean up.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		granted, acknowledged, err := l.try(ctx, token)
		if err != nil || !granted || acknowledged >= acknowledgements {
			return granted, err
		}
		_, err = l.delete(ctx, token)
		return false, err
	})
	switch {
	case err == nil:
		return impls.Lease{Owner: token}, nil
	case errors.Is(err, impls.ErrNotAcquired):
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	if _, failed := l.delete(ctx, token); failed != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w (taking it back: %w)", l.cfg.Key, err, failed)
	}
	return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
}

// try asks for the lock, and for its replicas if it was granted.
func (l *lock) try(ctx context.Context, token string) (granted bool, acknowledged int64, err error) {
	conn := l.client.Conn()
	defer func() { _ = conn.Close() }() // it goes back to the pool
	granted, err = conn.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
	if err != nil || !granted {
		return false, 0, err
	}
	acknowledged, err = conn.Wait(ctx, acknowledgements, l.bound()).Result()
	return true, acknowledged, err
}

// delete removes our value, if it is there, whatever has become of ctx.
func (l *lock) delete(ctx context.Context, token string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
	defer cancel()
	return owned.Delete(ctx, l.client, l.cfg.Key, token)
}

// Release may be called again after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := l.delete(ctx, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
