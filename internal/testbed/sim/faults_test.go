package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// outside is the context of tests that run in virtual time: t.Context lives
// outside of it, and what ends there must not reach in.
var outside = context.Background()

// raw returns the client's own go-redis client, for commands of a test's own.
func raw(t testing.TB, w testbed.World, client string) impls.Redis {
	t.Helper()
	return mustLock(t, w, client).(*plain).env.Redis()
}

// inject strikes with a fault and returns how to heal it.
func inject(t testing.TB, w testbed.World, f faults.Fault) func() {
	t.Helper()
	heal, err := f.Inject(w)
	if err != nil {
		t.Fatalf("%s %s: %v", f.Name(), f.Target(), err)
	}
	return heal
}

var toRedis = faults.Link{Client: "client-1", Node: "redis-1"}

func TestPauseStandsStillAndGoesOn(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		r, c := raw(t, w, "client-1"), w.Client("client-1")
		r.Set(outside, "k", "1", 0)
		heal := inject(t, w, faults.Pause{Client: "client-1"})
		w.After(40*time.Second, heal)
		begin := w.Now()
		c.Checkpoint()
		if stood := w.Now() - begin; stood < 40*time.Second || stood > 40*time.Second+time.Microsecond {
			t.Errorf("stood still for %v, want 40s", stood)
		}
		if err := r.Set(outside, "k", "2", 0).Err(); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
	for _, rec := range h.Records {
		if rec.Op == history.Command && rec.T > time.Second && rec.T < 40*time.Second {
			t.Errorf("a command during the pause: %+v", rec)
		}
	}
}

func TestPausesOverlap(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		w.After(10*time.Second, inject(t, w, faults.Pause{Client: "client-1"}))
		w.After(20*time.Second, inject(t, w, faults.Pause{Client: "client-1"}))
		w.Client("client-1").Checkpoint()
		if at := w.Now().Round(time.Second); at != 20*time.Second {
			t.Errorf("went on at %v, want at the end of the longer pause, 20s", at)
		}
	})
}

// A reply that came while its reader stood still is read when it wakes, however
// long the read's deadline has passed: the bytes were in the socket.
func TestPauseKeepsWhatArrived(t *testing.T) {
	bubble.Use(t)
	var heal func()
	var w testbed.World
	packet := func(p faults.Packet) bool {
		if p.Point == faults.Applied && p.Name == "GET" {
			heal, _ = faults.Pause{Client: "client-1"}.Inject(w)
			w.After(time.Minute, heal)
		}
		return false
	}
	lab{t: t, packet: packet}.run(func(world testbed.World) {
		w = world
		r := raw(t, w, "client-1")
		r.Set(outside, "k", "v", 0)
		got, err := r.Get(outside, "k").Result()
		if err != nil || got != "v" || w.Now() < time.Minute {
			t.Errorf("GET = %q, %v at %v; want v after a minute", got, err, w.Now())
		}
	})
}

// What a paused client was about to send leaves when it wakes, and the time that
// it may wait for the reply counts from there.
func TestPauseBeforeSend(t *testing.T) {
	bubble.Use(t)
	var w testbed.World
	packet := func(p faults.Packet) bool {
		if p.Point == faults.BeforeSend && p.Name == "GET" {
			heal, _ := faults.Pause{Client: "client-1"}.Inject(w)
			w.After(time.Minute, heal)
		}
		return false
	}
	h := lab{t: t, packet: packet}.run(func(world testbed.World) {
		w = world
		r := raw(t, w, "client-1")
		if err := r.Get(outside, "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("GET: %v", err)
		}
	})
	for _, rec := range h.Records {
		if rec.Op == history.Command && rec.Sent < time.Minute {
			t.Errorf("sent at %v, while the client stood still", rec.Sent)
		}
	}
}

