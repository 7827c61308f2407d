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
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// speaking returns a client of its own over the connections of a simulated one,
// in one of the two versions of the protocol.
func speaking(t testing.TB, w testbed.World, client string, protocol int) *redis.Client {
	t.Helper()
	o := *raw(t, w, client).(*redis.Client).Options()
	o.Protocol = protocol
	return redis.NewClient(&o)
}

// next returns what a subscription gets within a second.
func next(p *redis.PubSub) string {
	m, err := p.ReceiveTimeout(outside, time.Second)
	switch m := m.(type) {
	case *redis.Message:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Pattern, m.Channel, m.Payload))
	case *redis.Subscription:
		return fmt.Sprintf("%s %s %d", m.Kind, m.Channel, m.Count)
	default:
		return fmt.Sprint(m, err)
	}
}

const nothing = "<nil> i/o timeout"

// chat is a subscriber and a publisher, who speak one version of the protocol.
type chat struct {
	t     testing.TB
	r     *redis.Client // the subscriber's
	other *redis.Client
	p     *redis.PubSub
}

// inChat lets f run, twice, in both versions of the protocol, and hands it the
// history.
func inChat(t *testing.T, f func(c chat), judge func(t *testing.T, h *history.History)) {
	t.Helper()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			bubble.Use(t)
			h := lab{t: t, seed: 1}.twice(func(w testbed.World) {
				c := chat{t: t, r: speaking(t, w, "client-1", protocol), other: speaking(t, w, "client-2", protocol)}
				defer func() { _, _ = c.r.Close(), c.other.Close() }()
				c.p = c.r.Subscribe(outside, "a", "b")
				defer func() { _ = c.p.Close() }()
				c.expect(c.p, "subscribe a 1", "subscribe b 2")
				if err := c.p.PSubscribe(outside, "[ac]*"); err != nil {
					t.Error(err)
				}
				c.expect(c.p, "psubscribe [ac]* 3")
				f(c)
				w.Look(history.AtEnd)
			})
			judge(t, h)
		})
	}
}

func (c chat) expect(p *redis.PubSub, want ...string) {
	c.t.Helper()
	for _, one := range want {
		if got := next(p); got != one {
			c.t.Errorf("got %q, want %q", got, one)
		}
	}
}

func (c chat) publish(channel, message string, want int64) {
	c.t.Helper()
	if n, err := c.other.Publish(outside, channel, message).Result(); n != want || err != nil {
		c.t.Errorf("PUBLISH %s = %d, %v; want %d", channel, n, err, want)
	}
}

func TestPublish(t *testing.T) {
	inChat(t, func(c chat) {
		c.publish("a", "both ways", 2)
		c.expect(c.p, "a both ways", "[ac]* a both ways")
		c.publish("b", "by name", 1)
		c.publish("cc", "by pattern", 1)
		c.publish("d", "to nobody", 0)
		c.expect(c.p, "b by name", "[ac]* cc by pattern", nothing)

		n, err := c.other.Eval(outside, "return redis.call('publish', KEYS[1], ARGV[1])", []string{"b"}, "script").Int()
		if n != 1 || err != nil {
			t.Errorf("from a script: %d, %v", n, err)
		}
		cmds, err := c.other.TxPipelined(outside, func(p redis.Pipeliner) error {
			p.Set(outside, "k", "v", 0)
			p.Publish(outside, "a", "transaction")
			p.Get(outside, "k")
			return nil
		})
		if err != nil || cmds[1].(*redis.IntCmd).Val() != 2 || cmds[2].(*redis.StringCmd).Val() != "v" {
			t.Errorf("from a transaction: %v, %v", cmds, err)
		}
		c.expect(c.p, "b script", "a transaction", "[ac]* a transaction")
	}, func(t *testing.T, h *history.History) {
		pushes := ""
		for _, r := range h.Records {
			if r.Op == history.Push && r.Who == "redis-1" && r.Client == "client-1" {
				pushes += r.Command[0] + " "
			}
		}
		if pushes != "a a b cc b a a " {
			t.Errorf("the history has messages on %s", pushes)
		}
	})
}

func TestSubscriptions(t *testing.T) {
	inChat(t, func(c chat) {
		second := c.other.Subscribe(outside, "b")
		c.expect(second, "subscribe b 1")
		got := fmt.Sprint(c.other.PubSubChannels(outside, "*").Val(), c.other.PubSubChannels(outside, "b*").Val(),
			c.other.PubSubNumSub(outside, "a", "b", "x").Val(), c.other.PubSubNumPat(outside).Val())
		if got != "[a b] [b] map[a:1 b:2 x:0] 1" {
			t.Errorf("PUBSUB: %s", got)
		}
		c.publish("b", "two", 2)
		c.expect(c.p, "b two")
		c.expect(second, "b two")
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		c.publish("b", "one", 1)
		c.expect(c.p, "b one")

		if err := errors.Join(c.p.Unsubscribe(outside, "b"), c.p.PUnsubscribe(outside), c.p.Unsubscribe(outside, "x")); err != nil {
			t.Error(err)
		}
		c.expect(c.p, "unsubscribe b 2", "punsubscribe [ac]* 1", "unsubscribe x 1")
		c.publish("b", "gone", 0)
		c.publish("cc", "gone", 0)
		c.publish("a", "left", 1)
		c.expect(c.p, "a left", nothing)
		if err := c.p.Unsubscribe(outside); err != nil {
			t.Error(err)
		}
		c.expect(c.p, "unsubscribe a 0")
		c.publish("a", "gone", 0)
	}, func(t *testing.T, h *history.History) {
		load := find(t, h, "load", func(r history.Record) bool { return r.Op == history.Load })
		if load.Subscriptions != 4 {
			t.Errorf("at most %d subscriptions at once, want 4", load.Subscriptions)
		}
	})
}

