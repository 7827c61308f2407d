package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// sentry is a lab with a primary, two replicas and three Sentinels.
func sentry(t testing.TB) lab {
	t.Helper()
	return lab{t: t, nodes: 3, watched: true, seed: 1}
}

// peers is the link between two nodes.
func peers(a, b string) faults.Link { return faults.Link{Peer: a, Node: b} }

func cut(l faults.Link) faults.Fault { return faults.Cut{Link: l, Direction: faults.Both} }

// side makes a partition of names, clients and nodes.
func side(names ...string) faults.Fault {
	var p faults.Partition
	for _, n := range names {
		kind := faults.Node
		if strings.HasPrefix(n, "client") {
			kind = faults.Client
		}
		p.Side = append(p.Side, faults.Use{Name: n, Kind: kind})
	}
	return p
}

// insist acquires the lock, however often that fails.
func insist(t testing.TB, w testbed.World, client string, l impls.Lock) {
	t.Helper()
	for range 200 {
		if _, err := l.Acquire(outside); err == nil {
			return
		}
		w.Client(client).Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s never got the lock", client)
}

// leader is the Sentinel that was elected; the test fails unless it is one.
func leader(t testing.TB, h *history.History) string {
	t.Helper()
	var all []string
	for _, r := range h.Records {
		if r.Op == history.Sentry && r.Text == "+elected-leader" {
			all = append(all, r.Who)
		}
	}
	if len(all) != 1 {
		t.Fatalf("elected: %v, want one", all)
	}
	return all[0]
}

// nearly fails the test unless got is within by of want.
func nearly(t testing.TB, what string, got, want, by time.Duration) {
	t.Helper()
	if got < want-by || got > want+by {
		t.Errorf("%s: %v, want %v, give or take %v", what, got, want, by)
	}
}

// The lock that was not replicated is free on the promoted node: another client
// gets it inside of the first one's lease (D1 section 4.1, Redis "SET", Patterns).
func TestFailoverBeforeReplication(t *testing.T) {
	bubble.Use(t)
	h := sentry(t).twice(func(w testbed.World) {
		inject(t, w, cut(peers("redis-1", "redis-2")))
		inject(t, w, cut(peers("redis-1", "redis-3")))
		insist(t, w, "client-1", mustLock(t, w, "client-1"))
		w.Client("client-1").Sleep(time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})
		insist(t, w, "client-2", mustLock(t, w, "client-2"))
		if at := w.Now(); at < 5*time.Second || at > 10*time.Second {
			t.Errorf("client-2 got the lock at %v, want between 5s and 10s", at)
		}
	})
	for node, want := range map[string]string{"redis-1": "granted to client-1", "redis-2": "granted to client-2"} {
		got := ""
		for _, r := range h.Records {
			if r.Who == node && r.Key != "" {
				got += r.Op + " to " + r.Client
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", node, got, want)
		}
	}
}

// A lock that was replicated outlives its primary, and ends when it would have.
func TestFailoverAfterReplication(t *testing.T) {
	bubble.Use(t)
	var left time.Duration
	h := sentry(t).twice(func(w testbed.World) {
		insist(t, w, "client-1", mustLock(t, w, "client-1"))
		w.Client("client-1").Sleep(time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})
		w.Client("client-1").Sleep(9 * time.Second)
		var err error
		if left, err = raw(t, w, "client-2").PTTL(outside, plainConfig.Key).Result(); err != nil {
			t.Error(err)
		}
		insist(t, w, "client-2", mustLock(t, w, "client-2"))
		nearly(t, "client-2 got the lock at", w.Now(), 30*time.Second, 100*time.Millisecond)
	})
	granted := find(t, h, "granted on redis-1", func(r history.Record) bool { return r.Who == "redis-1" && r.Op == history.Granted })
	copied := find(t, h, "granted on redis-2", func(r history.Record) bool { return r.Who == "redis-2" && r.Op == history.Granted })
	asked := find(t, h, "PTTL on redis-2", func(r history.Record) bool {
		return r.Who == "redis-2" && r.Op == history.Command && strings.EqualFold(r.Command[0], "pttl")
	})
	ended := find(t, h, "expired on redis-2", func(r history.Record) bool { return r.Who == "redis-2" && r.Op == history.Expired })
	if copied.Owner != "client-1#1" || copied.Holder != "client-1" || copied.Client != "" || copied.T-granted.T > 2*time.Millisecond {
		t.Errorf("the copy of %+v is %+v", granted, copied)
	}
	nearly(t, "what was left on redis-2", left, granted.T+30*time.Second-asked.T, time.Millisecond)
	nearly(t, "the key's life on redis-2 ended", ended.T, granted.T+30*time.Second, time.Millisecond)
}

