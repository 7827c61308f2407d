package sim_test

import (
	"errors"
	"fmt"
	"slices"
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

// trio is a lab with a primary and two replicas, which clients reach one by one.
func trio(t testing.TB) lab {
	t.Helper()
	return lab{t: t, nodes: 3, tied: true, seed: 1}
}

// each returns a client's connections to the nodes.
func each(t testing.TB, w testbed.World, client string) []impls.Redis {
	t.Helper()
	return mustLock(t, w, client).(*plain).env.Nodes()
}

// prefix fails the test unless err begins with want; "" is for no error.
func prefix(t testing.TB, what string, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want == "":
	case err == nil || want == "" || !strings.Contains(err.Error(), want):
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestWait(t *testing.T) {
	bubble.Use(t)
	const timeout = 500 * time.Millisecond
	trio(t).twice(func(w testbed.World) {
		c, r := w.Client("client-1"), each(t, w, "client-1")[0]
		write := func() {
			if err := r.Set(outside, "k", w.Now().String(), 0).Err(); err != nil {
				t.Error(err)
			}
		}
		wait := func(what string, count int, timeout time.Duration, want int64, least, most time.Duration) {
			t.Helper()
			began := w.Now()
			n, err := r.Do(outside, "wait", count, timeout.Milliseconds()).Int64()
			if took := w.Now() - began; n != want || err != nil || took < least || took > most {
				t.Errorf("%s: WAIT %d = %d, %v after %v; want %d within %v to %v", what, count, n, err, took, want, least, most)
			}
		}
		quick := 10 * time.Millisecond
		wait("before any write", 2, timeout, 2, 0, quick)
		write()
		wait("both replicas", 2, timeout, 2, 0, quick)
		write()
		wait("none asked for", 0, timeout, 0, 0, 2*time.Millisecond)
		wait("more than there are", 3, timeout, 2, timeout, timeout+quick)

		mend := inject(t, w, cut(peers("redis-1", "redis-2")))
		write()
		wait("one is cut off", 2, timeout, 1, timeout, timeout+quick)
		wait("one is enough", 1, timeout, 1, 0, quick)
		w.After(time.Second, mend)
		wait("mended while it waits", 2, 0, 2, time.Second-quick, time.Second+quick)

		inject(t, w, cut(peers("redis-1", "redis-2")))
		inject(t, w, cut(peers("redis-1", "redis-3")))
		write()
		wait("all are cut off", 1, timeout, 0, timeout, timeout+quick)
		c.Sleep(time.Second)
		if got := each(t, w, "client-1")[1].Get(outside, "k").Val(); got == r.Get(outside, "k").Val() {
			t.Error("the write crossed the cut")
		}
	})
}

// A replica that has connected again counts when it has said that it has
// everything, not when it asks for it.
func TestWaitDoesNotCountWhoIsBeingSent(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		r := each(t, w, "client-1")[0]
		inject(t, w, cut(peers("redis-1", "redis-3")))
		mend := inject(t, w, cut(peers("redis-1", "redis-2")))
		r.Set(outside, "k", "v", 0)
		inject(t, w, faults.Slow{Link: peers("redis-1", "redis-2"), Direction: faults.Both, By: 200 * time.Millisecond})
		mend()
		began := w.Now()
		n, err := r.Do(outside, "wait", 1, 0).Int64()
		// the request, the data, the acknowledgement
		if took := w.Now() - began; n != 1 || err != nil || took < 600*time.Millisecond || took > 700*time.Millisecond {
			t.Errorf("WAIT = %d, %v after %v, want 1 after 600ms", n, err, took)
		}
	})
}

func TestWaitErrors(t *testing.T) {
	bubble.Use(t)
	trio(t).run(func(w testbed.World) {
		nodes := each(t, w, "client-1")
		prefix(t, "on a replica", nodes[1].Do(outside, "wait", 1, 1000).Err(), "ERR WAIT cannot be used with replica instances")
		prefix(t, "a negative time-out", nodes[0].Do(outside, "wait", "1", "-1").Err(), "ERR timeout is negative")
		prefix(t, "no number", nodes[0].Do(outside, "wait", "x", "1").Err(), "ERR value is not an integer")
		prefix(t, "too short", nodes[0].Do(outside, "wait", "1").Err(), "ERR wrong number of arguments for 'wait'")
	})
}