// In RESP2 a connection that listens may ask nothing else; in RESP3 it may.
func TestSubscribedConnection(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []struct {
		protocol                int
		ping, get, publish, end string
	}{
		{2, "[pong ]", "ERR Can't execute 'get'", "ERR Can't execute 'publish'", "[unsubscribe c 0]"},
		{3, "PONG", "redis: nil", "1", "[unsubscribe c 0]"},
	} {
		lab{t: t}.twice(func(w testbed.World) {
			r := speaking(t, w, "client-1", tt.protocol)
			defer r.Close()
			c := r.Conn()
			defer c.Close()
			for _, step := range []struct{ command, want string }{
				{"subscribe c", "[subscribe c 1]"}, {"ping", tt.ping}, {"get k", tt.get}, {"publish other m", map[int]string{2: tt.publish, 3: "0"}[tt.protocol]},
				{"unsubscribe c", tt.end}, {"get k", "redis: nil"}, {"unsubscribe", "[unsubscribe <nil> 0]"},
			} {
				var args []any
				for _, a := range strings.Fields(step.command) {
					args = append(args, a)
				}
				if tt.protocol == 3 && strings.Contains(step.command, "subscribe") {
					continue // go-redis takes a push for no answer
				}
				got, err := c.Do(outside, args...).Result()
				text := fmt.Sprint(got)
				if err != nil {
					text = err.Error()
				}
				if !strings.HasPrefix(text, step.want) {
					t.Errorf("RESP%d, %s: %s, want %s", tt.protocol, step.command, text, step.want)
				}
			}
		})
	}
}

// A subscriber that is cut off loses what is published meanwhile; go-redis notices
// when its connection is reset, and subscribes again.
func TestCutSubscriberMissesMessages(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.twice(func(w testbed.World) {
		c, other := w.Client("client-1"), raw(t, w, "client-2")
		r := raw(t, w, "client-1").(*redis.Client)
		p := r.Subscribe(outside, "c")
		defer p.Close()
		heard := p.Channel(redis.WithChannelHealthCheckInterval(0))
		c.Sleep(time.Second)
		mend := inject(t, w, cut(toRedis))
		if n := other.Publish(outside, "c", "lost").Val(); n != 1 {
			t.Errorf("the node counts %d subscribers, want the one that it does not know is cut off", n)
		}
		c.Sleep(time.Second)
		mend()
		c.Sleep(5 * time.Second)
		if n := other.Publish(outside, "c", "heard").Val(); n != 1 {
			t.Errorf("after the mend %d subscribers, want 1", n)
		}
		c.Sleep(time.Second)
		for _, want := range []string{"heard", ""} {
			got := ""
			select {
			case m := <-heard:
				got = m.Payload
			default:
			}
			if got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		}
	})
	subscribed := 0
	for _, r := range h.Records {
		if r.Op == history.Command && strings.EqualFold(r.Command[0], "subscribe") {
			subscribed++
		}
	}
	if subscribed != 2 {
		t.Errorf("%d SUBSCRIBE, want one before the cut and one after it", subscribed)
	}
}

// What is published on the primary reaches the subscribers of its replicas, and
// nothing goes the other way.
func TestPublishReachesReplicas(t *testing.T) {
	bubble.Use(t)
	trio(t).twice(func(w testbed.World) {
		nodes := each(t, w, "client-1")
		p, q := nodes[1].(*redis.Client).Subscribe(outside, "c"), nodes[0].(*redis.Client).Subscribe(outside, "c")
		defer func() { _, _ = p.Close(), q.Close() }()
		if got := next(p) + ", " + next(q); got != "subscribe c 1, subscribe c 1" {
			t.Error(got)
		}
		other := each(t, w, "client-2")
		if n := other[0].Publish(outside, "c", "down").Val(); n != 1 {
			t.Errorf("the primary counts %d, want its own", n)
		}
		if n := other[1].Publish(outside, "c", "up").Val(); n != 1 {
			t.Errorf("the replica counts %d", n)
		}
		if got := []string{next(q), next(q), next(p), next(p)}; fmt.Sprint(got) != fmt.Sprint([]string{"c down", nothing, "c down", "c up"}) {
			t.Errorf("%q", got)
		}
	})
}

// A node that goes down, or is given another role, drops its subscribers; go-redis
// subscribes at the new primary.
func TestSubscriberFollowsTheFailover(t *testing.T) {
	bubble.Use(t)
	sentry(t).twice(func(w testbed.World) {
		c, r := w.Client("client-1"), raw(t, w, "client-1").(*redis.Client)
		p := r.Subscribe(outside, "c")
		defer p.Close()
		heard := p.Channel()
		c.Sleep(time.Second)
		inject(t, w, faults.Stop{Node: "redis-1"})
		c.Sleep(20 * time.Second)
		if n, err := raw(t, w, "client-2").Publish(outside, "c", "new").Result(); n != 1 || err != nil {
			t.Errorf("%d subscribers on the new primary, %v", n, err)
		}
		ctx, cancel := context.WithTimeout(outside, time.Second)
		defer cancel()
		select {
		case m := <-heard:
			if m.Payload != "new" {
				t.Errorf("heard %q", m.Payload)
			}
		case <-ctx.Done():
			t.Error("heard nothing")
		}
	})
}