// What Sentinels say in a failover, in the order in which sentinel.c says it.
func TestSentinelsInTheirOwnWords(t *testing.T) {
	bubble.Use(t)
	h := sentry(t).twice(func(w testbed.World) {
		w.Client("client-1").Sleep(time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})
		w.Client("client-1").Sleep(10 * time.Second)
	})
	led := leader(t, h)
	said := func(who string) string {
		return tell(h, func(r history.Record) bool { return r.Op == history.Sentry && r.Who == who })
	}
	want := fmt.Sprintf(`sentry +sdown redis-1
sentry +odown redis-1
sentry +new-epoch 1 redis-1
sentry +try-failover redis-1
sentry +vote-for-leader %s 1 redis-1
sentry +elected-leader redis-1
sentry +selected-slave redis-2
sentry +promoted-slave redis-2
sentry -odown redis-1
sentry +failover-end redis-1
sentry +switch-master redis-1 redis-2
`, led)
	if got := said(led); got != want {
		t.Errorf("%s:\n%swant:\n%s", led, got, want)
	}
	follows := fmt.Sprintf(`sentry +new-epoch 1 redis-1
sentry +vote-for-leader %s 1 redis-1
sentry +config-update-from %s redis-2
sentry +switch-master redis-1 redis-2
`, led, led)
	for _, who := range []string{"sentinel-1", "sentinel-2", "sentinel-3"} {
		got := said(who)
		for _, common := range []string{"sentry +sdown redis-1\n", "sentry +odown redis-1\n", "sentry +sdown redis-1\n"} {
			got = strings.Replace(got, common, "", 1)
		}
		if who != led && got != follows {
			t.Errorf("%s, but for what it saw of redis-1:\n%swant:\n%s", who, got, follows)
		}
	}
	promoted := find(t, h, "promoted", func(r history.Record) bool { return r.Who == "redis-2" && r.Text == history.Primary })
	nearly(t, "the promotion", promoted.T, 6*time.Second, 1200*time.Millisecond)
}

// An old primary that comes back is made a replica about ten seconds later: with
// the second INFO, when eight seconds have passed since the first. What it alone
// had is gone, and what it had not is there.
func TestOldPrimaryBecomesReplica(t *testing.T) {
	bubble.Use(t)
	const back = 20 * time.Second
	h := sentry(t).twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1")
		r.Set(outside, "both", "v", 0)
		c.Sleep(time.Second)
		mend := isolate(t, w, "redis-1")
		r.Set(outside, "alone", "v", 0)
		start := inject(t, w, faults.Stop{Node: "redis-1"})
		c.Sleep(10 * time.Second)
		if err := r.Set(outside, "later", "v", 0).Err(); err != nil {
			t.Errorf("go-redis does not find the new primary: %v", err)
		}
		c.Sleep(back - w.Now())
		mend()
		start()
		c.Sleep(20 * time.Second)
		w.Look(history.AtEnd)
	})
	who := leader(t, h)
	converted := find(t, h, "+convert-to-slave", func(r history.Record) bool { return r.Text == "+convert-to-slave" && r.Target == "redis-1" })
	nearly(t, "+convert-to-slave, after a failover led by "+who, converted.T, back+10*time.Second, 1500*time.Millisecond)
	got := tell(h, func(r history.Record) bool {
		return r.Who == "redis-1" && r.T > back && r.Op != history.Command && r.Op != history.Load
	})
	want := `role replica redis-2
granted later v by client-1
deleted alone v
keys both v end
keys later v end
`
	want = strings.Replace(want, " by client-1", "", 1)
	if got != want {
		t.Errorf("redis-1 after it came back:\n%swant:\n%s", got, want)
	}
}