func TestCrashAtEveryPoint(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		point   faults.Point
		applied bool
	}{{faults.BeforeSend, false}, {faults.Applied, true}, {faults.Replied, true}} {
		t.Run(string(tt.point), func(t *testing.T) {
			bubble.Use(t)
			var w testbed.World
			packet := func(p faults.Packet) bool {
				if p.Point == tt.point && p.Client == "client-1" {
					if _, err := (faults.Crash{Client: "client-1"}).Inject(w); err != nil {
						t.Error(err)
					}
				}
				return false
			}
			lab{t: t, packet: packet}.run(func(world testbed.World) {
				w = world
				r := raw(t, w, "client-1")
				if err := r.Set(outside, "k", "v", 0).Err(); err == nil {
					t.Error("the dead client got an answer")
				}
				if c := w.Client("client-1"); c.Alive() || c.Context().Err() == nil {
					t.Error("the client is still alive")
				}
				n, err := raw(t, w, "client-2").Exists(outside, "k").Result()
				if err != nil || (n == 1) != tt.applied {
					t.Errorf("the key exists: %v, %v; want %v", n, err, tt.applied)
				}
			})
		})
	}
}

// Code of a dead client that tries again for ever must not keep the world alive.
func TestDeadClientIsSilencedForGood(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		go func() {
			for {
				r.Ping(outside)
			}
		}()
		w.Client("client-2").Sleep(time.Second)
		inject(t, w, faults.Crash{Client: "client-1"})
	})
}

func TestDropRequestAndReply(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		point   faults.Point
		applied bool
	}{{faults.BeforeSend, false}, {faults.Applied, true}} {
		packet := func(p faults.Packet) bool { return p.Point == tt.point && p.Name == "SET" }
		lab{t: t, packet: packet}.run(func(w testbed.World) {
			r := raw(t, w, "client-1")
			err := r.Set(outside, "k", "v", 0).Err()
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v, want a time-out", tt.point, err)
			}
			n, err := r.Exists(outside, "k").Result()
			if err != nil || (n == 1) != tt.applied {
				t.Errorf("%s: the key exists: %v, %v; want %v", tt.point, n, err, tt.applied)
			}
		})
	}
}

func TestHoldDeliversLate(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Ping(outside)
		heal := inject(t, w, faults.Hold{Link: toRedis, Direction: faults.ToNode})
		w.After(40*time.Second, heal)
		if err := r.Set(outside, "k", "late", 0).Err(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("while it is held: %v, want a time-out", err)
		}
		w.Client("client-1").Sleep(time.Minute)
		got, err := raw(t, w, "client-2").Get(outside, "k").Result()
		if got != "late" {
			t.Errorf("after the hold: %q, %v; what was sent must arrive though its connection is closed", got, err)
		}
	})
	if !strings.Contains(key(h), "40s granted late by client-1") {
		t.Errorf("the held SET was not applied at 40s:\n%s", key(h))
	}
}

// The deadline of a command counts from that command, not from an earlier one on
// the same connection whose time-out is still to come.
func TestEachCommandHasItsOwnDeadline(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1").(*redis.Client)
		usual := r.Options().ReadTimeout
		for _, tt := range []struct{ since, timeout time.Duration }{{0, usual}, {usual / 2, usual}, {2 * usual, usual}, {0, usual / 5}} {
			if err := r.Set(outside, "k", "v", 0).Err(); err != nil {
				t.Errorf("without a fault: %v", err)
			}
			c.Sleep(tt.since)
			heal := inject(t, w, faults.Hold{Link: toRedis, Direction: faults.ToClient})
			begin := w.Now()
			if err := r.WithTimeout(tt.timeout).Get(outside, "k").Err(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("no answer: %v", err)
			}
			nearly(t, fmt.Sprintf("the time-out %v after another command", tt.since), w.Now()-begin, tt.timeout, time.Millisecond)
			heal()
			c.Sleep(time.Second)
		}
	})
}

