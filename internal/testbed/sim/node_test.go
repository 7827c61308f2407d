package sim_test

import (
	"context"
	"errors"
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

func TestRefuse(t *testing.T) {
	bubble.Use(t)
	for _, with := range faults.Refusals() {
		h := lab{t: t}.twice(func(w testbed.World) {
			c, r := w.Client("client-1"), raw(t, w, "client-1")
			r.Set(outside, "k", "v", 0)
			relent := inject(t, w, faults.Refuse{Node: "redis-1", With: with})
			c.Sleep(time.Millisecond)
			word, _, _ := strings.Cut(with.Text(), " ")
			prefix(t, "SET", r.Set(outside, "k", "refused", 0).Err(), word)
			prefix(t, "GET", r.Get(outside, "k").Err(), word)
			prefix(t, "EVAL", plainRelease.Run(outside, r, []string{"k"}, "v").Err(), word)
			relent()
			c.Sleep(time.Millisecond)
			if got, err := r.Get(outside, "k").Result(); got != "v" || err != nil {
				t.Errorf("%s: afterwards %q, %v", with, got, err)
			}
		})
		refused := find(t, h, "the refused SET", func(r history.Record) bool { return r.Op == history.Command && strings.HasPrefix(r.Reply, "(error)") })
		if refused.Reply != "(error) "+with.Text() {
			t.Errorf("%s: the record says %q", with, refused.Reply)
		}
	}
}

// Two refusals do not end each other, and one by name leaves other commands alone.
func TestRefuseByName(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1")
		ask := func() string {
			c.Sleep(time.Millisecond)
			words := ""
			for _, err := range []error{r.Set(outside, "k", "v", 0).Err(), r.Del(outside, "k").Err(), r.Exists(outside, "k").Err()} {
				word := "ok"
				if err != nil {
					word, _, _ = strings.Cut(err.Error(), " ")
				}
				words += word + " "
			}
			return words
		}
		check := func(want string) {
			t.Helper()
			if got := ask(); got != want {
				t.Errorf("SET, DEL, EXISTS: %s, want %s", got, want)
			}
		}
		sets := inject(t, w, faults.Refuse{Node: "redis-1", With: faults.OOM, Commands: []string{"SET"}})
		check("OOM ok ok ")
		two := inject(t, w, faults.Refuse{Node: "redis-1", With: faults.NoPerm, Commands: []string{"SET", "DEL"}})
		check("OOM NOPERM ok ")
		sets()
		check("NOPERM NOPERM ok ")
		two()
		check("ok ok ok ")
	})
}

// Scripts are cached by each node: a restart, a failover or SCRIPT FLUSH forgets
// them, and go-redis' Script sends them again.
func TestScriptCacheIsForgotten(t *testing.T) {
	bubble.Use(t)
	get := redis.NewScript("return redis.call('get', KEYS[1])")
	for _, tt := range []struct {
		name   string
		lab    lab
		forget func(w testbed.World)
	}{
		{"forget-scripts", lab{t: t}, func(w testbed.World) { inject(t, w, faults.ForgetScripts{Node: "redis-1"}) }},
		{"restart", lab{t: t}, func(w testbed.World) { inject(t, w, faults.Stop{Node: "redis-1"})() }},
		{"failover", sentry(t), func(w testbed.World) { inject(t, w, faults.Stop{Node: "redis-1"}) }},
	} {
		h := tt.lab.twice(func(w testbed.World) {
			c, r := w.Client("client-1"), raw(t, w, "client-1")
			run := func() {
				t.Helper()
				if got, err := get.Run(outside, r, []string{"k"}).Result(); got != "v" || err != nil {
					t.Errorf("%s: Run = %v, %v", tt.name, got, err)
				}
			}
			r.Set(outside, "k", "v", 0)
			run()
			run()
			tt.forget(w)
			c.Sleep(10 * time.Second)
			prefix(t, tt.name, get.EvalSha(outside, r, []string{"k"}).Err(), "NOSCRIPT ")
			run()
			prefix(t, tt.name+", run again", get.EvalSha(outside, r, []string{"k"}).Err(), "")
		})
		var asked []string
		for _, r := range h.Records {
			if r.Op == history.Command && strings.HasPrefix(strings.ToUpper(r.Command[0]), "EVAL") {
				asked = append(asked, strings.ToLower(r.Command[0]))
			}
		}
		want := "[evalsha eval evalsha evalsha evalsha eval evalsha]"
		if fmt.Sprint(asked) != want {
			t.Errorf("%s: %v, want %s", tt.name, asked, want)
		}
	}
}

// A node that loses its last second, as with appendfsync everysec, is what it was
// a second before: what was written since is gone, what was deleted is back.
func TestStopLosesTheLastSecond(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1")
		r.Set(outside, "kept", "v", 0)
		r.Set(outside, "changed", "old", time.Minute)
		r.Set(outside, "deleted", "v", time.Minute)
		r.Set(outside, "renewed", "v", time.Minute)
		r.Set(outside, "ended", "v", 5*time.Second)
		r.HSet(outside, "hash", "f", "1")
		c.Sleep(4 * time.Second)
		r.Set(outside, "changed", "new", time.Hour)
		r.Set(outside, "changed", "newer", 0)
		r.Del(outside, "deleted")
		r.Expire(outside, "renewed", time.Hour)
		r.Set(outside, "added", "v", 0)
		r.HSet(outside, "hash", "f", "2", "g", "3")
		r.Persist(outside, "ended")
		c.Sleep(500 * time.Millisecond)
		start := inject(t, w, faults.Stop{Node: "redis-1", Lose: time.Second})
		c.Sleep(time.Second)
		start()
		c.Sleep(time.Millisecond)
		r = raw(t, w, "client-2")
		for _, key := range []struct{ name, want string }{
			{"kept", "v"}, {"changed", "old"}, {"deleted", "v"}, {"renewed", "v"}, {"added", ""}, {"ended", ""},
		} {
			if got := r.Get(outside, key.name).Val(); got != key.want {
				t.Errorf("%s = %q, want %q", key.name, got, key.want)
			}
		}
		if got := fmt.Sprint(r.HGetAll(outside, "hash").Val()); got != "map[f:1]" {
			t.Errorf("hash = %s", got)
		}
		for _, key := range []string{"changed", "deleted", "renewed"} {
			if left := r.PTTL(outside, key).Val(); left < 54*time.Second || left > 55*time.Second {
				t.Errorf("%s has %v left, want what is left of its minute", key, left)
			}
		}
	})
	got := tell(h, func(r history.Record) bool { return r.Text == "lost with the node's data" })
	want := `replaced changed old lost with the node's data
granted deleted v lost with the node's data
renewed ended v lost with the node's data
replaced hash f=1 lost with the node's data
shortened renewed v lost with the node's data
deleted added v lost with the node's data
`
	if got != want {
		t.Errorf("%swant:\n%s", got, want)
	}
}

