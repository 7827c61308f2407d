// Package broken is the harness's own test: locks with one planted bug each.
//
// Each kind of lock, such as Single, Renewing and Quorum, is written correctly and
// then spoilt in exactly one place, which the Flaw names. With the flaw None they are sound, so what a
// check says of a mutant it says of the flaw. Rogues are locks that do not
// behave at all: they block, panic, spin or never let go.
//
// No catalogue lists them, and nothing but tests imports this package.
package broken

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// Flaw is the bug that is planted in a lock.
type Flaw string

// None is the control: the lock as it should be.
const None Flaw = "none"

// Flaws of a lock on a single node.
const (
	NoTokenCheck     Flaw = "no-token-check"     // the release deletes whatever is there
	TokenReused      Flaw = "token-reused"       // every attempt of a client stores the same value
	ShortTTL         Flaw = "short-ttl"          // the key lives a tenth of the TTL
	SecondsAsMillis  Flaw = "seconds-as-millis"  // 30 s are given to PX as 30
	MillisAsSeconds  Flaw = "millis-as-seconds"  // 30 s are given to EX as 30000
	GrantLie         Flaw = "grant-lie"          // every second refusal is called a grant
	RefusalLie       Flaw = "refusal-lie"        // every second grant is called a refusal
	ErrorIsRefusal   Flaw = "error-is-refusal"   // a lost reply is called a refusal
	ReleaseAlwaysOK  Flaw = "release-always-ok"  // the script's 0 is dropped
	ReleaseNeverOK   Flaw = "release-never-ok"   // the script's 1 is called 0
	ReleaseForgets   Flaw = "release-forgets"    // an error of the release is called a success
	ReleasePrefix    Flaw = "release-prefix"     // deletes every key that begins with the lock's
	ReleaseOtherKey  Flaw = "release-other-key"  // deletes a key that nobody stored, and says ok
	UntilOfReply     Flaw = "until-of-reply"     // Until counts from the reply, not from the call
	UntilDouble      Flaw = "until-double"       // Until is twice the TTL away
	OwnKey           Flaw = "own-key"            // every client locks a key of its own
	NoWait           Flaw = "no-wait"            // Wait is ignored: one attempt
	IgnoresContext   Flaw = "ignores-context"    // tries for ever, whatever ends
	SwallowsTheLease Flaw = "swallows-the-lease" // returns an empty lease
	GarbageErrors    Flaw = "garbage-errors"     // none of its errors is one of the contract's
	EntersAnyway     Flaw = "enters-anyway"      // goes in when the wait is over, granted or not (redis/redis-py#621)
)

// Flaws of a lock that renews.
const (
	RenewAnybody Flaw = "renew-anybody" // prolongs whatever is there
	RenewOnce    Flaw = "renew-once"    // the first renewal is the last
	RenewForever Flaw = "renew-forever" // the release does not end it
	LostNever    Flaw = "lost-never"    // Lost is there and never closes
	LostLate     Flaw = "lost-late"     // Lost closes one TTL late
)

// Flaws lists every flaw but None.
func Flaws() []Flaw {
	return []Flaw{
		NoTokenCheck, TokenReused, ShortTTL, SecondsAsMillis, MillisAsSeconds, GrantLie, RefusalLie, ErrorIsRefusal,
		ReleaseAlwaysOK, ReleaseNeverOK, ReleaseForgets, ReleasePrefix, ReleaseOtherKey, UntilOfReply, UntilDouble,
		OwnKey, NoWait, IgnoresContext, SwallowsTheLease, GarbageErrors, EntersAnyway,
		RenewAnybody, RenewOnce, RenewForever, LostNever, LostLate,
		ExtendLie, ExtendAnew,
		FenceRepeats, FenceFalls, FenceFirst,
		FreeAtFirstRelease, OneReleaseMore, NoNesting,
		NewestFirst,
		WriterAmongReaders, ReaderBesideWriter, LastReaderOut,
		KeepsFirst, ForgetsSecond,
		QuorumHalf, QuorumReachable, NoElapsedCheck, DriftAdded, FirstAttempt, PartialRelease, FenceNotRaised,
	}
}

// retryDelay is between two attempts.
const retryDelay = 100 * time.Millisecond

var (
	deleteScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	renewScript  = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
	prefixScript = redis.NewScript(`local n = 0 for _, k in ipairs(redis.call("keys", ARGV[1])) do n = n + redis.call("del", k) end return n`)
)

// Single returns the lock on one node with a flaw: SET NX PX, a unique value,
// compare-and-delete in Lua, and Until counted from before the call.
func Single(f Flaw) impls.Version {
	return version(f, "single", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		return &single{env: e, cfg: c, flaw: f}, nil
	})
}

func version(f Flaw, kind string, make func(impls.Env, impls.Config) (impls.Lock, error)) impls.Version {
	return impls.Version{
		Name:    fmt.Sprintf("%s/%s", kind, f),
		Summary: "a mutant for the tests of the harness",
		Traits: impls.Traits{
			TTL: impls.TTLAtomic, Token: impls.TokenUnique, Release: impls.ReleaseAtomic,
			Renew: impls.RenewNone, Wait: impls.WaitPoll,
		},
		New: make,
	}
}

// lease is a grant of a single node.
func lease(owner string, until time.Time) impls.Lease {
	return impls.Lease{Owner: owner, Until: until}
}

// released turns a script's answer into what Release returns.
func released(n int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("release: %w", err)
	case n == 0:
		return fmt.Errorf("release: %w", impls.ErrNotHeld)
	}
	return nil
}

// remove is the sound release.
func remove(ctx context.Context, c redis.Scripter, key, owner string) (int, error) {
	return deleteScript.Run(ctx, c, []string{key}, owner).Int()
}
