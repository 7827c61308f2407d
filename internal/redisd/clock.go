package redisd

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// clock is a file that libfaketime reads whenever the server asks for the time. It
// says how far the server's clock is ahead of the machine's.
type clock struct {
	file    string
	preload string

	mu    sync.Mutex
	base  time.Duration // ahead at the time since
	since time.Time
	rate  float64
	moves chan struct{} // closed to end the goroutine that moves it; nil when it does not move
	moved sync.WaitGroup
}

func newClock(file string) (*clock, error) {
	libraries, err := preload()
	if err != nil {
		return nil, err
	}
	c := &clock{file: file, preload: libraries, since: time.Now(), rate: 1}
	return c, c.write(0)
}

// env is what makes a program use it.
func (c *clock) env() []string {
	return []string{
		"LD_PRELOAD=" + c.preload,
		"FAKETIME_TIMESTAMP_FILE=" + c.file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", // else a step back stops the server's own timers
	}
}

// write tells the program, at one stroke: it reads at any time.
func (c *clock) write(ahead time.Duration) error {
	next := c.file + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.9f\n", ahead.Seconds()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, c.file)
}

// now is how far it is ahead. The caller holds mu.
func (c *clock) now() time.Duration {
	return c.base + time.Duration(float64(time.Since(c.since))*(c.rate-1))
}

func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *clock) jump(by time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.since = c.now()+by, time.Now()
	return c.write(c.base)
}

// step is how often a clock that runs at another rate is moved: it goes by steps
// that are as much off the rate as the clock of the machine runs meanwhile.
const step = 5 * time.Millisecond

func (c *clock) drift(rate float64) error {
	c.stand()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.since, c.rate = c.now(), time.Now(), rate
	if rate != 1 {
		over := make(chan struct{})
		c.moves = over
		c.moved.Go(func() { c.run(over) })
	}
	return c.write(c.base)
}

// run moves it until over is closed.
func (c *clock) run(over <-chan struct{}) {
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			c.mu.Lock()
			_ = c.write(c.now()) // the next one is soon
			c.mu.Unlock()
		}
	}
}

// stand ends what moves it.
func (c *clock) stand() {
	c.mu.Lock()
	if c.moves != nil {
		close(c.moves)
		c.moves = nil
	}
	c.mu.Unlock()
	c.moved.Wait()
}
