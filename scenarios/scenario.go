// Package scenarios is the catalogue of what can be tried on a lock: one YAML
// file each, embedded, with a strict loader.
//
// It names versions and checks by string and knows neither; the loader is told
// which exist. It runs nothing.
//
// The rule that surprises: a scenario states what it expects of every version.
// The expectation never reaches the run or the checks; it only judges them.
package scenarios

import (
	"fmt"
	"time"

	"lockpick/faults"
)

// Scenario is a topology, a workload, the steps that go wrong, the checks that
// judge, and what each version is expected to come out as.
type Scenario struct {
	Name       string
	File       string // where it was read from
	Title      Text
	Lesson     Text
	Documents  []Source
	Topology   Topology
	Lock       Lock
	Workload   Workload
	Steps      []faults.Step
	Needs      map[string][]string // trait to the values that will do; a version that has none of them is skipped
	Variants   []string            // the variants of other versions that show something of their own here; the rest are skipped
	Strategies bool                // strategies of the resource are tried too, where otherwise they are skipped
	Bounds     Bounds
	Checks     []string
	Expect     map[string]Expectation // by check; every check of Checks has one

	lockless []string // the versions that are known to be strategies
}

// Text is one text in two languages.
type Text struct {
	EN, ZH string
}

// Source is a place in one of the documents. Both are empty when the scenario
// goes beyond them.
type Source struct {
	File, Section string
}

// Topology says which nodes there are.
type Topology struct {
	Redis  string // Single or Sentinel
	Quorum int    // how many independent nodes a version that asks a majority gets instead; 5 unless stated

	// Of Sentinel alone.
	Replicas    int           // of redis-1, named redis-2, …; 2 unless stated
	DownAfter   time.Duration // how long a node must not answer a Sentinel to be down to it; 5 s unless stated
	MinReplicas int           // how many replicas must have answered within MaxLag for the primary to take a write; 0 for none
	MaxLag      time.Duration // 10 s unless stated, as in Redis
}

// The values of Topology.Redis.
const (
	Single   = "single"   // one node
	Sentinel = "sentinel" // one primary, replicas, and three Sentinels
)

// Sentinels is how many there are, named sentinel-1, …; two of them must agree.
const Sentinels = 3

// Lock is what the clients lock.
type Lock struct {
	Key         string
	Count       int      // how many locks there are, each with a resource of its own; 1 unless stated. See KeyOf
	Also        []string // further keys, for versions that lock several as one
	TTL         time.Duration
	RenewingTTL time.Duration // for versions that renew, which can afford a shorter lease; TTL when 0
	Wait        time.Duration // how long Acquire keeps trying
	Retries     int           // how often the Redis client sends a command again, of its own accord, that got no reply; 0 unless stated
}

// Workload is what the clients do.
type Workload struct {
	Resource string // "register", "counter" or "stock"
	Initial  int64
	Clients  int // named client-1, client-2, …
	Threads  int // how many of them, in their order, are threads of one process; 1 unless stated. See ProcessOf
	Rounds   int // critical sections per client; 1 unless stated, and the most of any client where RoundsOf says more
	RoundsOf map[string]int
	Stagger  time.Duration // client-2 starts this much after client-1, and so on
	Think    time.Duration // between two rounds
	Work     time.Duration // between reading the resource and writing it
	SlowWork SlowWork      // some sections that take longer
	WorkOf   map[string]time.Duration
	Extend   time.Duration // while they work, clients prolong their lease this often, if the lock can; 0 for never
	Heed     bool          // clients ask their lease before they write, and stop if it is over
	Nest     int           // how often a section acquires the lock, one inside the other; 1 unless stated
	Releases int           // how often it gives it back then; Nest unless stated
	Keep     []string      // clients that never give the lock back: their task ends, and their process lives on
	Readers  []string      // clients that lock in shared mode and only read
	Fences   string        // Checked unless stated: whether the store refuses a fence older than one that it has seen
}

// The values of Workload.Fences.
const (
	Checked = "checked"
	Ignored = "ignored"
)

// SlowWork makes every Every-th section of the run take Work instead.
type SlowWork struct {
	Every int
	Work  time.Duration
}

// Bounds are limits that a bounded promise is held against; 0 leaves it to the
// check's default.
type Bounds struct {
	Availability       time.Duration
	CommandsPerAcquire float64
	RenewalsPerTTL     float64
	Connections        int     // most that a node may have open at once
	Subscriptions      int     // most that a node may have at once
	Overtakes          int     // most later arrivals that may be granted the lock before an earlier one
	Throughput         float64 // least sections per second that all clients together must finish
}

// Expectation lists versions by the verdict that a check is expected to give.
type Expectation struct {
	Violated, Holds []string
	Either          []string // versions of which chance decides: neither verdict is a surprise
	Others          string   // the verdict of every version that no list names; empty when nothing is expected of them
}

// ClientName returns the name of client i, from 1.
func ClientName(i int) string { return fmt.Sprintf("client-%d", i) }

// NodeName returns the name of lock node i, from 1.
func NodeName(i int) string { return fmt.Sprintf("redis-%d", i) }

// SentinelName returns the name of Sentinel i, from 1.
func SentinelName(i int) string { return fmt.Sprintf("sentinel-%d", i) }

// Store is the name of the node that keeps the protected resource.
const Store = "store"

// KeyOf returns the name of the lock of client i, from 1. Several locks of one
// kind are numbered from 1, and the clients take them in turn.
func (s *Scenario) KeyOf(i int) string {
	if s.Lock.Count <= 1 {
		return s.Lock.Key
	}
	return fmt.Sprintf("%s:%d", s.Lock.Key, (i-1)%s.Lock.Count+1)
}

// ProcessOf returns the number of the process, from 1, that client i is a thread
// of, from 1.
func (s *Scenario) ProcessOf(i int) int { return (i-1)/max(s.Workload.Threads, 1) + 1 }

// Clients returns the names of the scenario's clients.
func (s *Scenario) Clients() []string {
	names := make([]string, s.Workload.Clients)
	for i := range names {
		names[i] = ClientName(i + 1)
	}
	return names
}