// isolate cuts the links between a node and the two others, and returns how to
// mend them.
func isolate(t testing.TB, w testbed.World, node string) func() {
	t.Helper()
	var mends []func()
	for _, o := range []string{"redis-1", "redis-2", "redis-3"} {
		if o != node {
			mends = append(mends, inject(t, w, cut(peers(node, o))))
		}
	}
	return func() {
		for _, mend := range mends {
			mend()
		}
	}
}

func TestMostAdvancedReplicaIsPromoted(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct{ behind, want string }{{"redis-2", "redis-3"}, {"redis-3", "redis-2"}} {
		h := sentry(t).twice(func(w testbed.World) {
			c, r := w.Client("client-1"), raw(t, w, "client-1")
			r.Set(outside, "k", "1", 0)
			c.Sleep(time.Second)
			inject(t, w, cut(peers("redis-1", tt.behind)))
			r.Set(outside, "k", "2", 0)
			c.Sleep(time.Second)
			inject(t, w, faults.Stop{Node: "redis-1"})
			c.Sleep(10 * time.Second)
			if got, err := r.Get(outside, "k").Result(); got != "2" || err != nil {
				t.Errorf("%s behind: k = %q, %v; want 2", tt.behind, got, err)
			}
		})
		if got := find(t, h, "+selected-slave", func(r history.Record) bool { return r.Text == "+selected-slave" }); got.Target != tt.want {
			t.Errorf("%s behind: %s was promoted, want %s", tt.behind, got.Target, tt.want)
		}
	}
}

// Two Sentinels of three can agree; one cannot, however long it tries. When the
// others come back, they do: not too late, or no replica would be good enough for
// them, whose links to the primary were down for more than ten times down-after.
func TestSentinelsNeedAMajority(t *testing.T) {
	bubble.Use(t)
	const stopped, back = time.Second, 40 * time.Second
	for _, tt := range []struct {
		name      string
		down      []string
		early, by time.Duration
	}{
		{"one is down", []string{"sentinel-2"}, 5 * time.Second, 9 * time.Second},
		{"two are down", []string{"sentinel-1", "sentinel-3"}, back + 5*time.Second, back + 7*time.Second},
	} {
		h := sentry(t).twice(func(w testbed.World) {
			c := w.Client("client-1")
			var starts []func()
			for _, s := range tt.down {
				starts = append(starts, inject(t, w, faults.Stop{Node: s}))
			}
			c.Sleep(stopped)
			inject(t, w, faults.Stop{Node: "redis-1"})
			c.Sleep(back - w.Now())
			for _, start := range starts {
				start()
			}
			c.Sleep(30 * time.Second)
			if err := raw(t, w, "client-1").Set(outside, "k", "v", 0).Err(); err != nil {
				t.Errorf("%s: in the end %v", tt.name, err)
			}
		})
		role := find(t, h, tt.name+": a promotion", func(r history.Record) bool { return r.Op == history.Role && r.Text == history.Primary && r.T > 0 })
		if role.T < tt.early || role.T > tt.by {
			t.Errorf("%s: %s was promoted at %v, want between %v and %v", tt.name, role.Who, role.T, tt.early, tt.by)
		}
	}
}

// A node that does not answer is down when the first ping that it left
// unanswered is older than down-after: a shorter pause is never taken for death.
func TestSubjectivelyDown(t *testing.T) {
	bubble.Use(t)
	for i := range 20 {
		for _, tt := range []struct {
			pause time.Duration
			down  bool
		}{{4900 * time.Millisecond, false}, {6300 * time.Millisecond, true}} {
			l := sentry(t)
			l.seed = uint64(i)
			h := l.run(func(w testbed.World) {
				c := w.Client("client-1")
				c.Sleep(time.Second + time.Duration(i)*57*time.Millisecond)
				w.After(tt.pause, inject(t, w, faults.Pause{Node: "redis-1"}))
				c.Sleep(40 * time.Second)
			})
			said := tell(h, func(r history.Record) bool { return r.Text == "+sdown" && r.Target == "redis-1" })
			if want := strings.Repeat("sentry +sdown redis-1\n", 3); !tt.down && said != "" || tt.down && !strings.HasPrefix(said, want) {
				t.Errorf("seed %d, a pause of %v: %q", i, tt.pause, said)
			}
		}
	}
}

