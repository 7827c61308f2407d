// Package live carries out runs on real servers: what testbeds of processes, of
// containers and of somebody's servers have in common.
//
// Each lock client is a process that speaks the adapter protocol, so a pause is
// SIGSTOP and a crash is SIGKILL. What it sends to a lock node goes through a link
// of package links, where the faults of the network are. What a node did is taken
// from its MONITOR, by package tap. The store of the protected resource is in this
// process. A testbed gives the servers, as a Provider.
//
//	client process ──► link ──► server
//	       ▲             │         │ MONITOR
//	 harness's calls     └─ hooks ─┴─► world ──► history
//
// The rule that surprises: a node is heard of later than it acts. Its records have
// the time at which it acted, by its own clock, and so may come after younger ones;
// see Lag.
package live

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"lockpick/internal/testbed"
)

// Lag is how late a node may be heard of.
const Lag = 5 * time.Second

// Provider gives servers to runs. It is safe for concurrent use.
type Provider interface {
	// Name is the testbed's, on the command line.
	Name() string

	// Software names the servers' programs and versions.
	Software() map[string]string

	// Refuses says why it cannot give what the run needs, or "".
	Refuses(n testbed.Need) string

	// Build starts the nodes of a run. The servers answer when it returns.
	Build(ctx context.Context, n testbed.Need) (Servers, error)
}

// Servers are the nodes of one run. Their methods are safe for concurrent use, and
// return when what they do has been done.
type Servers interface {
	// Addr is where the node listens, "host:port". It stays the same.
	Addr(node string) string

	// Ahead is how far the node's clock is ahead of this machine's.
	Ahead(node string) time.Duration

	Pause(node string) error
	Resume(node string) error
	Stop(node string, lose time.Duration) error
	Start(node string) error
	Jump(node string, by time.Duration) error
	Drift(node string, rate float64) error

	// Err says which server has ended that nobody stopped, nil when none has.
	Err() error

	// Close ends the servers and leaves nothing of them.
	Close() error
}

// Testbed carries out runs on the servers of a Provider.
type Testbed struct {
	provider Provider
	client   func() *exec.Cmd
}

// New returns a testbed. client makes the command that is one lock client.
func New(p Provider, client func() *exec.Cmd) *Testbed { return &Testbed{p, client} }

// Name implements testbed.Testbed.
func (t *Testbed) Name() string { return t.provider.Name() }

// Software implements testbed.Testbed.
func (t *Testbed) Software() map[string]string { return t.provider.Software() }

// Lag implements testbed.Testbed.
func (t *Testbed) Lag() time.Duration { return Lag }

// Refuses implements testbed.Testbed.
func (t *Testbed) Refuses(n testbed.Need) string {
	switch {
	case n.Version.Strategy != nil:
		return "a strategy has no lock that a client process could have"
	case n.Topology.Primary != "":
		return "its nodes are replicas of one another"
	}
	return t.provider.Refuses(n)
}

// Run implements testbed.Testbed. When ctx ends, the clients and servers end with it,
// and Run returns although f has not: f is left behind in a world that stands
// still.
func (t *Testbed) Run(ctx context.Context, s testbed.Spec, f func(testbed.World)) (err error) {
	servers, err := t.provider.Build(ctx, s.Need)
	if err != nil {
		return fmt.Errorf("%s: start the servers: %w", t.Name(), err)
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	w, err := newWorld(ctx, s, servers, t.client)
	if err != nil {
		return err
	}
	unwatch := watch()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		f(w)
	}()
	select {
	case <-returned:
		disturbed := unwatch()
		return errors.Join(w.end(), disturbed)
	case <-ctx.Done():
		return errors.Join(ctx.Err(), unwatch(), w.end())
	}
}

var _ testbed.Testbed = (*Testbed)(nil)
