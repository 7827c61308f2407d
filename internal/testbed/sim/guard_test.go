package sim

import (
	"errors"
	"testing"
	"time"
)

// A run that has much to do is not said to stand still, however long it takes.
func TestGuardTellsLongFromStill(t *testing.T) {
	tests := []struct {
		name      string
		n         int
		last, now time.Duration
		want      error
	}{
		{"it has not begun", 1, 0, 0, ErrSpins},
		{"it moves", 1, 0, time.Nanosecond, nil},
		{"it stands still later", 7, time.Second, time.Second, ErrSpins},
		{"it moves at the last look but one", mostGuards - 1, time.Second, time.Minute, nil},
		{"it moves and is not over", mostGuards, time.Second, time.Minute, ErrLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := hopeless(tt.n, tt.last, tt.now); !errors.Is(got, tt.want) || (got == nil) != (tt.want == nil) {
				t.Errorf("hopeless = %v, want %v", got, tt.want)
			}
		})
	}
}