// A Sentinel that has stood still does not trust what it knows for a while
// (Redis, "High availability with Redis Sentinel", TILT mode).
func TestTilt(t *testing.T) {
	bubble.Use(t)
	h := sentry(t).twice(func(w testbed.World) {
		c := w.Client("client-1")
		c.Sleep(time.Second)
		for _, s := range []string{"sentinel-1", "sentinel-2"} {
			w.After(3*time.Second, inject(t, w, faults.Pause{Node: s}))
		}
		w.After(1500*time.Millisecond, inject(t, w, faults.Pause{Node: "sentinel-3"}))
		c.Sleep(4 * time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})
		c.Sleep(40 * time.Second)
	})
	tilts := tell(h, func(r history.Record) bool { return strings.HasSuffix(r.Text, "tilt") })
	want := "sentry +tilt sentinel-1\nsentry +tilt sentinel-2\nsentry -tilt sentinel-1\nsentry -tilt sentinel-2\n"
	if tilts != want {
		t.Errorf("%swant:\n%s", tilts, want)
	}
	promoted := find(t, h, "a promotion", func(r history.Record) bool { return r.Op == history.Role && r.T > 0 })
	nearly(t, "the promotion, after the tilt", promoted.T, 35*time.Second, 1500*time.Millisecond)
}

// A primary in a minority keeps serving whoever reaches it, and what it was told
// is gone when the network is whole again.
func TestSplitBrain(t *testing.T) {
	bubble.Use(t)
	const parted, mended = 2 * time.Second, 30 * time.Second
	h := sentry(t).twice(func(w testbed.World) {
		one, two := mustLock(t, w, "client-1"), mustLock(t, w, "client-2")
		raw(t, w, "client-1").Ping(outside)
		w.Client("client-1").Sleep(parted)
		mend := inject(t, w, side("redis-1", "client-1", "sentinel-1"))
		insist(t, w, "client-1", one)
		w.Client("client-2").Sleep(10 * time.Second)
		insist(t, w, "client-2", two)
		if at := w.Now(); at > 15*time.Second {
			t.Errorf("client-2 got the lock at %v, want it while client-1 has it", at)
		}
		w.Client("client-1").Sleep(mended - w.Now())
		mend()
		w.Client("client-1").Sleep(20 * time.Second)
		if got := raw(t, w, "client-1").Set(outside, "k", "v", 0).Err(); got != nil {
			t.Errorf("client-1 after the mend: %v", got)
		}
	})
	got := tell(h, func(r history.Record) bool {
		return (r.Op == history.Role || r.Key == plainConfig.Key) && r.Who != "redis-3" && r.T > 0
	})
	want := `granted order:123 client-1#1 by client-1
role primary
granted order:123 client-2#1 by client-2
expired order:123 client-1#1
role replica redis-2
granted order:123 client-2#1
expired order:123 client-2#1
expired order:123 client-2#1
`
	if got != want {
		t.Errorf("the story:\n%swant:\n%s", got, want)
	}
	demoted := find(t, h, "redis-1 is demoted", func(r history.Record) bool { return r.Who == "redis-1" && r.Text == history.Replica })
	if demoted.T < mended+8*time.Second || demoted.T > mended+12*time.Second || demoted.Target != "redis-2" {
		t.Errorf("redis-1 became a replica of %s at %v, want of redis-2 about 10s after %v", demoted.Target, demoted.T, mended)
	}
	set := find(t, h, "SET k", func(r history.Record) bool {
		return r.Op == history.Command && strings.EqualFold(r.Command[0], "set") && r.Command[1] == "k"
	})
	if set.Who != "redis-2" {
		t.Errorf("client-1 writes to %s after the mend", set.Who)
	}
}

