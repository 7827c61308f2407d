// Package redlocknaive is Redlock without the constraints that D1 section 4 puts
// on it: each left out by itself, and the first three together.
//
//	the total time must be less than the lease     redlock-no-elapsed
//	a node that is slow is skipped                 redlock-no-timeout
//	the release goes to all instances              redlock-own-release   redisson/redisson#1606
//	the instances do not replicate one another     redlock-replicas
//	the majority is of all instances               redlock-reachable     SPSCommerce/redlock-py#6
//	the drift is taken off the lease               redlock-drift-added   SPSCommerce/redlock-py#3, go-redsync/redsync#37
//	the lease counts from the try that succeeded   redlock-first-try     mike-marcacci/node-redlock#296, #299
//
// The code is impls/redlock with its Options, so that nothing else differs.
//
// redlock-naive is what a reader makes of the sentence "向 n 个独立的 redis 实例（通常 5
// 个）依次加锁，超过半数成功才算加锁成功": a loop over the nodes that waits for each of
// them, a majority, and a release of what was granted. One dead node then costs
// the client library's whole time-out in every try, and a grant that took longer
// than the lease is called one.
//
// redlock-first-try does not look whether anything is left of the lease, like the
// library that it is taken from: what it hands out after a long wait was over
// before it was granted, and a holder that asks its lease never gets anything done.
// One that did look would refuse every grant after the first TTL, which is only an
// availability that is lost.
package redlocknaive

import (
	"lockpick/impls"
	"lockpick/impls/redlock"
)

// Naive is redlock-naive.
var Naive = redlock.Without("redlock-naive",
	"Redlock with a majority and nothing else: one node after the other, no time-outs, no elapsed-time check, only the nodes that said yes are released",
	redlock.Options{NoElapsedCheck: true, NoNodeTimeout: true, OwnRelease: true})

// NoElapsed is redlock-no-elapsed.
var NoElapsed = redlock.Without("redlock-no-elapsed",
	"Redlock that claims the whole TTL from the end of the acquire, however long that took",
	redlock.Options{NoElapsedCheck: true})

// NoTimeout is redlock-no-timeout.
var NoTimeout = redlock.Without("redlock-no-timeout",
	"Redlock that asks one node after the other and waits for each as long as the client library does",
	redlock.Options{NoNodeTimeout: true})

// OwnRelease is redlock-own-release.
var OwnRelease = redlock.Without("redlock-own-release",
	"Redlock that deletes only where it heard a yes, so that a grant whose reply was lost stays until it expires",
	redlock.Options{OwnRelease: true})

// Replicas is redlock-replicas.
var Replicas = redlock.Without("redlock-replicas",
	"Redlock over nodes that are replicas of one another, so that a majority is one node's word",
	redlock.Options{Replicas: true})

// Reachable is redlock-reachable.
var Reachable = redlock.Without("redlock-reachable",
	"Redlock that needs the majority of the nodes that answered, so that two sides of a partition each have one",
	redlock.Options{Reachable: true})

// DriftAdded is redlock-drift-added.
var DriftAdded = redlock.Without("redlock-drift-added",
	"Redlock that adds the drift of the clocks to the lease instead of taking it off",
	redlock.Options{DriftAdded: true})

// FirstTry is redlock-first-try.
var FirstTry = redlock.Without("redlock-first-try",
	"Redlock whose lease counts from the first of several tries: after a long wait it is over when it is handed out",
	redlock.Options{FirstTry: true})

// Versions returns them all.
func Versions() []impls.Version {
	return []impls.Version{Naive, NoElapsed, NoTimeout, OwnRelease, Replicas, Reachable, DriftAdded, FirstTry}
}
