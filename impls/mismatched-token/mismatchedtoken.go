// Package mismatchedtoken stores its token in one encoding and compares it in
// another.
//
// D2 section 7, the first pit: the lock is taken through a RedisTemplate, which
// serializes what it stores, and released through a StringRedisTemplate, which does
// not. Here the serializer is JSON, so that the token abc is stored as "abc", with
// the quotation marks; the default one of the article would put
// \xac\xed\x00\x05t and the length before it, which is not text.
//
// Its mistake: the script compares the two and never finds them equal. The release of a
// lock that is held reports ErrNotHeld, and the lock stays until it expires.
//
// Lease.Owner is the value as it is stored. A refused client tries again every 100 ms
// (the retry_delay of D1 section 7) until Config.Wait has passed.
package mismatchedtoken

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is mismatched-token.
var Version = impls.Version{
	Name:    "mismatched-token",
	Summary: "SET NX PX through one serializer, compare-and-delete through another: never equal, never released",
	Where:   "D2 7, pit 1",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

// serialize is what the template's serializer makes of a string: JSON.
func serialize(token string) string { return strconv.Quote(token) }

// deserialize is the string again, as the caller has it.
func deserialize(stored string) (string, error) { return strconv.Unquote(stored) }

type lock struct {
	client impls.Redis
	uuid   func() string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg}, nil
}

func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	stored := serialize(l.uuid())
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.SetNX(ctx, l.cfg.Key, stored, l.cfg.TTL).Result()
	})
	if err != nil {
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: stored}, nil
}

// Release compares the token as the caller has it with what is stored.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	token, err := deserialize(lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, token)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

func (l *lock) Close() error { return nil }
