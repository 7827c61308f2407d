package sim_test

import (
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// A key ends when its node's clock says so, at whatever rate that runs.
func TestDrift(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name string
		rate float64
		for_ time.Duration // then the clock runs as it should again
		want time.Duration // when the key of a minute is gone; 0 for never
	}{
		{"twice as fast", 2, 0, 30 * time.Second},
		{"half as fast", 0.5, 0, 120 * time.Second},
		{"a thousandth faster", 1.001, 0, 59_940_059 * time.Microsecond},
		{"a third", 1.0 / 3, 0, 180 * time.Second},
		{"standing still", 0, 0, 0},
		{"backwards", -1, 0, 0},
		{"standing still for a while", 0, 20 * time.Second, 80 * time.Second},
		{"backwards for a while", -1, 20 * time.Second, 100 * time.Second},
		{"fast for a while", 3, 10 * time.Second, 40 * time.Second},
	} {
		h := lab{t: t}.twice(func(w testbed.World) {
			c := w.Client("client-1")
			raw(t, w, "client-1").Set(outside, "k", "v", time.Minute)
			heal := inject(t, w, faults.Drift{Node: "redis-1", Rate: tt.rate})
			if tt.for_ > 0 {
				w.After(tt.for_, heal)
			}
			c.Sleep(10 * time.Minute)
			if n := raw(t, w, "client-1").Exists(outside, "k").Val(); (n == 1) != (tt.want == 0) {
				t.Errorf("%s: %d keys in the end", tt.name, n)
			}
		})
		if tt.want == 0 {
			continue
		}
		expired := find(t, h, tt.name+": expired", func(r history.Record) bool { return r.Op == history.Expired })
		nearly(t, tt.name+": the key expired", expired.T, tt.want, 10*time.Millisecond)
	}
}

// A clock that is set back makes a key live longer, and one that is set forward
// ends it at once, also while the node stands still: it looks when it wakes.
func TestJumps(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		name   string
		by, at time.Duration
		pause  time.Duration // from 10s on
		want   time.Duration
	}{
		{"back", -20 * time.Second, 10 * time.Second, 0, 80 * time.Second},
		{"forward, not far enough", 20 * time.Second, 10 * time.Second, 0, 40 * time.Second},
		{"forward", time.Hour, 10 * time.Second, 0, 10 * time.Second},
		{"forward while it stands still", time.Hour, 12 * time.Second, 5 * time.Second, 15 * time.Second},
		{"back while it stands still", -20 * time.Second, 12 * time.Second, 5 * time.Second, 80 * time.Second},
		{"back after the key's end, while it stands still", -20 * time.Second, 70 * time.Second, 80 * time.Second, 90 * time.Second},
	} {
		h := lab{t: t}.twice(func(w testbed.World) {
			c := w.Client("client-1")
			raw(t, w, "client-1").Set(outside, "k", "v", time.Minute)
			c.Sleep(10*time.Second - w.Now())
			if tt.pause > 0 {
				w.After(tt.pause, inject(t, w, faults.Pause{Node: "redis-1"}))
			}
			c.Sleep(tt.at - w.Now())
			inject(t, w, faults.Clock{Node: "redis-1", Jump: tt.by})
			c.Sleep(5 * time.Minute)
		})
		expired := find(t, h, tt.name+": expired", func(r history.Record) bool { return r.Op == history.Expired })
		nearly(t, tt.name+": the key expired", expired.T, tt.want, 10*time.Millisecond)
	}
}

// A replica ends a key by its own clock: when one that is ahead is promoted, the
// lock is free early. To the primary's clients nothing is to be seen before.
func TestReplicaAhead(t *testing.T) {
	bubble.Use(t)
	const ahead = 15 * time.Second
	h := sentry(t).twice(func(w testbed.World) {
		for _, n := range []string{"redis-2", "redis-3"} {
			inject(t, w, faults.Clock{Node: n, Jump: ahead})
		}
		insist(t, w, "client-1", mustLock(t, w, "client-1"))
		w.Client("client-1").Sleep(time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})
		insist(t, w, "client-2", mustLock(t, w, "client-2"))
		nearly(t, "client-2 got the lock at", w.Now(), 30*time.Second-ahead, 100*time.Millisecond)
	})
	expired := find(t, h, "expired on redis-2", func(r history.Record) bool { return r.Who == "redis-2" && r.Op == history.Expired })
	nearly(t, "redis-2 takes the key for gone", expired.T, 30*time.Second-ahead, 5*time.Millisecond)
}

// A replica whose clock is behind keeps a key until its primary says that it is
// gone.
func TestReplicaBehind(t *testing.T) {
	bubble.Use(t)
	h := trio(t).twice(func(w testbed.World) {
		inject(t, w, faults.Clock{Node: "redis-2", Jump: -time.Hour})
		each(t, w, "client-1")[0].Set(outside, "k", "v", 30*time.Second)
		w.Client("client-1").Sleep(time.Minute)
	})
	gone := find(t, h, "k gone from redis-2", func(r history.Record) bool {
		return r.Who == "redis-2" && (r.Op == history.Deleted || r.Op == history.Expired)
	})
	nearly(t, gone.Op, gone.T, 30*time.Second, 5*time.Millisecond)
	if gone.Op != history.Deleted {
		t.Errorf("the key was %s, want deleted, on the primary's word", gone.Op)
	}
}

// Each client has a wall clock of its own, which no jump of another moves, and
// which has no monotonic reading.
func TestWallClocks(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.run(func(w testbed.World) {
		envs := map[string]impls.Env{}
		for _, name := range []string{"client-1", "client-2"} {
			envs[name] = mustLock(t, w, name).(*plain).env
		}
		check := func(one, two time.Duration) {
			t.Helper()
			for name, want := range map[string]time.Duration{"client-1": one, "client-2": two} {
				if got := envs[name].Wall().Sub(time.Now().Round(0)); got != want {
					t.Errorf("%s is %v ahead, want %v", name, got, want)
				}
			}
		}
		check(0, 0)
		inject(t, w, faults.Clock{Client: "client-1", Jump: time.Hour})
		check(time.Hour, 0)
		inject(t, w, faults.Clock{Client: "client-1", Jump: -90 * time.Minute})
		inject(t, w, faults.Clock{Client: "client-2", Jump: time.Minute})
		inject(t, w, faults.Clock{Node: "redis-1", Jump: time.Minute})
		w.Client("client-1").Sleep(time.Minute)
		check(-30*time.Minute, time.Minute)
	})
}
