package faults_test

import (
	"errors"
	"testing"
	"time"

	"lockpick/faults"
)

const second = time.Second

func TestStepAtATime(t *testing.T) {
	w, s := schedule(faults.Step{Fault: pause, When: faults.Trigger{At: 10 * second}, For: 5 * second})
	w.pass(9 * second)
	w.wants(t)
	if left := s.Unfired(); len(left) != 1 {
		t.Errorf("unfired before its time: %v, want the step", left)
	}
	w.pass(20 * second)
	w.wants(t, "10s pause client-1", "10s struck pause", "15s resume client-1", "15s healed pause")
	if left := s.Unfired(); left != nil {
		t.Errorf("unfired: %v, want none", left)
	}
}

func TestStepOnWhatAClientDoes(t *testing.T) {
	acquired := faults.Trigger{Client: "client-1", Event: faults.Acquired}
	nth, after := acquired, acquired
	nth.Nth = 2
	after.After = 3 * second
	tests := []struct {
		name string
		when faults.Trigger
		want []string
	}{
		{"the first time", acquired, []string{"1s crash client-1", "1s struck crash"}},
		{"the second time", nth, []string{"2s crash client-1", "2s struck crash"}},
		{"some time after the first", after, []string{"4s crash client-1", "4s struck crash"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, s := schedule(faults.Step{Fault: crash, When: tt.when})
			for range 3 {
				w.pass(second)
				s.Client("client-2", faults.Acquired) // somebody else
				s.Client("client-1", faults.Acquiring)
				s.Client("client-1", faults.Acquired)
			}
			w.pass(10 * second)
			w.wants(t, tt.want...)
		})
	}
}

func TestStepOnThePacketHasStruckWhenPacketReturns(t *testing.T) {
	w, s := schedule(faults.Step{Fault: crash, When: faults.Trigger{
		Client: "client-1", Wire: &faults.Wire{Command: 2, Point: faults.BeforeSend}}})
	p := faults.Packet{Client: "client-1", Name: "EXPIRE", Number: 2, Point: faults.BeforeSend}
	s.Client("client-1", faults.Event("")) // a trigger on the wire is not one on an event
	if drop := s.Packet(p); drop {
		t.Error("a crash drops the message, want it to be for the client to lose")
	}
	w.wants(t, "0s crash client-1", "0s struck crash")
	s.Packet(p)
	w.wants(t, "0s crash client-1", "0s struck crash")
}

func TestDropLosesOneMessage(t *testing.T) {
	w, s := schedule(faults.Step{Fault: faults.Drop{What: faults.Reply}, When: faults.Trigger{
		Client: "client-1", Nth: 2, Wire: &faults.Wire{Names: []string{"SET"}, Point: faults.Applied}}})
	reply := faults.Packet{Client: "client-1", Name: "SET", Number: 1, Point: faults.Applied}
	request := reply
	request.Point = faults.BeforeSend
	other := reply
	other.Client = "client-2"
	for i, tt := range []struct {
		p    faults.Packet
		want bool
	}{{request, false}, {reply, false}, {other, false}, {request, false}, {reply, true}, {reply, false}} {
		if got := s.Packet(tt.p); got != tt.want {
			t.Errorf("packet %d: drop is %v, want %v", i, got, tt.want)
		}
	}
	w.wants(t, "0s struck drop")
	if left := s.Unfired(); left != nil {
		t.Errorf("unfired: %v, want none", left)
	}
}

func TestHealEndsWhatLastsAndLetsNothingStart(t *testing.T) {
	cut := faults.Cut{Link: link, Direction: faults.Both}
	w, s := schedule(
		faults.Step{Fault: cut}, // until it is healed
		faults.Step{Fault: pause, For: 60 * second},
		faults.Step{Fault: crash, When: faults.Trigger{At: 30 * second}},
		faults.Step{Fault: crash, When: faults.Trigger{Client: "client-1", Event: faults.Written}},
		faults.Step{Fault: crash, When: faults.Trigger{Client: "client-1", Event: faults.Reading, After: 30 * second}},
	)
	w.pass(10 * second)
	s.Client("client-1", faults.Reading)
	w.done = nil
	s.Heal()
	want := []string{"10s mend client-1 – redis-1 both", "10s healed cut", "10s resume client-1", "10s healed pause"}
	w.wants(t, want...)
	s.Client("client-1", faults.Written)
	w.pass(100 * second)
	s.Heal()
	w.wants(t, want...) // once, and nothing after it
	if left := s.Unfired(); len(left) != 3 {
		t.Errorf("unfired: %v, want the three crashes", left)
	}
}