// What was pipelined behind a WAIT is executed after it.
func TestWaitKeepsOrder(t *testing.T) {
	bubble.Use(t)
	h := trio(t).twice(func(w testbed.World) {
		r := each(t, w, "client-1")[0]
		inject(t, w, cut(peers("redis-1", "redis-3")))
		cmds, err := r.Pipelined(outside, func(p redis.Pipeliner) error {
			p.Set(outside, "k", "1", 0)
			p.Do(outside, "wait", 2, 1000)
			p.Set(outside, "k", "2", 0)
			p.Do(outside, "wait", 2, 1000)
			p.Get(outside, "k")
			return nil
		})
		if err != nil || w.Now() < 2*time.Second || cmds[4].(*redis.StringCmd).Val() != "2" {
			t.Errorf("%v, %v at %v", cmds, err, w.Now())
		}
	})
	got := tell(h, func(r history.Record) bool { return r.Who == "redis-1" && r.Key == "k" })
	if want := "granted k 1 by client-1\nreplaced k 2 by client-1\n"; got != want {
		t.Errorf("%swant:\n%s", got, want)
	}
	second := find(t, h, "the second write", func(r history.Record) bool { return r.Who == "redis-1" && r.Op == history.Replaced })
	nearly(t, "the second write", second.T, time.Second, 10*time.Millisecond)
}

// A primary that is made a replica lets go of who waits on it, and what was
// behind the WAIT is not executed.
func TestWaitEndsWithThePrimary(t *testing.T) {
	bubble.Use(t)
	const mended = 20 * time.Second
	h := sentry(t).twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1").(*redis.Client)
		r.Ping(outside)
		mend := inject(t, w, side("redis-1", "client-1"))
		w.After(mended, mend)
		_, err := r.WithTimeout(time.Minute).Pipelined(outside, func(p redis.Pipeliner) error {
			p.Set(outside, "k", "1", 0)
			p.Do(outside, "wait", 2, 0)
			p.Set(outside, "k", "2", 0)
			return nil
		})
		if err == nil {
			t.Error("the WAIT was answered")
		}
		nearly(t, "the WAIT ended", w.Now(), mended+10*time.Second, 2*time.Second)
		c.Sleep(time.Second)
		if err := r.Get(outside, "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("k on the new primary: %v, want nothing", err)
		}
	})
	got := tell(h, func(r history.Record) bool { return r.Who == "redis-1" && (r.Key == "k" || r.Op == history.Role) })
	if want := "role primary\ngranted k 1 by client-1\nrole replica redis-2\ndeleted k 1\n"; got != want {
		t.Errorf("redis-1:\n%swant:\n%s", got, want)
	}
}

func TestRoleAndInfo(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		c, nodes := w.Client("client-1"), each(t, w, "client-1")
		nodes[0].Set(outside, "k", "v", 0)
		nodes[0].Set(outside, "k", "w", 0)
		c.Sleep(time.Second)
		role := func(n impls.Redis) string { return fmt.Sprint(n.Do(outside, "role").Val()) }
		info := func(n impls.Redis, want ...string) {
			t.Helper()
			lines := strings.Split(n.Info(outside, "replication").Val(), "\r\n")
			for _, l := range want {
				if !slices.Contains(lines, l) {
					t.Errorf("INFO replication has no line %q:\n%s", l, strings.Join(lines, "\n"))
				}
			}
		}
		if got, want := role(nodes[0]), "[master 2 [[10.0.0.2 6379 2] [10.0.0.3 6379 2]]]"; got != want {
			t.Errorf("the primary: %s, want %s", got, want)
		}
		info(nodes[0], "role:master", "connected_slaves:2", "slave0:ip=10.0.0.2,port=6379,state=online,offset=2", "master_repl_offset:2")
		if got, want := role(nodes[1]), "[slave 10.0.0.1 6379 connected 2]"; got != want {
			t.Errorf("a replica: %s, want %s", got, want)
		}
		info(nodes[1], "role:slave", "master_host:10.0.0.1", "master_link_status:up", "slave_repl_offset:2", "slave_read_only:1", "connected_slaves:0")
		if all := nodes[1].Info(outside).Val(); !strings.Contains(all, "redis_version:7.") || !strings.Contains(all, "role:slave") {
			t.Errorf("INFO: %s", all)
		}

		inject(t, w, faults.Stop{Node: "redis-1"})
		c.Sleep(10 * time.Second)
		if got, want := role(nodes[1]), "[slave 10.0.0.1 6379 connect -1]"; got != want {
			t.Errorf("a replica without its primary: %s, want %s", got, want)
		}
		info(nodes[1], "role:slave", "master_link_status:down", "master_link_down_since_seconds:10")
	})
}

