package checker

import (
	"testing"
	"time"
)

// A history with many sections that overlap, many without a reply, and no cheap
// proof against it: Porcupine must give up in time and the verdict be Unknown,
// or it must decide.
func TestNoLostUpdateHasALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for some seconds of processor time")
	}
	var updates []update
	for i := range 40 {
		updates = append(updates, update{call: time.Duration(i), was: int64(i % 5), is: int64((i + 1) % 5), reads: true, writes: true, maybe: true, ret: forever})
	}
	for i := range 12 {
		updates = append(updates, update{call: 1000, ret: 2000, was: int64(i % 5), reads: true})
	}
	updates = append(updates, update{call: 3000, ret: 3001, was: 77, reads: true})
	if got := linearizable(0, updates, 50*time.Millisecond); got == Holds {
		t.Errorf("linearizable = %v for a history that nothing explains", got)
	}
}