// go-redis sends a command again whose reply was lost, and a SET NX that was
// executed then meets its own key: the lock is held by a client that was told it
// is not (redis/go-redis, Options.MaxRetries; the default is 3).
func TestRetriedSetMeetsItsOwnKey(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		retries, sent int
		got           bool
		want          string
	}{{0, 1, false, "i/o timeout"}, {3, 2, false, ""}} {
		dropped := 0
		packet := func(p faults.Packet) bool {
			if p.Point == faults.Applied && p.Name == "SET" && dropped == 0 {
				dropped++
				return true
			}
			return false
		}
		h := lab{t: t, retries: tt.retries, packet: packet}.run(func(w testbed.World) {
			r := raw(t, w, "client-1")
			got, err := r.SetNX(outside, "k", "mine", time.Minute).Result()
			prefix(t, fmt.Sprintf("%d retries", tt.retries), err, tt.want)
			if got != tt.got || r.Get(outside, "k").Val() != "mine" {
				t.Errorf("%d retries: SetNX = %v, and k is %q", tt.retries, got, r.Get(outside, "k").Val())
			}
		})
		sent := tell(h, func(r history.Record) bool { return r.Op == history.Command && strings.EqualFold(r.Command[0], "set") })
		if n := strings.Count(sent, "\n"); n != tt.sent {
			t.Errorf("%d retries: SET was executed %d times, want %d", tt.retries, n, tt.sent)
		}
	}
}

// Load is the most that a node had to do with at once, not in the end.
func TestLoad(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t, nodes: 2}.twice(func(w testbed.World) {
		one := each(t, w, "client-1")
		var subs []*redis.PubSub
		for i := range 3 {
			p := one[0].(*redis.Client).Subscribe(outside, fmt.Sprint("c", i))
			if _, err := p.Receive(outside); err != nil {
				t.Error(err)
			}
			subs = append(subs, p)
		}
		for _, p := range subs {
			_ = p.Close()
		}
		each(t, w, "client-2")[0].Ping(outside)
		w.Look(history.AtEnd)
	})
	var loads []string
	for _, r := range h.Records {
		if r.Op == history.Load {
			loads = append(loads, fmt.Sprintf("%s %d %d", r.Who, r.Connections, r.Subscriptions))
		}
	}
	if got, want := strings.Join(loads, ", "), "redis-1 3 3, redis-2 0 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Cancel ends the context of the section under way, and nothing else.
func TestCancel(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		one, two := w.Client("client-1"), w.Client("client-2")
		inject(t, w, faults.Cancel{Client: "client-1"}) // between sections: nobody is struck
		before, _ := one.Section()
		other, _ := two.Section()
		inject(t, w, faults.Cancel{Client: "client-1"})
		after, end := one.Section()
		check := func(what string, ctx context.Context, want error) {
			t.Helper()
			if err := ctx.Err(); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check("the section", before, context.Canceled)
		check("the next one", after, nil)
		check("another client's", other, nil)
		check("the client", one.Context(), nil)
		if !one.Alive() || raw(t, w, "client-1").Ping(after).Err() != nil {
			t.Error("the client does not go on")
		}
		end()
		check("one that has ended", after, context.Canceled)
		inject(t, w, faults.Cancel{Client: "client-1"}) // between sections again
		inject(t, w, faults.Crash{Client: "client-2"})
		check("that of a crashed client", other, context.Canceled)
	})
}

// A wait for the lock ends with the section's context.
func TestCancelEndsAWait(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		insist(t, w, "client-1", mustLock(t, w, "client-1"))
		w.After(5*time.Second, func() { inject(t, w, faults.Cancel{Client: "client-2"}) })
		section, _ := w.Client("client-2").Section()
		_, err := mustLock(t, w, "client-2").Acquire(section)
		if err == nil || errors.Is(err, impls.ErrNotAcquired) && !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled wait: %v", err)
		}
		nearly(t, "it ended", w.Now(), 5*time.Second, 100*time.Millisecond)
	})
}

// A connection that has ended while it lay in go-redis' pool is not used again,
// as on a socket: a node's restart is seen by nobody who asks nothing meanwhile.
func TestIdleConnectionIsReplaced(t *testing.T) {
	bubble.Use(t)
	lab{t: t}.twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1")
		r.Set(outside, "k", "v", 0)
		start := inject(t, w, faults.Stop{Node: "redis-1"})
		c.Sleep(time.Second)
		start()
		c.Sleep(time.Second)
		if got, err := r.Get(outside, "k").Result(); got != "v" || err != nil {
			t.Errorf("after a restart: %q, %v", got, err)
		}
	})
}
