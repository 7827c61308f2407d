package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockpick/impls/external"
	"lockpick/internal/testbed"
)

// process is what its threads have in common: the program that has their locks,
// and what strikes one of them strikes all.
type process struct {
	world   *world
	threads []*client // fixed once the world is made
	ctx     context.Context
	die     context.CancelFunc

	start   sync.Mutex // held while the program is started, or struck
	mu      sync.Mutex // guards what follows
	child   *external.Child
	pauses  int
	resumed chan struct{} // closed when it goes on, or dies; nil while it runs
	crashed bool
	ahead   time.Duration // of its wall clock
	answers testbed.Answers
	changed chan struct{} // closed, and made anew, when answers change
}

func newProcess(w *world) *process {
	p := &process{world: w, changed: make(chan struct{})}
	p.ctx, p.die = context.WithCancel(w.ctx)
	w.processes = append(w.processes, p)
	return p
}

// begin returns the program, started if it was not.
func (p *process) begin() (*external.Child, error) {
	p.start.Lock()
	defer p.start.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.crashed:
		return nil, errDead
	case p.child == nil:
		child, err := external.Start(p.world.command())
		if err != nil {
			return nil, fmt.Errorf("live: %w", err)
		}
		p.child = child
		if p.pauses > 0 {
			return child, child.Process().Pause()
		}
	}
	return p.child, nil
}

// gate blocks while the process is paused and fails once it has crashed, or when
// ctx ends.
func (p *process) gate(ctx context.Context) error {
	for {
		p.mu.Lock()
		crashed, resumed := p.crashed, p.resumed
		p.mu.Unlock()
		switch {
		case crashed:
			return errDead
		case resumed == nil:
			return nil
		}
		select {
		case <-resumed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause stops the process. When it returns no instruction of it is executed any
// more.
func (p *process) pause() error {
	p.start.Lock()
	defer p.start.Unlock()
	p.mu.Lock()
	p.pauses++
	first := p.pauses == 1 && !p.crashed
	if first && p.resumed == nil {
		p.resumed = make(chan struct{})
	}
	child := p.child
	p.mu.Unlock()
	if !first || child == nil {
		return nil
	}
	return child.Process().Pause()
}

// waking is how much later the harness goes on for a client than the client's
// process. All of a process wakes at once, its timers first, and what they tell
// must have a way here.
const waking = 20 * time.Millisecond

// resume ends one pause.
func (p *process) resume() error {
	p.start.Lock()
	defer p.start.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses = max(p.pauses-1, 0); p.pauses > 0 || p.resumed == nil {
		return nil
	}
	time.AfterFunc(waking, p.open)
	if p.child == nil {
		return nil
	}
	return p.child.Process().Resume()
}

// open lets those go on who wait at the gate, unless the process stands still again.
func (p *process) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses == 0 && p.resumed != nil {
		close(p.resumed)
		p.resumed = nil
	}
}

// jump moves the process's wall clock. One that stands still finds it moved when it
// goes on.
func (p *process) jump(by time.Duration) error {
	p.mu.Lock()
	p.ahead += by
	ahead, child, paused := p.ahead, p.child, p.resumed != nil
	p.mu.Unlock()
	if child == nil {
		return nil
	}
	if paused {
		go func() { _ = child.SetClock(ahead) }() // it is the first that the client reads
		return nil
	}
	return child.SetClock(ahead)
}

// crash kills the process.
func (p *process) crash() error {
	p.start.Lock()
	defer p.start.Unlock()
	p.mu.Lock()
	p.crashed = true
	if p.resumed != nil {
		close(p.resumed)
		p.resumed = nil
	}
	child := p.child
	p.mu.Unlock()
	p.die()
	if child == nil {
		return nil
	}
	err := child.Process().Kill()
	<-child.Process().Ended()
	return err
}

// leave ends the program when the run is over. One that was not killed and has
// ended before did not keep to its part.
func (p *process) leave() {
	p.mu.Lock()
	child, crashed, paused := p.child, p.crashed, p.resumed != nil
	p.crashed = true // whoever still comes to the gate goes away
	if paused {
		close(p.resumed)
		p.resumed = nil
	}
	p.mu.Unlock()
	if child == nil {
		return
	}
	if err := child.Err(); err != nil && !crashed {
		p.world.fail(err)
	}
	if paused {
		_ = child.Process().Resume() // it is to end
	}
	child.Stop(farewell)
	p.die()
}

// change changes what is known of its answers.
func (p *process) change(do func(*testbed.Answers)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(&p.answers)
	close(p.changed)
	p.changed = make(chan struct{})
}

// onItsWay is how long a reply that the client has read may take to be counted.
const onItsWay = 20 * time.Millisecond

// answersNow counts the answers. While a fault is at work, no count is sure: what
// does not reach a link is not counted there, so that every look misses something.
func (p *process) answersNow() testbed.Answers {
	limit := time.NewTimer(onItsWay)
	defer limit.Stop()
	for {
		p.mu.Lock()
		got, changed := p.answers, p.changed
		p.mu.Unlock()
		if got.Waiting > 0 {
			select {
			case <-changed:
				continue
			case <-limit.C:
			}
		}
		if p.world.troubled() {
			p.change(func(a *testbed.Answers) { a.Missed++ })
			got.Missed++
		}
		return got
	}
}
