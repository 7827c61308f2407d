package bubble_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"lockpick/internal/testbed/sim/bubble"
)

func TestRunInVirtualTime(t *testing.T) {
	bubble.Use(t)
	start := time.Now()
	var passed time.Duration
	err := bubble.Run(func() {
		from := time.Now()
		time.Sleep(24 * time.Hour)
		passed = time.Since(from)
	})
	if err != nil || passed != 24*time.Hour {
		t.Errorf("slept %v, %v; want 24h and no error", passed, err)
	}
	if real := time.Since(start); real > time.Minute {
		t.Errorf("a virtual day took %v of real time", real)
	}
}

func TestRunReportsDeadlock(t *testing.T) {
	bubble.Use(t)
	if err := bubble.Run(func() { <-make(chan int) }); !errors.Is(err, bubble.ErrDeadlock) {
		t.Errorf("a blocked bubble: %v, want ErrDeadlock", err)
	}
	left := func() { go func() { <-make(chan int) }() }
	if err := bubble.Run(left); !errors.Is(err, bubble.ErrDeadlock) {
		t.Errorf("a goroutine left behind: %v, want ErrDeadlock", err)
	}
}

func TestRunReturnsPanic(t *testing.T) {
	bubble.Use(t)
	if err := bubble.Run(func() { panic("boom") }); err == nil || errors.Is(err, bubble.ErrDeadlock) {
		t.Errorf("a panic came back as %v", err)
	}
}

func TestRunSideBySide(t *testing.T) {
	bubble.Use(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := bubble.Run(func() { time.Sleep(time.Hour) }); err != nil {
					t.Error(err)
				}
				if err := bubble.Run(func() { <-make(chan int) }); !errors.Is(err, bubble.ErrDeadlock) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkRun(b *testing.B) {
	bubble.UseBench(b, func(b *testing.B) {
		for b.Loop() {
			if err := bubble.Run(func() { time.Sleep(time.Hour) }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
