// Package catalog is the list of lock versions.
//
// The list is written out: a version is in the catalogue because it stands here,
// and for no other reason. Nothing registers itself.
package catalog

import (
	"lockpick/impls"
	batchedwatchdog "lockpick/impls/batched-watchdog"
	blindrenew "lockpick/impls/blind-renew"
	conditionalupdate "lockpick/impls/conditional-update"
	"lockpick/impls/distlock"
	entersanyway "lockpick/impls/enters-anyway"
	"lockpick/impls/fair"
	"lockpick/impls/fenced"
	fixedvalue "lockpick/impls/fixed-value"
	fragilewatchdog "lockpick/impls/fragile-watchdog"
	getdel "lockpick/impls/get-del"
	idempotencykey "lockpick/impls/idempotency-key"
	"lockpick/impls/janitor"
	locallock "lockpick/impls/local-lock"
	luadecrement "lockpick/impls/lua-decrement"
	luarelease "lockpick/impls/lua-release"
	mismatchedtoken "lockpick/impls/mismatched-token"
	"lockpick/impls/multi"
	"lockpick/impls/notify"
	notifynaive "lockpick/impls/notify-naive"
	optimisticversion "lockpick/impls/optimistic-version"
	readwrite "lockpick/impls/read-write"
	"lockpick/impls/redislock"
	"lockpick/impls/redlock"
	redlockfenced "lockpick/impls/redlock-fenced"
	redlocknaive "lockpick/impls/redlock-naive"
	"lockpick/impls/redsync"
	"lockpick/impls/reentrant"
	setnxdel "lockpick/impls/setnx-del"
	setnxex "lockpick/impls/setnx-ex"
	setnxexpire "lockpick/impls/setnx-expire"
	sharedsubscription "lockpick/impls/shared-subscription"
	spintool "lockpick/impls/spin-tool"
	swappedargs "lockpick/impls/swapped-args"
	throwingrelease "lockpick/impls/throwing-release"
	uncheckedreply "lockpick/impls/unchecked-reply"
	uniqueindex "lockpick/impls/unique-index"
	waitreplicas "lockpick/impls/wait-replicas"
	"lockpick/impls/watchdog"
)

// All returns every version, in the order in which the documents come to them:
// the locks, the libraries, and last the strategies of the resource, which need
// no lock. The slice is the caller's.
func All() []impls.Version {
	return []impls.Version{
		setnxdel.Version,
		janitor.Version,
		setnxexpire.Version,
		setnxex.Version,
		fixedvalue.Version,
		mismatchedtoken.Version,
		swappedargs.Version,
		getdel.Version,
		luarelease.Version,
		entersanyway.Version,
		uncheckedreply.Version,
		throwingrelease.Version,
		throwingrelease.RawError,
		locallock.Version,
		spintool.Version,
		blindrenew.Version,
		fragilewatchdog.Version,
		watchdog.Version,
		watchdog.Leased,
		batchedwatchdog.Version,
		distlock.Version,
		reentrant.Version,
		notify.Version,
		notifynaive.Version,
		sharedsubscription.Version,
		fair.Version,
		readwrite.Version,
		multi.Version,
		fenced.Version,
		waitreplicas.Version,
		redlock.Version,
		redlocknaive.Naive,
		redlocknaive.NoElapsed,
		redlocknaive.NoTimeout,
		redlocknaive.OwnRelease,
		redlocknaive.Replicas,
		redlocknaive.Reachable,
		redlocknaive.DriftAdded,
		redlocknaive.FirstTry,
		redlockfenced.Version,
		redislock.Version,
		redsync.Version,
		redsync.SetOnExtend,

		luadecrement.Version,
		luadecrement.Guarded,
		optimisticversion.Version,
		conditionalupdate.Version,
		uniqueindex.Version,
		idempotencykey.Version,
	}
}

// Lookup returns the version with that name.
func Lookup(name string) (impls.Version, bool) {
	for _, v := range All() {
		if v.Name == name {
			return v, true
		}
	}
	return impls.Version{}, false
}