// A replica takes no writes, from commands, scripts or transactions, and answers
// reads.
func TestReadOnlyReplica(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		c, nodes := w.Client("client-1"), each(t, w, "client-1")
		nodes[0].Set(outside, "k", "v", time.Minute)
		nodes[0].HSet(outside, "h", "f", "v")
		nodes[0].SAdd(outside, "s", "m")
		nodes[0].RPush(outside, "l", "e")
		nodes[0].ZAdd(outside, "z", redis.Z{Score: 1, Member: "m"})
		c.Sleep(time.Second)
		r := nodes[1]
		for _, args := range [][]any{
			{"set", "k", "w"}, {"setnx", "j", "w"}, {"del", "k"}, {"unlink", "k"}, {"expire", "k", 1}, {"pexpire", "k", 1}, {"persist", "k"},
			{"incr", "n"}, {"hset", "h", "f", "w"}, {"hincrby", "h", "n", 1}, {"getset", "k", "w"}, {"getdel", "k"}, {"zadd", "z", 1, "n"},
			{"zrem", "z", "m"}, {"rpush", "l", "e"}, {"lpop", "l"}, {"sadd", "s", "n"}, {"xadd", "x", "*", "f", "v"}, {"flushall"},
		} {
			prefix(t, fmt.Sprint(args), r.Do(outside, args...).Err(), "READONLY You can't write against a read only replica.")
		}
		for _, tt := range []struct {
			args []any
			want string
		}{
			{[]any{"get", "k"}, "v"}, {[]any{"exists", "k"}, "1"}, {[]any{"hget", "h", "f"}, "v"},
			{[]any{"type", "k"}, "string"}, {[]any{"zcard", "z"}, "1"}, {[]any{"llen", "l"}, "1"}, {[]any{"smembers", "s"}, "[m]"}, {[]any{"ping"}, "PONG"},
			{[]any{"echo", "x"}, "x"}, {[]any{"keys", "k*"}, "[k]"}, {[]any{"dbsize"}, "5"}, {[]any{"publish", "c", "m"}, "0"},
			{[]any{"eval", "return redis.call('get', KEYS[1])", 1, "k"}, "v"},
		} {
			if got, err := r.Do(outside, tt.args...).Result(); fmt.Sprint(got) != tt.want || err != nil {
				t.Errorf("%v = %v, %v; want %s", tt.args, got, err, tt.want)
			}
		}
		prefix(t, "a script", plainRelease.Run(outside, r, []string{"k"}, "v").Err(), "READONLY ")
		caught, err := r.Eval(outside, "return redis.pcall('del', KEYS[1])['err']", []string{"k"}).Result()
		if !strings.HasPrefix(fmt.Sprint(caught), "READONLY ") || err != nil {
			t.Errorf("a script that catches it: %v, %v", caught, err)
		}
		_, err = r.TxPipelined(outside, func(p redis.Pipeliner) error {
			p.Get(outside, "k")
			p.Del(outside, "k")
			return nil
		})
		prefix(t, "a transaction", err, "EXECABORT ")
		if err := r.(*redis.Client).Watch(outside, func(tx *redis.Tx) error { return tx.Get(outside, "k").Err() }, "k"); err != nil {
			t.Errorf("WATCH: %v", err)
		}
		for i, n := range nodes {
			if got := n.Get(outside, "k").Val(); got != "v" {
				t.Errorf("node %d: k = %q in the end", i, got)
			}
		}
	})
}

