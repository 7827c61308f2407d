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
	Name      string
	File      string // where it was read from
	Title     Text
	Lesson    Text
	Documents []Source
	Topology  Topology
	Lock      Lock
	Workload  Workload
	Steps     []faults.Step
	Needs     map[string][]string // trait to the values that will do; a version that has none of them is skipped
	Bounds    Bounds
	Checks    []string
	Expect    map[string]Expectation // by check; every check of Checks has one
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
	Redis  string // "single"
	Quorum int    // how many independent nodes a version that asks a majority gets instead; 5 unless stated
}

// Lock is what the clients lock.
type Lock struct {
	Key         string
	TTL         time.Duration
	RenewingTTL time.Duration // for versions that renew, which can afford a shorter lease; TTL when 0
	Wait        time.Duration // how long Acquire keeps trying
}

// Workload is what the clients do.
type Workload struct {
	Resource string // "register", "counter" or "stock"
	Initial  int64
	Clients  int           // named client-1, client-2, …
	Rounds   int           // critical sections per client; 1 unless stated
	Stagger  time.Duration // client-2 starts this much after client-1, and so on
	Think    time.Duration // between two rounds
	Work     time.Duration // between reading the resource and writing it
	SlowWork SlowWork      // some sections that take longer
	WorkOf   map[string]time.Duration
	Extend   time.Duration // while they work, clients prolong their lease this often, if the lock can; 0 for never
	Heed     bool          // clients ask their lease before they write, and stop if it is over
}

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
}

// Expectation lists versions by the verdict that a check is expected to give.
type Expectation struct {
	Violated, Holds []string
}

// ClientName returns the name of client i, from 1.
func ClientName(i int) string { return fmt.Sprintf("client-%d", i) }

// NodeName returns the name of lock node i, from 1.
func NodeName(i int) string { return fmt.Sprintf("redis-%d", i) }

// Store is the name of the node that keeps the protected resource.
const Store = "store"

// Clients returns the names of the scenario's clients.
func (s *Scenario) Clients() []string {
	names := make([]string, s.Workload.Clients)
	for i := range names {
		names[i] = ClientName(i + 1)
	}
	return names
}
