package quorum

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
)

const ms = time.Millisecond

// The first row is that of go-redsync/redsync#37 and SPSCommerce/redlock-py#3:
// with the drift added it is 982 ms, without the 2 ms 960 ms.
func TestValidity(t *testing.T) {
	tests := []struct {
		name                string
		ttl, elapsed, valid time.Duration
	}{
		{"the drift is taken off", 1000 * ms, 30 * ms, 958 * ms},
		{"nothing has passed", 1000 * ms, 0, 988 * ms},
		{"the documents' lease", 30 * time.Second, 51 * ms, 29_647 * ms},
		{"just used up", 1000 * ms, 988 * ms, 0},
		{"the answers took longer than the lease", 1000 * ms, 1200 * ms, -212 * ms},
		{"shorter than the drift", 2 * ms, 0, -20 * time.Microsecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Validity(tt.ttl, tt.elapsed); got != tt.valid {
				t.Errorf("Validity(%v, %v) = %v, want %v", tt.ttl, tt.elapsed, got, tt.valid)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		30 * time.Second: 50 * ms,
		time.Second:      50 * ms,
		400 * ms:         20 * ms,
		20 * ms:          ms,
	} {
		if got := Timeout(ttl); got != want {
			t.Errorf("Timeout(%v) = %v, want %v", ttl, got, want)
		}
	}
}

func pauses() *Pauses { return NewPauses(rand.New(rand.NewPCG(1, 2))) }

func TestPauses(t *testing.T) {
	p, again, low, high := pauses(), pauses(), maxPause, minPause
	for range 1000 {
		d := p.draw()
		if e := again.draw(); d != e {
			t.Fatalf("the same dice gave %v and %v", d, e)
		}
		low, high = min(low, d), max(high, d)
	}
	if low < minPause || low > minPause+5*ms || high >= maxPause || high < maxPause-5*ms {
		t.Errorf("pauses of %v to %v, want about %v to %v", low, high, minPause, maxPause)
	}
}

func TestRetry(t *testing.T) {
	unheard := errors.New("unheard")
	tests := []struct {
		name  string
		wait  time.Duration
		ends  time.Duration // when ctx does; 0 is never
		tries []error       // the last one is repeated
		want  []error
		not   error
		n     int // tries; 0 is any number
	}{
		{"granted", time.Minute, 0, []error{nil}, nil, nil, 1},
		{"granted later", time.Minute, 0, []error{impls.ErrNotAcquired, impls.ErrNotAcquired, nil}, nil, nil, 3},
		{"granted after one that was not heard", time.Minute, 0, []error{unheard, nil}, nil, nil, 2},
		{"no wait is one try", 0, 0, []error{impls.ErrNotAcquired}, []error{impls.ErrNotAcquired}, nil, 1},
		{"refused until the end", time.Second, 0, []error{impls.ErrNotAcquired}, []error{impls.ErrNotAcquired}, nil, 0},
		{"one that was not heard, and refused", time.Second, 0, []error{unheard, impls.ErrNotAcquired}, []error{unheard}, impls.ErrNotAcquired, 0},
		{"the context ends before", time.Minute, -1, []error{nil}, []error{impls.ErrNotAcquired, context.DeadlineExceeded}, nil, 0},
		{"the context ends while it waits", time.Minute, time.Second, []error{impls.ErrNotAcquired}, []error{impls.ErrNotAcquired, context.DeadlineExceeded}, nil, 0},
		{"the context ends, and one was not heard", time.Minute, time.Second, []error{unheard, impls.ErrNotAcquired}, []error{unheard}, impls.ErrNotAcquired, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				if tt.ends != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.ends)
					defer cancel()
				}
				start, n := time.Now(), 0
				err := Retry(ctx, tt.wait, pauses(), func(context.Context) error {
					n++
					return tt.tries[min(n, len(tt.tries))-1]
				})
				if tt.want == nil && err != nil {
					t.Errorf("Retry = %v, want nil", err)
				}
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("Retry = %v, want %v in it", err, want)
					}
				}
				if tt.not != nil && errors.Is(err, tt.not) {
					t.Errorf("Retry = %v, which says %v", err, tt.not)
				}
				if tt.n != 0 && n != tt.n {
					t.Errorf("%d tries, want %d", n, tt.n)
				}
				if took := time.Since(start); took > tt.wait {
					t.Errorf("Retry took %v of %v", took, tt.wait)
				}
			})
		})
	}
}
