package redisd

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// step is how often the offset of a clock is written that runs fast or slow.
	step = 10 * time.Millisecond

	// farthest is how far a clock can be moved away: what is before 1970
	// libfaketime does not know.
	farthest = 50 * 365 * 24 * time.Hour

	// fastest is the highest rate of a clock.
	fastest = 100
)

// clock is that of a server: a file that libfaketime reads whenever the server
// asks for the time. It runs while the server is down, too.
type clock struct {
	file string

	mu     sync.Mutex
	offset time.Duration // how far it was ahead of the machine's at since
	since  time.Time
	rate   float64
	quit   chan struct{} // ends what writes the offset every step, nil when nothing does
	writes int
	err    error // of writing it
	closed bool
	steps  sync.WaitGroup
}

func newClock(file string) (*clock, error) {
	c := &clock{file: file, since: time.Now(), rate: 1}
	return c, c.write(c.since)
}

// ahead is how far the clock is ahead of the machine's.
func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(time.Now())
}

func (c *clock) at(now time.Time) time.Duration {
	return c.offset + time.Duration((c.rate-1)*float64(now.Sub(c.since)))
}

// jump moves the clock.
func (c *clock) jump(by time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	ahead := c.at(now)
	if by < -2*farthest || by > 2*farthest || ahead+by < -farthest || ahead+by > farthest {
		return fmt.Errorf("a clock is at most %v ahead or behind, and this one would be %v and %v", farthest, ahead, by)
	}
	return c.set(now, ahead+by, c.rate)
}

// drift lets the clock run at another rate.
func (c *clock) drift(rate float64) error {
	if !(rate >= 0 && rate <= fastest) { // nor is it NaN
		return fmt.Errorf("a clock runs at a rate from 0 to %d, and not at %g", fastest, rate)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return c.set(now, c.at(now), rate)
}

// set is called with mu held.
func (c *clock) set(now time.Time, offset time.Duration, rate float64) error {
	if c.closed {
		return ErrClosed
	}
	c.offset, c.since, c.rate = offset, now, rate
	steady := rate == 1 || rate == 0
	switch {
	case steady && c.quit != nil:
		close(c.quit)
		c.quit = nil
	case !steady && c.quit == nil:
		c.quit = make(chan struct{})
		c.steps.Add(1)
		go c.advance(c.quit)
	}
	return errors.Join(c.write(now), c.err)
}

// advance writes the offset every step.
func (c *clock) advance(quit chan struct{}) {
	defer c.steps.Done()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		if c.quit == quit {
			if err := c.write(time.Now()); err != nil && c.err == nil {
				c.err = err
			}
		}
		c.mu.Unlock()
	}
}

// again writes the clock as it is, for a server that has started. libfaketime can
// take the time of its start twice, some tenths of a millisecond apart, and be wrong
// by as much until it reads another text.
func (c *clock) again() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(time.Now())
}

// write says the time in libfaketime's words: an offset to the machine's clock, or
// for a clock that stands still the time that it shows.
func (c *clock) write(now time.Time) error {
	c.writes++ // a digit more or less makes it another text
	text := fmt.Sprintf("%+.*f\n", 9+c.writes%2, c.at(now).Seconds())
	if c.rate == 0 {
		// libfaketime takes the fraction as a binary one, and cuts off what is less
		// than a microsecond
		text = now.Add(c.at(now) + time.Microsecond/2).UTC().Format("2006-01-02 15:04:05.000000000\n")
	}
	next := c.file + ".next" // in its place at one stroke: the server reads at any time
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, c.file)
}

// close ends what the clock does by itself, and it is not moved any more. The error
// is what went wrong by itself.
func (c *clock) close() error {
	c.mu.Lock()
	c.closed = true
	if c.quit != nil {
		close(c.quit)
		c.quit = nil
	}
	err := c.err
	c.mu.Unlock()
	c.steps.Wait()
	return err
}

// FaketimeEnvironment is what makes a program go by the clock that a file tells in
// libfaketime's words, and read the file whenever it looks at it.
func FaketimeEnvironment(file string) []string {
	return []string{
		"LD_PRELOAD=" + preload(),
		"FAKETIME_TIMESTAMP_FILE=" + file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", // else a step back stops the server's own timers
		"TZ=UTC",
	}
}