func TestCutLosesAndResets(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Ping(outside)
		heal := inject(t, w, faults.Cut{Link: toRedis, Direction: faults.Both})
		w.After(2*time.Second, heal)
		err := r.Set(outside, "k", "v", 0).Err()
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a command lost to a cut that is mended: %v, want a reset", err)
		}
		if at := w.Now().Round(time.Second); at != 2*time.Second {
			t.Errorf("the reset came at %v, want when the link was mended, 2s", at)
		}
		if n := r.Exists(outside, "k").Val(); n != 0 {
			t.Error("what was lost was applied")
		}
	})
}

func TestCutLetsDialsTimeOut(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		inject(t, w, faults.Cut{Link: toRedis, Direction: faults.ToClient})
		err := raw(t, w, "client-1").Ping(outside).Err()
		if err == nil || w.Now() < time.Second {
			t.Errorf("dialled over a cut link in %v: %v", w.Now(), err)
		}
		if err := raw(t, w, "client-2").Ping(outside).Err(); err != nil {
			t.Errorf("another client's link: %v", err)
		}
	})
}

func TestSlowAndReset(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Ping(outside)
		heal := inject(t, w, faults.Slow{Link: toRedis, Direction: faults.Both, By: 300 * time.Millisecond})
		begin := w.Now()
		r.Ping(outside)
		if took := w.Now() - begin; took < 600*time.Millisecond || took > 603*time.Millisecond {
			t.Errorf("a round trip took %v, want 600ms and the usual", took)
		}
		heal()
		w.After(100*time.Microsecond, func() { inject(t, w, faults.Reset{Link: toRedis}) })
		if err := r.Set(outside, "k", "v", 0).Err(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a reset under way: %v", err)
		}
		if err := r.Ping(outside).Err(); err != nil {
			t.Errorf("a new connection after the reset: %v", err)
		}
	})
}

func TestSlowAddsUp(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Ping(outside)
		trip := func() time.Duration {
			begin := w.Now()
			r.Ping(outside)
			return (w.Now() - begin).Round(100 * time.Millisecond)
		}
		one := inject(t, w, faults.Slow{Link: toRedis, Direction: faults.ToNode, By: time.Second})
		two := inject(t, w, faults.Slow{Link: toRedis, Direction: faults.ToNode, By: 2 * time.Second})
		both := trip()
		one()
		second := trip()
		two()
		if none := trip(); both != 3*time.Second || second != 2*time.Second || none != 0 {
			t.Errorf("slowed by both, by the second, by none: %v, %v, %v; want 3s, 2s, 0s", both, second, none)
		}
	})
}

// A message that is lost takes what follows it on its connection with it: else
// the next reply would be taken for the one that was lost.
func TestDropLeavesNoHole(t *testing.T) {
	bubble.Use(t)
	packet := func(p faults.Packet) bool { return p.Number == 3 && p.Point == faults.Applied }
	lab{t: t, packet: packet}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Set(outside, "a", "of a", 0)
		r.Set(outside, "b", "of b", 0)
		p := r.Pipeline()
		a, b := p.Get(outside, "a"), p.Get(outside, "b")
		if _, err := p.Exec(outside); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a pipeline whose first reply is lost: %v, want a time-out", err)
		}
		if a.Val() != "" || b.Val() != "" {
			t.Errorf("the replies are %q and %q", a.Val(), b.Val())
		}
	})
}

