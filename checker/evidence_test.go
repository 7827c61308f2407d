package checker

import (
	"testing"
	"time"
)

func TestPhraseRoundsDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                   "0s",
		time.Nanosecond:                     "0s", // when the simulator carries out what is asked for at once
		350 * time.Microsecond:              "350µs",
		350*time.Microsecond + 120:          "350µs",
		3*time.Millisecond + 305123:         "3.305ms",
		4*time.Second + 8160123:             "4.0082s",
		-time.Second:                        "-1s",
		time.Minute + 30*time.Second + 1234: "1m30s",
	} {
		if got := phrase("%v", d); got != want {
			t.Errorf("%d ns are told as %q, want %q", d, got, want)
		}
	}
}
