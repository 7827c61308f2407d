// Package catalog is the list of lock versions.
//
// The list is written out: a version is in the catalogue because it stands here,
// and for no other reason. Nothing registers itself.
package catalog

import (
	"lockpick/impls"
	blindrenew "lockpick/impls/blind-renew"
	"lockpick/impls/distlock"
	fixedvalue "lockpick/impls/fixed-value"
	fragilewatchdog "lockpick/impls/fragile-watchdog"
	getdel "lockpick/impls/get-del"
	luarelease "lockpick/impls/lua-release"
	"lockpick/impls/redislock"
	"lockpick/impls/redsync"
	setnxdel "lockpick/impls/setnx-del"
	setnxex "lockpick/impls/setnx-ex"
	setnxexpire "lockpick/impls/setnx-expire"
	spintool "lockpick/impls/spin-tool"
	"lockpick/impls/watchdog"
)

// All returns every version, in the order in which the documents come to them,
// and the libraries last. The slice is the caller's.
func All() []impls.Version {
	return []impls.Version{
		setnxdel.Version,
		setnxexpire.Version,
		setnxex.Version,
		fixedvalue.Version,
		getdel.Version,
		luarelease.Version,
		spintool.Version,
		blindrenew.Version,
		fragilewatchdog.Version,
		watchdog.Version,
		distlock.Version,
		redislock.Version,
		redsync.Version,
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