func TestClockJumps(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Set(outside, "forward", "a", 30*time.Second)
		inject(t, w, faults.Clock{Node: "redis-1", Jump: 29 * time.Second})
		w.Client("client-1").Sleep(100 * time.Millisecond)
		if ttl := r.PTTL(outside, "forward").Val(); ttl <= 0 || ttl > time.Second {
			t.Errorf("after +29s 30s have %v left", ttl)
		}
		inject(t, w, faults.Clock{Node: "redis-1", Jump: time.Minute})
		w.Client("client-1").Sleep(100 * time.Millisecond)
		if n := r.Exists(outside, "forward").Val(); n != 0 {
			t.Error("the key has outlived a jump over its end")
		}
		r.Set(outside, "back", "b", 30*time.Second)
		inject(t, w, faults.Clock{Node: "redis-1", Jump: -time.Minute})
		w.Client("client-1").Sleep(100 * time.Millisecond)
		if ttl := r.PTTL(outside, "back").Val().Round(time.Second); ttl != 90*time.Second {
			t.Errorf("after -60s 30s have %v left, want 90s", ttl)
		}
		w.Client("client-1").Sleep(89 * time.Second)
		if n := r.Exists(outside, "back").Val(); n != 1 {
			t.Error("the key that was stretched is gone early")
		}
		w.Client("client-1").Sleep(2 * time.Second)
	})
	if got := key(h); !strings.Contains(got, "0s expired a by \n") || !strings.Contains(got, "90s expired b") && !strings.Contains(got, "1m30s expired b by \n") {
		t.Errorf("the keys' lives:\n%s", got)
	}
}

func TestEvict(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Set(outside, "k", "a", 0)
		inject(t, w, faults.Evict{Node: "redis-1", Key: "k"})
		inject(t, w, faults.Evict{Node: "redis-1", Key: "none"})
		w.Client("client-1").Sleep(time.Second)
		if n := r.Exists(outside, "k").Val(); n != 0 {
			t.Error("the key is still there")
		}
	})
	if got, want := key(h), "0s granted a by client-1\n0s deleted a by \n"; got != want {
		t.Errorf("the key's life:\n%swant:\n%s", got, want)
	}
}

func TestStopKeepsOrLosesData(t *testing.T) {
	bubble.Use(t)
	for _, lose := range []time.Duration{0, faults.Everything} {
		lab{t: t}.run(func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Set(outside, "k", "v", 0)
			start := inject(t, w, faults.Stop{Node: "redis-1", Lose: lose})
			w.Client("client-1").Sleep(time.Second)
			if err := r.Get(outside, "k").Err(); err == nil || errors.Is(err, redis.Nil) {
				t.Errorf("a node that is down answers: %v", err)
			}
			if err := raw(t, w, "client-2").Ping(outside).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dialling a node that is down: %v, want refused", err)
			}
			start()
			w.Client("client-1").Sleep(time.Second)
			n, err := r.Exists(outside, "k").Result()
			if err != nil || (n == 0) != (lose > 0) {
				t.Errorf("lose %v: after the restart %d keys, %v", lose, n, err)
			}
		})
	}
}

func TestStopBreaksWhatIsUnderWay(t *testing.T) {
	bubble.Use(t)
	var w testbed.World
	packet := func(p faults.Packet) bool {
		if p.Point == faults.Applied && p.Name == "SET" {
			_, _ = faults.Stop{Node: "redis-1"}.Inject(w)
		}
		return false
	}
	lab{t: t, packet: packet}.run(func(world testbed.World) {
		w = world
		err := raw(t, w, "client-1").Set(outside, "k", "v", 0).Err()
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Errorf("the node died before its reply arrived: %v", err)
		}
	})
}

func TestUnknownTargets(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		for _, f := range []faults.Fault{
			faults.Pause{Client: "client-9"}, faults.Crash{Client: "redis-1"}, faults.Stop{Node: "redis-9"},
			faults.Clock{Node: "store"}, faults.Cut{Link: faults.Link{Client: "client-1", Node: "redis-2"}, Direction: faults.Both},
		} {
			if _, err := f.Inject(w); err == nil {
				t.Errorf("%s %s: no error", f.Name(), f.Target())
			}
		}
	})
}

