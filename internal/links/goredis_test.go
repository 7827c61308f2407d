package links

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"lockpick/faults"
)

// newRedis returns a link to a miniredis, and go-redis for it.
func newRedis(t *testing.T, protocol int) (*Link, *witness, *redis.Client) {
	t.Helper()
	w := newWitness()
	n := newNetwork(t, w)
	l := mustLink(t, n, "client-1", "redis-1", miniredis.RunT(t).Addr())
	c := redis.NewClient(&redis.Options{
		Addr: l.Addr(), Protocol: protocol, MaxRetries: -1, DialerRetries: 1, ReadTimeout: bound, WriteTimeout: bound,
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, w, c
}

func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			_, _, c := newRedis(t, protocol)
			ctx := t.Context()
			script := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
			var clients sync.WaitGroup
			for i := range 8 {
				clients.Go(func() {
					key, value := fmt.Sprintf("k%d", i), fmt.Sprint(i)
					for range 20 {
						if ok, err := c.SetNX(ctx, key, value, time.Minute).Result(); !ok || err != nil {
							t.Errorf("SetNX = %v, %v", ok, err)
						}
						if ok, err := c.SetNX(ctx, key, "other", time.Minute).Result(); ok || err != nil {
							t.Errorf("a second SetNX = %v, %v", ok, err)
						}
						if n, err := script.Run(ctx, c, []string{key}, value).Int(); n != 1 || err != nil {
							t.Errorf("the script = %v, %v", n, err)
						}
					}
					replies, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
						p.Incr(ctx, key+"n")
						p.HSet(ctx, key+"h", "f", "v")
						p.HGetAll(ctx, key+"h")
						return nil
					})
					if err != nil || replies[2].(*redis.MapStringStringCmd).Val()["f"] != "v" {
						t.Errorf("a transaction = %v, %v", replies, err)
					}
				})
			}
			clients.Wait()
		})
	}
}

func TestGoRedisPubSub(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			l, w, c := newRedis(t, protocol)
			ctx := t.Context()
			sub := c.Subscribe(ctx, "a", "b")
			defer sub.Close()
			for _, channel := range []string{"a", "b"} {
				if m, err := sub.Receive(ctx); err != nil || m.(*redis.Subscription).Channel != channel {
					t.Fatalf("the confirmation is %v, %v", m, err)
				}
			}
			if err := sub.PSubscribe(ctx, "p*"); err != nil {
				t.Fatal(err)
			}
			if m, err := sub.Receive(ctx); err != nil || m.(*redis.Subscription).Kind != "psubscribe" {
				t.Fatalf("the confirmation is %v, %v", m, err)
			}
			messages := sub.Channel()
			publish := func(channel, text string) {
				t.Helper()
				if n, err := c.Publish(ctx, channel, text).Result(); n != 1 || err != nil {
					t.Fatalf("Publish = %v, %v", n, err)
				}
			}
			want := func(channel, text string) {
				t.Helper()
				select {
				case m := <-messages:
					if m.Channel != channel || m.Payload != text {
						t.Fatalf("the message is %v", m)
					}
				case <-time.After(bound):
					t.Fatal("no message comes")
				}
			}
			for i := range 50 {
				publish("b", fmt.Sprint(i))
				want("b", fmt.Sprint(i))
			}
			publish("px", "p")
			want("px", "p")
			if err := sub.Unsubscribe(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			publish("b", "after")
			want("b", "after")
			// after a reset it connects and subscribes again by itself
			l.Reset()
			eventually(t, "it is subscribed again", func() bool { return c.Publish(ctx, "b", "again").Val() == 1 })
			want("b", "again")
			eventually(t, "every command has its answer", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, how := range w.fate {
					if how == "" {
						return false
					}
				}
				return true
			})
		})
	}
}

// A lock that is taken by a request whose caller has long given up.
func TestGoRedisLateSet(t *testing.T) {
	l, _, c := newRedis(t, 2)
	ctx := t.Context()
	if err := c.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	l.Hold(faults.ToNode)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	hasty := c.WithTimeout(20 * time.Millisecond)
	if ok, err := hasty.SetNX(short, "lock", "1", time.Minute).Result(); ok || err == nil {
		t.Fatalf("SetNX over a link that is held = %v, %v", ok, err)
	}
	l.Release(faults.ToNode)
	eventually(t, "the late request has taken the lock", func() bool { return c.Get(ctx, "lock").Val() == "1" })
	if ok, err := c.SetNX(ctx, "lock", "2", time.Minute).Result(); ok || err != nil {
		t.Errorf("SetNX of a lock that is taken = %v, %v", ok, err)
	}
}