// TestHealDuringAnInjection is a real testbed's race: the run ends while another
// goroutine is in the middle of doing harm, which must not outlast the run.
func TestHealDuringAnInjection(t *testing.T) {
	w := &world{}
	s := faults.NewSchedule(w, []faults.Step{
		{Fault: faults.Cut{Link: link, Direction: faults.Both}, For: 60 * second,
			When: faults.Trigger{Client: "client-1", Event: faults.Acquired}},
	}, w.report)
	s.Start()
	w.onCut = func() error { s.Heal(); return nil }
	s.Client("client-1", faults.Acquired)
	w.wants(t, "0s cut client-1 – redis-1 both", "0s struck cut", "0s mend client-1 – redis-1 both", "0s healed cut")
}

func TestFailedInjectionIsReportedAndNotHealed(t *testing.T) {
	w, s := schedule(faults.Step{Fault: pause, For: second})
	w.fails = errors.New("no such process")
	w.pass(10 * second)
	s.Heal()
	w.wants(t, "0s pause client-1", "0s struck pause: no such process")
	if left := s.Unfired(); left != nil {
		t.Errorf("unfired: %v, want none: it did happen, and failed", left)
	}
}

func TestStepString(t *testing.T) {
	tests := []struct {
		step faults.Step
		want string
	}{
		{faults.Step{Fault: pause, For: 40 * second, When: faults.Trigger{Client: "client-1", Event: faults.Acquired, After: second}},
			"pause client-1, 1s after client-1: acquired, for 40s"},
		{faults.Step{Fault: faults.Stop{Node: "redis-1", Lose: faults.Everything}, When: faults.Trigger{At: 10 * second}},
			"stop redis-1 with its data, at 10s"},
		{faults.Step{Fault: faults.Drop{What: faults.Reply}, When: faults.Trigger{Client: "client-1", Nth: 2,
			Wire: &faults.Wire{Names: []string{"DEL", "EVAL"}, During: faults.InRelease, Point: faults.Applied}}},
			"drop reply, time 2 of client-1: DEL or EVAL during release applied"},
		{faults.Step{Fault: faults.Hold{Link: link, Direction: faults.ToNode}, When: faults.Trigger{Client: "client-2",
			Wire: &faults.Wire{Command: 2, Point: faults.BeforeSend}}},
			"hold client-1 → redis-1, client-2: command 2 before-send"},
		{faults.Step{Fault: faults.Cut{Link: peers, Direction: faults.Both}}, "cut redis-2 – redis-1, at 0s"},
		{faults.Step{Fault: faults.Clock{Client: "client-1", Jump: second}}, "clock client-1 by +1s, at 0s"},
		{faults.Step{Fault: faults.Clock{Node: "redis-1", Jump: -time.Minute}}, "clock redis-1 by -1m0s, at 0s"},
		{faults.Step{Fault: faults.Drift{Node: "redis-1", Rate: 0.5}, For: second}, "drift redis-1 at rate 0.5, at 0s, for 1s"},
		{faults.Step{Fault: faults.Partition{Side: both}}, "partition client-1, redis-1 from the rest, at 0s"},
		{faults.Step{Fault: faults.Refuse{Node: "redis-1", With: faults.Busy}}, "refuse everything on redis-1 with busy, at 0s"},
		{faults.Step{Fault: faults.Refuse{Node: "redis-1", With: faults.OOM, Commands: []string{"SET", "EVAL"}}},
			"refuse SET and EVAL on redis-1 with oom, at 0s"},
		{faults.Step{Fault: faults.Stop{Node: "redis-1", Lose: second}}, "stop redis-1 with the last 1s of its data, at 0s"},
	}
	for _, tt := range tests {
		if got := tt.step.String(); got != tt.want {
			t.Errorf("String() = %q, want %q", got, tt.want)
		}
	}
}
