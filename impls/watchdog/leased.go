package watchdog

import (
	"context"

	"lockpick/impls"
)

// Leased is watchdog-leased: the watchdog whose caller passes a lease of its own.
//
// D2 section 4.3 and D1 section 3: Redisson's tryLock(wait, lease, unit) takes a
// lease for the word of a caller who knows how long the work takes, and does not
// renew; leave it out and the watchdog does. The mistake is the caller's, and looks
// like prudence: the work takes longer once, and nobody keeps the lock any more.
//
// Unlike Redisson it says when the lease ends, by Until, Precision earlier than TTL
// after the request left. It has no Lost, since it learns of nothing. Everything
// else is watchdog.
var Leased = impls.Version{
	Name:      "watchdog-leased",
	Summary:   "the watchdog, given a lease by its caller: it does not renew",
	Where:     "D2 4.3, D1 3, Redisson tryLock(wait, lease)",
	VariantOf: "watchdog",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
	},
	New: func(env impls.Env, cfg impls.Config) (impls.Lock, error) {
		l, err := newLock(env, cfg)
		if err != nil {
			return nil, err
		}
		return leased{l.(*lock)}, nil
	},
}

type leased struct{ *lock }

// Acquire does not start the renewal.
func (l leased) Acquire(ctx context.Context) (impls.Lease, error) {
	token, validUntil, err := l.take(ctx)
	if err != nil {
		return impls.Lease{}, err
	}
	return impls.Lease{Owner: token, Until: validUntil.Add(-impls.Precision)}, nil
}
