package wakeup

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockpick/impls"
)

const key = "lock:order:123"

// world is one node and a client whose connections a test can break.
type world struct {
	node   *miniredis.Miniredis
	client *redis.Client

	mu      sync.Mutex
	conns   []net.Conn
	refused bool
}

func open(t *testing.T) (*world, *Channel) {
	t.Helper()
	w := &world{node: miniredis.NewMiniRedis()}
	w.client = redis.NewClient(&redis.Options{
		Addr:                     "192.0.2.1:6379",
		Dialer:                   w.dial,
		DisableIdentity:          true,
		MaxRetries:               -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() {
		_ = w.client.Close()
		w.node.Close()
	})
	channel, err := NewChannel(w.client, key)
	if err != nil {
		t.Fatalf("NewChannel: %v", err)
	}
	return w, channel
}

func (w *world) dial(context.Context, string, string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused {
		return nil, net.ErrClosed
	}
	c, err := w.node.Dial()
	w.conns = append(w.conns, c)
	return c, err
}

// refuse makes dialling fail, or not.
func (w *world) refuse(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = yes
}

// cut breaks the newest connection.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.conns[len(w.conns)-1].Close()
}

func (w *world) subscribers() int { return w.node.PubSubNumSub(key + ":released")[key+":released"] }

func mustHear(t *testing.T, s *Subscription, d time.Duration, want News) {
	t.Helper()
	if got := s.Wait(t.Context(), d); got != want {
		t.Errorf("Wait = %v, want %v", got, want)
	}
}

func TestSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, channel := open(t)
		s := channel.Subscribe(t.Context())
		mustHear(t, s, time.Second, Subscribed)
		if got := w.subscribers(); got != 1 {
			t.Errorf("%d subscribers, want 1", got)
		}

		start := time.Now()
		mustHear(t, s, time.Second, Nothing)
		if took := time.Since(start); took != time.Second {
			t.Errorf("nothing came for %v, want 1s", took)
		}

		go func() {
			time.Sleep(730 * time.Millisecond)
			w.node.Publish(key+":released", "")
		}()
		start = time.Now()
		mustHear(t, s, time.Minute, Message)
		if took := time.Since(start); took != 730*time.Millisecond {
			t.Errorf("the message came after %v", took)
		}

		s.Close()
		synctest.Wait()
		if got := w.subscribers(); got != 0 {
			t.Errorf("%d subscribers after Close", got)
		}
	})
}

// What broke is made anew and says so; what was published in between is lost.
func TestBrokenSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, channel := open(t)
		s := channel.Subscribe(t.Context())
		defer s.Close()
		mustHear(t, s, time.Second, Subscribed)

		w.refuse(true)
		w.cut()
		start := time.Now()
		mustHear(t, s, 2*time.Second, Nothing)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("Wait took %v without a server, want 2s", took)
		}
		w.node.Publish(key+":released", "")
		w.refuse(false)
		mustHear(t, s, time.Second, Subscribed)
		mustHear(t, s, time.Second, Nothing)
	})
}

// The subscription cannot even be made at first.
func TestSubscribeWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, channel := open(t)
		w.refuse(true)
		s := channel.Subscribe(t.Context())
		defer s.Close()
		mustHear(t, s, time.Second, Nothing)
		w.refuse(false)
		mustHear(t, s, time.Second, Subscribed)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	tests := []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		took time.Duration
	}{
		{"a deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 330*time.Millisecond)
		}, 330 * time.Millisecond},
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(330*time.Millisecond, cancel)
			return ctx, cancel
		}, 4 * glance},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, channel := open(t)
				s := channel.Subscribe(t.Context())
				defer s.Close()
				mustHear(t, s, time.Second, Subscribed)
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				start := time.Now()
				if got := s.Wait(ctx, time.Minute); got != Nothing {
					t.Errorf("Wait = %v, want Nothing", got)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("Wait returned after %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// Only the owner's release is published.
func TestDelete(t *testing.T) {
	tests := []struct {
		name  string
		value string // stored
		want  bool
		news  News
	}{
		{"ours", "a-1", true, Message},
		{"another's", "b-1", false, Nothing},
		{"gone", "", false, Nothing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, channel := open(t)
				s := channel.Subscribe(t.Context())
				defer s.Close()
				mustHear(t, s, time.Second, Subscribed)
				if tt.value != "" {
					if err := w.node.Set(key, tt.value); err != nil {
						t.Fatalf("Set: %v", err)
					}
				}
				deleted := make(chan bool, 1)
				go func() {
					ok, err := channel.Delete(t.Context(), "a-1")
					if err != nil {
						t.Errorf("Delete: %v", err)
					}
					deleted <- ok
				}()
				mustHear(t, s, time.Second, tt.news)
				if got := <-deleted; got != tt.want {
					t.Errorf("Delete = %v, want %v", got, tt.want)
				}
				if got, want := w.node.Exists(key), tt.value != "" && !tt.want; got != want {
					t.Errorf("the lock is there: %v, want %v", got, want)
				}
			})
		})
	}
}

// mute is a client without Subscribe.
type mute struct{ impls.Redis }

func TestClientThatCannotSubscribe(t *testing.T) {
	if _, err := NewChannel(mute{}, key); err == nil {
		t.Error("NewChannel accepts it")
	}
}
