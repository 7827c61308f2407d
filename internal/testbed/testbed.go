// Package testbed is the contract between the harness and what a scenario runs
// on: simulated nodes, processes on this machine, containers, or somebody's
// servers. The testbeds are the packages below.
//
// It knows no scenario and no check. A testbed offers its faults through the
// interfaces of package faults, which World is asserted to.
package testbed

import (
	"context"
	"errors"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
)

// ErrRefused means that the store did not apply a write, because its fence was
// older than one that it had seen. Any other error leaves the outcome unknown.
var ErrRefused = errors.New("testbed: the store refused the write")

// ErrLeft means that code of the lock still ran, or waited, after its Close and
// the end of the run. The run itself went well.
var ErrLeft = errors.New("testbed: the lock left something running after its Close")

// ErrDisturbed means that the run took place and shows nothing: this machine was too
// busy, or what a server has done cannot be told.
var ErrDisturbed = errors.New("testbed: the run shows nothing")

// Testbed is something that a topology runs on. It is safe for concurrent use.
type Testbed interface {
	// Name is the word for it on the command line.
	Name() string

	// Software names what it runs with, for the history's header.
	Software() map[string]string

	// Lag is how late a record of the testbed's may come: what its nodes do, it may
	// have to ask them.
	Lag() time.Duration

	// Refuses says why it cannot carry out such a run, or "".
	Refuses(n Need) string

	// Run builds what the spec asks for, calls f in the testbed's own time, and
	// takes everything down. The error is the testbed's own: it could not be
	// built, or f panicked. It is ErrLeft when all went well but for what the
	// lock left behind, and ErrDisturbed when it did but for the machine.
	Run(ctx context.Context, s Spec, f func(World)) error
}

// Need is what a run needs that not every testbed has.
type Need struct {
	Topology history.Topology
	Replicas Replicas
	Steps    []faults.Step
	Version  impls.Version
}

// Spec says what to build.
type Spec struct {
	Need

	Name     string // of the run, for errors
	Clients  []string
	Store    string // the name of the node that keeps the resources
	Initial  int64  // the value of each resource
	Fences   bool   // the store refuses a write whose fence is older than one that it has seen
	Retries  int    // how often the Redis client sends a command again that got no reply
	Seed     uint64
	Scale    float64 // what the scenario's times were multiplied by; those that it does not name follow
	Recorder *history.Recorder

	// Processes says which clients are threads of one process: by client, the
	// process's number. A client that is not there is a process of its own.
	Processes map[string]int

	// Resources says which resource each client uses, by a name that stands as the
	// key in the store's records. A client that is not there uses the one that has
	// no name.
	Resources map[string]string

	// Packet is told of every command of a client to a lock node, at every point
	// of its way, and answers whether that message is to be lost.
	Packet func(faults.Packet) (drop bool)
}

// Replicas says how nodes are tied that are replicas of the topology's primary.
type Replicas struct {
	Writable  bool          // they take writes of their own, and nobody watches them
	DownAfter time.Duration // how long a node must not answer a Sentinel to be down to it
	Min       int           // replicas that must have answered within MaxLag for the primary to take a write; 0 for none
	MaxLag    time.Duration
}

// World is a topology that runs. It is safe for concurrent use.
type World interface {
	faults.World

	// Now is the time since the start of the run.
	Now() time.Duration

	// Client returns the client of that name, which is one of the spec's.
	Client(name string) Client

	// Look records every key of the lock's nodes and the store's value, with the
	// given text.
	Look(text string)
}

// Client is one participant, a thread of its process. Its methods block while it is
// paused. After it crashed they return an error at once, and what they were to do
// is not done.
type Client interface {
	// Lock makes the client's handle.
	Lock(v impls.Version, c impls.Config) (impls.Lock, error)

	// Strategy makes what the client changes the resource with in place of a lock.
	Strategy(v impls.Version, c impls.Config) (impls.Strategy, error)

	// Context ends when the client crashes or the run is over.
	Context() context.Context

	// Section begins a critical section: the context that it returns ends with
	// Context, when end is called, or by a cancel fault. A client has one section
	// at a time.
	Section() (section context.Context, end func())

	// Alive is false from the moment the client crashed.
	Alive() bool

	// Enter says which phase of its critical section the client is in now.
	Enter(p faults.Phase)

	// Sleep works for d, give or take less than a microsecond that keeps two
	// clients from doing something at the same instant.
	Sleep(d time.Duration)

	// Checkpoint returns when the client is not paused.
	Checkpoint()

	// Read and Write use the client's resource over the network. A write that
	// the store refused is ErrRefused; with any other error it may have been
	// applied.
	Read(ctx context.Context) (int64, error)
	Write(ctx context.Context, v int64, fence uint64) error

	// Answers counts what has become so far of what the client's process asked the
	// lock's nodes.
	Answers() Answers

	// Label returns the history's name for a value that a lock stored.
	Label(owner string) string
}

// Answers counts what a process asked the lock's nodes: commands of its locks, but
// for subscriptions.
type Answers struct {
	Sent    int // commands
	Waiting int // of them those that may still be answered, and connections that are being made
	Missed  int // commands that will not be, and connections that could not be made
}
