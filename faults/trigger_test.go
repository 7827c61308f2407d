package faults_test

import (
	"testing"

	"lockpick/faults"
)

// TestWire tells a schedule of one command after another until the one that it
// waits for, and checks which one that was.
func TestWire(t *testing.T) {
	section := func(client string) []faults.Packet {
		return []faults.Packet{
			{Client: client, Name: "SETNX", Number: 1, Phase: faults.InAcquire, PhaseNumber: 1},
			{Client: client, Name: "EXPIRE", Number: 2, Phase: faults.InAcquire, PhaseNumber: 2},
			{Client: client, Name: "EVALSHA", Number: 3, Phase: faults.InHold, PhaseNumber: 1},
			{Client: client, Name: "EVALSHA", Number: 4, Phase: faults.InRelease, PhaseNumber: 1},
			{Client: client, Name: "EVAL", Number: 5, Phase: faults.InRelease, PhaseNumber: 2},
		}
	}
	tests := []struct {
		name string
		wire faults.Wire
		nth  int
		want int // number of the command; 0 for none
	}{
		{"by number", faults.Wire{Command: 2}, 0, 2},
		{"by number in a phase", faults.Wire{Command: 1, During: faults.InRelease}, 0, 4},
		{"by a number that a phase does not reach", faults.Wire{Command: 3, During: faults.InRelease}, 0, 0},
		{"by name", faults.Wire{Names: []string{"EVALSHA"}}, 0, 3},
		{"by name, the second time", faults.Wire{Names: []string{"EVALSHA"}}, 2, 4},
		{"by name in a phase", faults.Wire{Names: []string{"EVALSHA"}, During: faults.InRelease}, 0, 4},
		{"by one of several names", faults.Wire{Names: []string{"DEL", "EVAL", "EVALSHA"}}, 3, 5},
		{"by a name that does not come", faults.Wire{Names: []string{"DEL"}}, 0, 0},
		{"a number in every phase, the second time", faults.Wire{Command: 1, During: faults.InHold}, 2, 0},
	}
	for _, tt := range tests {
		for _, point := range faults.Points() {
			t.Run(tt.name+" "+string(point), func(t *testing.T) {
				wire := tt.wire
				wire.Point = point
				_, s := schedule(faults.Step{Fault: faults.Drop{What: faults.Request},
					When: faults.Trigger{Client: "client-1", Wire: &wire, Nth: tt.nth}})
				struck := 0
				for _, p := range append(section("client-2"), section("client-1")...) {
					for _, p.Point = range faults.Points() {
						if s.Packet(p) {
							struck = p.Number
							if p.Client != "client-1" || p.Point != point {
								t.Errorf("picked %+v", p)
							}
						}
					}
				}
				if struck != tt.want {
					t.Errorf("picked command %d, want %d", struck, tt.want)
				}
			})
		}
	}
}