// With min-replicas-to-write an isolated primary takes no writes once its
// replicas have been silent for max-lag, neither from scripts.
func TestMinReplicas(t *testing.T) {
	bubble.Use(t)
	const parted = 2 * time.Second
	l := sentry(t)
	l.replicas = testbed.Replicas{Min: 1, MaxLag: 10 * time.Second}
	var last time.Duration
	l.twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1")
		if err := r.Set(outside, "k", "v", 0).Err(); err != nil {
			t.Errorf("with replicas: %v", err)
		}
		c.Sleep(parted)
		inject(t, w, side("redis-1", "client-1", "sentinel-1"))
		for range 300 {
			if err := r.Set(outside, "k", w.Now().String(), 0).Err(); err != nil {
				if !strings.HasPrefix(err.Error(), "NOREPLICAS ") {
					t.Fatalf("alone: %v", err)
				}
				break
			}
			last = w.Now()
			c.Sleep(100 * time.Millisecond)
		}
		if got, err := r.Get(outside, "k").Result(); got == "v" || err != nil {
			t.Errorf("a read: %q, %v", got, err)
		}
		err := redis.NewScript("return redis.call('del', KEYS[1])").Run(outside, r, []string{"k"}).Err()
		if err == nil || !strings.Contains(err.Error(), "NOREPLICAS ") {
			t.Errorf("a script: %v", err)
		}
		if n, err := redis.NewScript("return redis.call('exists', KEYS[1])").Run(outside, r, []string{"k"}).Int(); n != 1 || err != nil {
			t.Errorf("a script that reads: %d, %v", n, err)
		}
		if err := raw(t, w, "client-2").Set(outside, "k", "other", 0).Err(); err != nil {
			t.Errorf("the new primary: %v", err)
		}
	})
	nearly(t, "the last write", last, parted+10*time.Second, 1200*time.Millisecond)
}

// A primary that stood still through its replacement wakes as a primary: it does
// what it was sent, late, and goes on serving until it is told.
func TestPausedPrimary(t *testing.T) {
	bubble.Use(t)
	const woken = 25 * time.Second
	h := sentry(t).twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1")
		r.Set(outside, "k", "1", 0)
		c.Sleep(2 * time.Second)
		wake := inject(t, w, faults.Pause{Node: "redis-1"})
		c.Sleep(time.Second)
		if err := r.Set(outside, "k", "late", 0).Err(); err == nil {
			t.Error("a node that stands still answers")
		}
		c.Sleep(10*time.Second - w.Now())
		if err := r.Set(outside, "k", "2", 0).Err(); err != nil {
			t.Errorf("on the new primary: %v", err)
		}
		c.Sleep(woken - w.Now())
		wake()
		c.Sleep(20 * time.Second)
		if got := r.Get(outside, "k").Val(); got != "2" {
			t.Errorf("in the end k is %q", got)
		}
	})
	late := find(t, h, "the late write", func(r history.Record) bool { return r.Op == history.Replaced && r.Owner == "late" })
	if late.Who != "redis-1" || late.T < woken || late.T > woken+time.Millisecond {
		t.Errorf("the late write: %+v, want on redis-1 at %v", late, woken)
	}
	demoted := find(t, h, "redis-1 is demoted", func(r history.Record) bool { return r.Who == "redis-1" && r.Text == history.Replica })
	if demoted.T < woken+8*time.Second || demoted.T > woken+12*time.Second {
		t.Errorf("redis-1 was demoted at %v, want about 10s after %v", demoted.T, woken)
	}
	undone := find(t, h, "k as on redis-2", func(r history.Record) bool { return r.Who == "redis-1" && r.Owner == "2" && r.Was == "late" })
	nearly(t, "the late write is gone", undone.T, demoted.T, 10*time.Millisecond)
}

// A client that reaches no Sentinel works with the connections that it has.
func TestClientWithoutSentinels(t *testing.T) {
	bubble.Use(t)
	sentry(t).twice(func(w testbed.World) {
		one, two := raw(t, w, "client-1"), raw(t, w, "client-2")
		one.Ping(outside)
		for _, s := range []string{"sentinel-1", "sentinel-2", "sentinel-3"} {
			inject(t, w, cut(faults.Link{Client: "client-1", Node: s}))
			inject(t, w, cut(faults.Link{Client: "client-2", Node: s}))
		}
		w.Client("client-1").Sleep(time.Minute)
		if err := one.Set(outside, "k", "v", 0).Err(); err != nil {
			t.Errorf("over its connection: %v", err)
		}
		first := two.Set(outside, "k", "v", 0).Err()
		if first == nil {
			t.Error("client-2 found the primary without a Sentinel")
			return
		}
		// go-redis asks all Sentinels at once and joins their errors in any order
		for range 100 {
			if err := two.Set(outside, "k", "v", 0).Err(); err == nil || err.Error() != first.Error() {
				t.Errorf("the error is %v, and was %v", err, first)
				return
			}
		}
	})
}
