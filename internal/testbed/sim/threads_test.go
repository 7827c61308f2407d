package sim_test

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// twoThreads makes client-1 and client-2 one process, and leaves client-3 another.
var twoThreads = map[string]int{"client-1": 1, "client-2": 1}

// allAtOnce lets each client do something, in a goroutine of its own.
func allAtOnce(do func(name string)) {
	var all sync.WaitGroup
	for _, name := range []string{"client-1", "client-2", "client-3"} {
		all.Go(func() { do(name) })
	}
	all.Wait()
}

func TestThreadsHaveAProcessInCommon(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name      string
		processes map[string]int
		same      bool
	}{
		{"two threads", twoThreads, true},
		{"processes of their own", nil, false},
		{"processes of their own, by number", map[string]int{"client-1": 1, "client-2": 2, "client-3": 3}, false},
	} {
		lab{t: t, processes: tt.processes}.run(func(w testbed.World) {
			env := func(name string) impls.Env { return mustLock(t, w, name).(*plain).env }
			one, two, three := env("client-1"), env("client-2"), env("client-3")
			if same := one.Process() == two.Process(); same != tt.same {
				t.Errorf("%s: client-1 and client-2 are the same process: %v", tt.name, same)
			}
			if three.Process() == one.Process() || three.Process() == two.Process() {
				t.Errorf("%s: client-3 is in a process of the others", tt.name)
			}
			if one.Process() != env("client-1").Process() {
				t.Errorf("%s: a second handle is of another process", tt.name)
			}
			if one.Owner() == two.Owner() || one.Token() == two.Token() || one.Redis() == two.Redis() {
				t.Errorf("%s: two threads share a name, a token or a connection", tt.name)
			}
		})
	}
}

// A pause of one thread stops the whole process, wherever its threads are, and no
// other.
func TestPauseStopsEveryThread(t *testing.T) {
	bubble.Use(t)
	for _, struck := range []string{"client-1", "client-2"} {
		h := lab{t: t, processes: twoThreads}.twice(func(w testbed.World) {
			for _, name := range []string{"client-1", "client-2", "client-3"} {
				raw(t, w, name).Set(outside, name, "1", 0)
			}
			w.After(time.Second, func() {
				w.After(40*time.Second, inject(t, w, faults.Pause{Client: struck}))
			})
			var mu sync.Mutex
			woke := map[string]time.Duration{}
			allAtOnce(func(name string) {
				w.Client(name).Sleep(2 * time.Second)
				mu.Lock()
				woke[name] = w.Now()
				mu.Unlock()
				raw(t, w, name).Set(outside, name, "2", 0)
			})
			for name, want := range map[string]time.Duration{"client-1": 41 * time.Second, "client-2": 41 * time.Second, "client-3": 2 * time.Second} {
				if got := woke[name].Round(100 * time.Millisecond); got != want {
					t.Errorf("%s was paused: %s woke at %v, want %v", struck, name, woke[name], want)
				}
			}
			if woke["client-1"] == woke["client-2"] {
				t.Error("two threads woke at one instant: which of them runs first is chance")
			}
		})
		for _, r := range h.Records {
			if r.Op == history.Command && r.Client != "client-3" && r.T > time.Second && r.T < 41*time.Second {
				t.Errorf("a command during the pause: %+v", r)
			}
		}
	}
}

// What either thread is paused for keeps both, until the last pause has ended.
func TestPausesOfThreadsOverlap(t *testing.T) {
	bubble.Use(t)
	lab{t: t, processes: twoThreads}.twice(func(w testbed.World) {
		w.After(10*time.Second, inject(t, w, faults.Pause{Client: "client-1"}))
		w.After(20*time.Second, inject(t, w, faults.Pause{Client: "client-2"}))
		w.Client("client-1").Checkpoint()
		if at := w.Now().Round(time.Second); at != 20*time.Second {
			t.Errorf("went on at %v, want at the end of the longer pause, 20s", at)
		}
	})
}

