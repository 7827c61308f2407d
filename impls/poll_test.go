package impls_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
)

const every = 100 * time.Millisecond

func TestPoll(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		wait  time.Duration
		takes time.Duration // one try
		grant int           // the try that is granted; 0 is none
		fail  int           // the try that fails; 0 is none
		tries int
		took  time.Duration
		want  error
	}{
		{"the first try", time.Second, 0, 1, 0, 1, 0, nil},
		{"a later try", time.Second, 0, 4, 0, 4, 3 * every, nil},
		{"no wait is one try", 0, 0, 2, 0, 1, 0, impls.ErrNotAcquired},
		{"the last try is at the end of the wait", 2 * every, 0, 0, 0, 3, 2 * every, impls.ErrNotAcquired},
		{"no sleep that would end after the wait", 2*every - 1, 0, 0, 0, 2, every, impls.ErrNotAcquired},
		{"tries take time too", time.Second, every, 0, 0, 6, 11 * every, impls.ErrNotAcquired},
		{"an error ends it", time.Second, 0, 0, 3, 3, 2 * every, boom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, n := time.Now(), 0
				err := impls.Poll(t.Context(), tt.wait, every, func(context.Context) (bool, error) {
					time.Sleep(tt.takes)
					n++
					if n == tt.fail {
						return false, boom
					}
					return n == tt.grant, nil
				})
				if !errors.Is(err, tt.want) {
					t.Errorf("Poll = %v, want %v", err, tt.want)
				}
				if n != tt.tries || time.Since(start) != tt.took {
					t.Errorf("%d tries in %v, want %d in %v", n, time.Since(start), tt.tries, tt.took)
				}
			})
		})
	}
}

func TestPollAndTheContext(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		tries int
	}{
		{"ended before", 0, 0},
		{"ends during a sleep", 250 * time.Millisecond, 3},
		{"ends at the instant of a try", 2 * every, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.after)
				defer cancel()
				n := 0
				err := impls.Poll(ctx, time.Minute, every, func(context.Context) (bool, error) {
					n++
					return false, nil
				})
				if !errors.Is(err, impls.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Poll = %v, want ErrNotAcquired and the context's error", err)
				}
				if n != tt.tries {
					t.Errorf("%d tries, want %d", n, tt.tries)
				}
			})
		})
	}
}

// What a try makes of the context's end is its own business: a command was in
// flight, and the outcome is unknown.
func TestPollPassesOnWhatTheTryMakesOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), every/2)
		defer cancel()
		err := impls.Poll(ctx, time.Minute, every, func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Poll = %v, want the context's error alone", err)
		}
	})
}
