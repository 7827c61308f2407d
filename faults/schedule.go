package faults

import (
	"fmt"
	"sync"
	"time"
)

// Step is one scheduled fault.
type Step struct {
	Fault Fault
	When  Trigger
	For   time.Duration // how long it lasts; 0 means until the faults are healed
}

func (s Step) String() string {
	text := fmt.Sprintf("%s %s, %s", s.Fault.Name(), s.Fault.Target(), s.When)
	if s.For > 0 {
		text += fmt.Sprintf(", for %v", s.For)
	}
	return text
}

// Schedule carries out steps in a World. Each step happens once. It is safe for
// concurrent use.
type Schedule struct {
	world  World
	report func(Step, Change, error)

	mu     sync.Mutex
	steps  []*armed
	healed bool
}

// Change says what became of a step.
type Change string

// The changes of a step.
const (
	Struck Change = "struck" // the fault was injected
	Healed Change = "healed" // and its end was reached
)

type armed struct {
	Step
	seen   int  // how often its trigger has happened
	fired  bool // the trigger has happened often enough
	struck bool // the fault was injected, or failed to be
	heal   func()
}

// NewSchedule arms the steps. report is called for every change of a step, with
// the error of an injection that failed; it may be called concurrently.
func NewSchedule(w World, steps []Step, report func(Step, Change, error)) *Schedule {
	s := &Schedule{world: w, report: report}
	for _, st := range steps {
		s.steps = append(s.steps, &armed{Step: st})
	}
	return s
}

// Start sets the clock of the steps that happen at a time. It is called once, at
// the start of the run.
func (s *Schedule) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.steps {
		if a.When.Client == "" {
			a.fired = true
			s.world.After(a.When.At, func() { s.strike(a) })
		}
	}
}

// Client is told of everything a client does.
func (s *Schedule) Client(name string, e Event) {
	for _, a := range s.match(func(a *armed) bool {
		return a.When.Client == name && a.When.Wire == nil && a.When.Event == e
	}) {
		s.strikeAfter(a)
	}
}

// Packet is told of every command at every point of its way, and answers whether
// that message is to be lost. A fault that strikes the client has struck by the
// time it returns.
func (s *Schedule) Packet(p Packet) (drop bool) {
	for _, a := range s.match(func(a *armed) bool {
		return a.When.Client == p.Client && a.When.Wire != nil && a.When.Wire.picks(p)
	}) {
		if _, ok := a.Fault.(Drop); ok {
			drop = true
		}
		s.strikeAfter(a)
	}
	return drop
}

// match counts the happening for every step that waits for it and returns the
// steps whose turn has come.
func (s *Schedule) match(is func(*armed) bool) []*armed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*armed
	for _, a := range s.steps {
		if a.fired || s.healed || !is(a) {
			continue
		}
		if a.seen++; a.seen >= max(a.When.Nth, 1) {
			a.fired = true
			due = append(due, a)
		}
	}
	return due
}

func (s *Schedule) strikeAfter(a *armed) {
	if a.When.After > 0 {
		s.world.After(a.When.After, func() { s.strike(a) })
		return
	}
	s.strike(a)
}

func (s *Schedule) strike(a *armed) {
	s.mu.Lock()
	over := s.healed
	a.struck = !over
	s.mu.Unlock()
	if over {
		return
	}
	heal, err := a.Fault.Inject(s.world)
	s.report(a.Step, Struck, err)
	if err != nil || heal == nil {
		return
	}
	s.mu.Lock()
	a.heal = heal
	over = s.healed
	s.mu.Unlock()
	switch {
	case over: // Heal came during the injection and has already passed by
		s.mend(a)
	case a.For > 0:
		s.world.After(a.For, func() { s.mend(a) })
	}
}

func (s *Schedule) mend(a *armed) {
	s.mu.Lock()
	heal := a.heal
	a.heal = nil
	s.mu.Unlock()
	if heal != nil {
		heal()
		s.report(a.Step, Healed, nil)
	}
}

// Heal ends every fault that can be healed and lets no step happen any more.
func (s *Schedule) Heal() {
	s.mu.Lock()
	s.healed = true
	s.mu.Unlock()
	for _, a := range s.steps {
		s.mend(a)
	}
}

// Unfired returns the steps whose trigger never happened, or happened so late
// that Heal came before the fault.
func (s *Schedule) Unfired() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []Step
	for _, a := range s.steps {
		if !a.struck {
			left = append(left, a.Step)
		}
	}
	return left
}