func TestStore(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		c := w.Client("client-1")
		if v, err := c.Read(outside); v != 0 || err != nil {
			t.Errorf("Read = %d, %v", v, err)
		}
		if err := c.Write(outside, 7, 0); err != nil {
			t.Error(err)
		}
		heal := inject(t, w, faults.Hold{Link: faults.Link{Client: "client-1", Node: "store"}, Direction: faults.ToNode})
		w.After(10*time.Second, heal)
		if err := c.Write(outside, 8, 0); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a held write: %v, want a time-out", err)
		}
		if v, err := w.Client("client-2").Read(outside); v != 7 || err != nil {
			t.Errorf("before the hold ends: %d, %v", v, err)
		}
		c.Sleep(10 * time.Second)
		if v, err := c.Read(outside); v != 8 || err != nil {
			t.Errorf("after the hold: %d, %v", v, err)
		}
		inject(t, w, faults.Crash{Client: "client-1"})
		if err := c.Write(outside, 9, 0); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a dead client writes: %v", err)
		}
	})
	applied := ""
	for _, r := range h.Records {
		if r.Op == history.Apply {
			applied += fmt.Sprintf("%s→%d ", r.Was, *r.Value)
		}
	}
	if applied != "0→7 7→8 " {
		t.Errorf("the store applied %s", applied)
	}
}

// Several goroutines of one client that speak at one instant, as those of a
// quorum lock do, are numbered in the order of their links.
func TestSameInstantIsOrdered(t *testing.T) {
	bubble.Use(t)
	for range 20 {
		var nodes []string
		packet := func(p faults.Packet) bool {
			if p.Point == faults.BeforeSend && p.Name == "INCR" {
				nodes = append(nodes, fmt.Sprintf("%s:%d", p.Node, p.Number))
			}
			return false
		}
		lab{t: t, nodes: 5, packet: packet}.run(func(w testbed.World) {
			all := mustLock(t, w, "client-1").(*plain).env.Nodes()
			w.Client("client-1").Sleep(time.Second)
			done := make(chan struct{})
			for _, n := range all { // connected first, so that all speak at once
				n.Ping(outside)
			}
			for _, n := range all {
				go func() {
					n.Incr(outside, "k")
					done <- struct{}{}
				}()
			}
			for range all {
				<-done
			}
		})
		if got := strings.Join(nodes, " "); got != "redis-1:6 redis-2:7 redis-3:8 redis-4:9 redis-5:10" {
			t.Fatalf("numbered %s", got)
		}
	}
}

func TestSameSeedSameHistory(t *testing.T) {
	bubble.Use(t)
	play := func(w testbed.World) {
		done := make(chan struct{})
		for _, name := range []string{"client-1", "client-2", "client-3"} {
			go func() {
				defer func() { done <- struct{}{} }()
				l := mustLock(t, w, name)
				for range 3 {
					if lease, err := l.Acquire(outside); err == nil {
						w.Client(name).Sleep(200 * time.Millisecond)
						_ = l.Release(outside, lease)
					}
				}
			}()
		}
		for range 3 {
			<-done
		}
	}
	sums := map[string]bool{}
	for range 50 {
		_, sum := lab{t: t, seed: 7}.sum(play)
		sums[sum] = true
	}
	if len(sums) != 1 {
		t.Errorf("50 runs of one seed gave %d histories", len(sums))
	}
	if _, other := (lab{t: t, seed: 8}).sum(play); sums[other] {
		t.Error("another seed gave the same history")
	}
}

var _ impls.Lock = (*plain)(nil)

// A cut that is mended while another one lasts changes nothing: nobody can tell
// the client that its connection is of no use.
func TestCutsOverlap(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		r := raw(t, w, "client-1")
		r.Ping(outside)
		w.After(time.Second, inject(t, w, cut(toRedis)))
		w.After(3*time.Second, inject(t, w, side("client-1")))
		if err := r.Get(outside, "k").Err(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("GET: %v, want a reset", err)
		}
		nearly(t, "the reset", w.Now(), 3*time.Second, 10*time.Millisecond)
	})
}
