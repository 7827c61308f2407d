// Package local is the testbed of real servers on this machine: redis-server
// processes on loopback ports, clients that are processes too, and links between
// them that faults can strike. It needs redis-server, and libfaketime where a
// scenario moves a node's clock.
//
// Nothing of it outlives a run, nor this process, however that ends.
package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"lockpick/faults"
	"lockpick/internal/live"
	"lockpick/internal/redisd"
	"lockpick/internal/testbed"
)

// Name is the word for this testbed on the command line.
const Name = "local"

// New finds what the testbed needs. client makes the command that is one lock
// client. The error says what is missing and how to get it.
func New(ctx context.Context, client func() *exec.Cmd) (testbed.Testbed, error) {
	program, err := redisd.Installed(ctx)
	if err != nil {
		return nil, err
	}
	return live.New(&provider{program}, client), nil
}

// provider starts servers.
type provider struct{ program redisd.Program }

// Name implements live.Provider.
func (p *provider) Name() string { return Name }

// Software implements live.Provider.
func (p *provider) Software() map[string]string {
	return map[string]string{"go": runtime.Version(), "redis": p.program.Version}
}

// Refuses implements live.Provider.
func (p *provider) Refuses(n testbed.Need) string {
	for _, node := range n.Topology.Nodes {
		if clockOf(node, n.Steps) {
			if reason := redisd.Faketime(); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// clockOf reports whether a step moves the node's clock.
func clockOf(node string, steps []faults.Step) bool {
	for _, s := range steps {
		switch f := s.Fault.(type) {
		case faults.Clock:
			if f.Node == node {
				return true
			}
		case faults.Drift:
			if f.Node == node {
				return true
			}
		}
	}
	return false
}

// stops reports whether a step takes the node down.
func stops(node string, steps []faults.Step) bool {
	for _, s := range steps {
		if f, ok := s.Fault.(faults.Stop); ok && f.Node == node {
			return true
		}
	}
	return false
}

// Build implements live.Provider.
func (p *provider) Build(ctx context.Context, n testbed.Need) (live.Servers, error) {
	home, err := redisd.NewHome()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var starting sync.WaitGroup
	errs := make([]error, len(n.Topology.Nodes))
	started := make([]*redisd.Server, len(errs))
	for i, name := range n.Topology.Nodes {
		starting.Go(func() {
			started[i], errs[i] = redisd.Start(ctx, p.program, home, redisd.Config{
				Name: name, Clock: clockOf(name, n.Steps), Persist: stops(name, n.Steps),
			})
		})
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, home.Close())
	}
	s := &servers{home: home, nodes: map[string]*redisd.Server{}}
	for i, name := range n.Topology.Nodes {
		s.nodes[name] = started[i]
	}
	return s, nil
}

// servers are the nodes of a run. It implements live.Servers; what it is asked for
// is there, as package live has made sure.
type servers struct {
	home  *redisd.Home
	nodes map[string]*redisd.Server
}

func (s *servers) Addr(node string) string              { return s.nodes[node].Addr() }
func (s *servers) Ahead(node string) time.Duration      { return s.nodes[node].Offset() }
func (s *servers) Pause(node string) error              { return s.nodes[node].Pause() }
func (s *servers) Resume(node string) error             { return s.nodes[node].Resume() }
func (s *servers) Stop(n string, l time.Duration) error { return s.nodes[n].Stop(l) }
func (s *servers) Jump(n string, by time.Duration) error {
	return s.nodes[n].Jump(by)
}
func (s *servers) Drift(n string, rate float64) error { return s.nodes[n].Drift(rate) }

// patience is how long servers may take to come up.
const patience = 15 * time.Second

func (s *servers) Start(node string) error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	return s.nodes[node].Start(ctx)
}

func (s *servers) Err() error {
	for name, one := range s.nodes {
		select {
		case <-one.Ended():
			return fmt.Errorf("local: the server %s has ended and nobody stopped it", name)
		default:
		}
	}
	return nil
}

func (s *servers) Close() error { return s.home.Close() }