// Writes to a writable replica stay there (Redis, "Redis replication", Writable
// replicas), until the primary speaks of the same key.
func TestWritableReplicas(t *testing.T) {
	bubble.Use(t)
	l := trio(t)
	l.replicas.Writable = true
	h := l.twice(func(w testbed.World) {
		c, nodes := w.Client("client-1"), each(t, w, "client-1")
		all := func(key string) string {
			c.Sleep(100 * time.Millisecond)
			var values []string
			for _, n := range nodes {
				v, err := n.Get(outside, key).Result()
				if err != nil {
					v = "-"
				}
				values = append(values, v)
			}
			return strings.Join(values, " ")
		}
		check := func(what, key, want string) {
			t.Helper()
			if got := all(key); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		prefix(t, "a local write", nodes[1].Set(outside, "k", "two", 0).Err(), "")
		check("a local write", "k", "- two -")
		nodes[0].Set(outside, "k", "one", 0)
		check("the primary's write", "k", "one one one")
		nodes[2].Del(outside, "k")
		check("a local deletion", "k", "one one -")
		nodes[0].Set(outside, "k", "one", 0)
		check("the same value again is no change", "k", "one one -")
		inject(t, w, faults.Evict{Node: "redis-2", Key: "k"})
		check("an eviction on a replica", "k", "one - -")
		nodes[1].Set(outside, "k", "two", 0)
		inject(t, w, faults.Evict{Node: "redis-1", Key: "k"})
		check("an eviction on the primary", "k", "- - -")
	})
	replaced := find(t, h, "redis-2 takes the primary's value", func(r history.Record) bool { return r.Who == "redis-2" && r.Op == history.Replaced })
	if replaced.Was != "two" || replaced.Owner != "one" || replaced.Holder != "client-1" || replaced.Client != "" {
		t.Errorf("%+v", replaced)
	}
}

// The kinds of values all reach a replica as they are.
func TestReplicasHoldWhatThePrimaryHolds(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		c, nodes := w.Client("client-1"), each(t, w, "client-1")
		fill := func(r impls.Redis, prefix string) {
			r.Set(outside, prefix+"s", "v", time.Minute)
			r.HSet(outside, prefix+"h", "f", "1", "g", "2")
			r.RPush(outside, prefix+"l", "b", "a", "b")
			r.SAdd(outside, prefix+"set", "x", "y")
			r.ZAdd(outside, prefix+"z", redis.Z{Score: 1.5, Member: "m"}, redis.Z{Score: -2, Member: "n"})
		}
		dump := func(r impls.Redis) string {
			var b strings.Builder
			for _, k := range r.Keys(outside, "*").Val() {
				what := map[string][]any{
					"string": {"get", k}, "hash": {"hgetall", k}, "list": {"lrange", k, 0, -1}, "set": {"smembers", k}, "zset": {"zrange", k, 0, -1, "withscores"},
				}[r.Type(outside, k).Val()]
				fmt.Fprintln(&b, k, r.Do(outside, what...).Val(), r.PTTL(outside, k).Val().Round(time.Second))
			}
			return b.String()
		}
		fill(nodes[0], "streamed:")
		mend := inject(t, w, cut(peers("redis-1", "redis-3")))
		fill(nodes[0], "loaded:")
		nodes[0].HDel(outside, "streamed:h", "f")
		nodes[0].Del(outside, "streamed:set")
		c.Sleep(time.Second)
		if a, b := dump(nodes[0]), dump(nodes[1]); a != b || strings.Count(a, "\n") != 9 {
			t.Errorf("the primary:\n%sthe replica:\n%s", a, b)
		}
		mend()
		c.Sleep(time.Second)
		if a, b := dump(nodes[0]), dump(nodes[2]); a != b {
			t.Errorf("the primary:\n%sthe replica that was cut off:\n%s", a, b)
		}
	})
}

// A replica whose primary lost its data loses it too.
func TestRestartedPrimaryEmptiesItsReplicas(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		c, nodes := w.Client("client-1"), each(t, w, "client-1")
		nodes[0].Set(outside, "k", "v", 0)
		c.Sleep(time.Second)
		start := inject(t, w, faults.Stop{Node: "redis-1", Lose: faults.Everything})
		c.Sleep(time.Second)
		if n := nodes[1].Exists(outside, "k").Val(); n != 1 {
			t.Error("the replica lost the key before its primary was back")
		}
		start()
		c.Sleep(3 * time.Second)
		for i, n := range nodes {
			if got, err := n.Exists(outside, "k").Result(); got != 0 || err != nil {
				t.Errorf("node %d: %d keys, %v", i, got, err)
			}
		}
	})
}