// What both threads were about to send leaves when they wake.
func TestPausedThreadsSendLate(t *testing.T) {
	bubble.Use(t)
	var w testbed.World
	packet := func(p faults.Packet) bool {
		if p.Point == faults.BeforeSend && p.Client == "client-1" && p.Name == "GET" {
			w.After(time.Minute, inject(t, w, faults.Pause{Client: "client-1"}))
		}
		return false
	}
	h := lab{t: t, processes: twoThreads, packet: packet}.twice(func(world testbed.World) {
		w = world
		allAtOnce(func(name string) {
			raw(t, w, name).Get(outside, name)
			raw(t, w, name).Get(outside, name)
		})
	})
	first := map[string]time.Duration{}
	for _, r := range h.Records {
		if r.Op == history.Command {
			first[r.Client] = max(first[r.Client], r.T)
		}
	}
	if first["client-3"] > time.Second || first["client-1"] < time.Minute || first["client-2"] < time.Minute {
		t.Errorf("the last commands are at %v", first)
	}
}

// A crash of one thread is the end of the whole process, and of no other.
func TestCrashKillsEveryThread(t *testing.T) {
	bubble.Use(t)
	for _, struck := range []string{"client-1", "client-2"} {
		lab{t: t, processes: twoThreads}.twice(func(w testbed.World) {
			w.After(time.Second, func() { inject(t, w, faults.Crash{Client: struck}) })
			allAtOnce(func(name string) {
				r, c := raw(t, w, name), w.Client(name)
				r.Set(outside, name, "1", 0)
				c.Sleep(2 * time.Second)
				err := r.Set(outside, name, "2", 0).Err()
				_, errStore := c.Read(outside)
				lives := name == "client-3"
				if c.Alive() != lives || (c.Context().Err() == nil) != lives {
					t.Errorf("%s crashed: %s is alive: %v, and its context says %v", struck, name, c.Alive(), c.Context().Err())
				}
				if lives != (err == nil) || lives != (errStore == nil) || !lives && !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s crashed: %s speaks: %v, %v", struck, name, err, errStore)
				}
			})
		})
	}
}

// A process has one wall clock.
func TestClockIsTheProcess(t *testing.T) {
	bubble.Use(t)
	lab{t: t, processes: twoThreads}.run(func(w testbed.World) {
		inject(t, w, faults.Clock{Client: "client-2", Jump: time.Hour})
		for name, want := range map[string]time.Duration{"client-1": time.Hour, "client-2": time.Hour, "client-3": 0} {
			if got := mustLock(t, w, name).(*plain).env.Wall().Sub(time.Now().Round(0)); got != want {
				t.Errorf("the clock of %s is %v ahead, want %v", name, got, want)
			}
		}
	})
}

// Links and cancels are a thread's own.
func TestLinksAndCancelsAreTheThreads(t *testing.T) {
	bubble.Use(t)
	lab{t: t, processes: twoThreads}.twice(func(w testbed.World) {
		inject(t, w, faults.Slow{Link: toRedis, Direction: faults.Both, By: time.Second})
		one, _ := w.Client("client-1").Section()
		two, _ := w.Client("client-2").Section()
		inject(t, w, faults.Cancel{Client: "client-1"})
		if one.Err() == nil || two.Err() != nil {
			t.Errorf("client-1 was cancelled, and the sections say %v and %v", one.Err(), two.Err())
		}
		allAtOnce(func(name string) {
			r := raw(t, w, name)
			r.Get(outside, name)
			begin := w.Now()
			r.Get(outside, name)
			if slow := w.Now()-begin > time.Second; slow != (name == "client-1") {
				t.Errorf("the link of %s is slow: %v", name, slow)
			}
		})
	})
}

// However many threads sleep for however long, no two of them wake at one
// instant: what they share would go to either of them by chance.
func TestThreadsNeverWakeTogether(t *testing.T) {
	bubble.Use(t)
	for seed := range uint64(20) {
		lab{t: t, seed: seed, processes: map[string]int{"client-1": 1, "client-2": 1, "client-3": 1}}.run(func(w testbed.World) {
			var mu sync.Mutex
			var woke []time.Duration
			allAtOnce(func(name string) {
				for range 100 {
					w.Client(name).Sleep(time.Duration(len(name)))
					mu.Lock()
					woke = append(woke, w.Now())
					mu.Unlock()
				}
			})
			slices.Sort(woke)
			if n := len(slices.Compact(woke)); n != 300 {
				t.Errorf("seed %d: three threads slept 100 times each and woke at %d instants", seed, n)
			}
		})
	}
}