// A replica gives up a request for everything that takes too long, and asks again.
// When the first one arrives after all, and last, the primary goes on sending over
// the connection that counts.
func TestLateRequestEndsNoReplication(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		c, nodes := w.Client("client-1"), each(t, w, "client-1")
		link := peers("redis-1", "redis-2")
		mend := inject(t, w, faults.Slow{Link: link, Direction: faults.Both, By: 1500 * time.Millisecond})
		inject(t, w, faults.Reset{Link: link})
		c.Sleep(1200 * time.Millisecond) // the request is under way, and given up
		mend()
		c.Sleep(10 * time.Second)
		for i, value := range []string{"a", "b"} {
			nodes[0].Set(outside, "k", value, 0)
			c.Sleep(time.Second)
			if got := nodes[1].Get(outside, "k").Val(); got != value {
				t.Errorf("write %d: the replica has %q, want %q", i+1, got, value)
			}
		}
	})
}

// A value that two clients store alike belongs to the second one on a replica
// that missed the change.
func TestReplicaKnowsWhoStoredWhat(t *testing.T) {
	bubble.Use(t)
	h := trio(t).twice(func(w testbed.World) {
		c := w.Client("client-1")
		each(t, w, "client-1")[0].Set(outside, "k", "locked", 0)
		c.Sleep(time.Second)
		mend := inject(t, w, cut(peers("redis-1", "redis-2")))
		two := each(t, w, "client-2")[0]
		two.Del(outside, "k")
		two.Set(outside, "k", "locked", 0)
		mend()
		c.Sleep(time.Second)
		w.Look(history.AtEnd)
	})
	for _, r := range h.Records {
		if r.Op == history.Keys && r.Key == "k" && r.Holder != "client-2" {
			t.Errorf("%s takes %s for the holder, want client-2", r.Who, r.Holder)
		}
	}
}

// A transaction whose command was refused when it was queued is not executed.
func TestRefusedInTransaction(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		names []string
		want  string
	}{{[]string{"INCR"}, "EXECABORT Transaction discarded because of previous errors."}, {[]string{"EXEC"}, "EXECABORT Transaction discarded because of: OOM "}} {
		lab{t: t}.twice(func(w testbed.World) {
			r := raw(t, w, "client-1")
			relent := inject(t, w, faults.Refuse{Node: "redis-1", With: faults.OOM, Commands: tt.names})
			w.Client("client-1").Sleep(time.Millisecond)
			transact := func() error {
				_, err := r.TxPipelined(outside, func(p redis.Pipeliner) error {
					p.Set(outside, "k", "v", 0)
					p.Incr(outside, "n")
					return nil
				})
				return err
			}
			prefix(t, fmt.Sprint(tt.names), transact(), tt.want)
			if n := r.Exists(outside, "k", "n").Val(); n != 0 {
				t.Errorf("%v refused: %d keys were written", tt.names, n)
			}
			relent()
			w.Client("client-1").Sleep(time.Millisecond)
			prefix(t, "afterwards", transact(), "")
		})
	}
}

// A replica counts for min-replicas-to-write when it has its primary's data, not
// when it asks for it.
func TestMinReplicasAfterARestart(t *testing.T) {
	bubble.Use(t)
	l := trio(t)
	l.replicas = testbed.Replicas{Min: 1, MaxLag: 10 * time.Second}
	var first time.Duration
	l.twice(func(w testbed.World) {
		c, r := w.Client("client-1"), each(t, w, "client-1")[0]
		for _, n := range []string{"redis-2", "redis-3"} {
			inject(t, w, faults.Slow{Link: peers("redis-1", n), Direction: faults.Both, By: 200 * time.Millisecond})
		}
		c.Sleep(time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})()
		c.Sleep(time.Millisecond)
		began := w.Now()
		for range 1000 {
			if err := r.Set(outside, "k", "v", 0).Err(); err == nil {
				break
			} else if !strings.HasPrefix(err.Error(), "NOREPLICAS ") {
				t.Fatal(err)
			}
			c.Sleep(5 * time.Millisecond)
		}
		first = w.Now() - began
	})
	// the request, the data, the acknowledgement
	nearly(t, "the first write", first, 600*time.Millisecond, 20*time.Millisecond)
}
