package waitreplicas

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

// open returns a client's handle on a server whose WAIT is answered by wait. The
// nodes of testenv are alone, and would say 0.
func open(t *testing.T, d time.Duration, wait func(cmd redis.Cmder) error) (*testenv.World, *testenv.Env, impls.Lock) {
	t.Helper()
	w := testenv.MustOpen(t, 1)
	env := w.Env("a")
	env.Redis().(*redis.Client).AddHook(answers(wait))
	return w, env, testenv.MustLock(t, Version, env, d)
}

// answers are those to WAIT.
type answers func(cmd redis.Cmder) error

func (a answers) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (a answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a answers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() != "wait" || err != nil {
			return err
		}
		if err := a(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return nil
	}
}

// acknowledge answers with the numbers, one after the other, the last one for ever.
func acknowledge(numbers ...int64) func(redis.Cmder) error {
	n := 0
	return func(cmd redis.Cmder) error {
		n++
		cmd.(*redis.IntCmd).SetVal(numbers[min(n, len(numbers))-1])
		return nil
	}
}

func TestAcquire(t *testing.T) {
	errWait := errors.New("ERR unknown command 'WAIT'")
	tests := []struct {
		name     string
		wait     time.Duration
		acks     func(redis.Cmder) error
		want     []string // commands
		err      error
		definite bool
	}{
		{"acknowledged", 0, acknowledge(1), []string{"set", "wait"}, nil, false},
		{"acknowledged by more than asked", 0, acknowledge(2), []string{"set", "wait"}, nil, false},
		{"not acknowledged", 0, acknowledge(0), []string{"set", "wait", "evalsha", "eval"}, impls.ErrNotAcquired, true},
		{"acknowledged the second time", time.Second, acknowledge(0, 1), []string{"set", "wait", "evalsha", "eval", "set", "wait"}, nil, false},
		{"WAIT is forbidden", time.Second, func(redis.Cmder) error { return errWait }, []string{"set", "wait", "evalsha", "eval"}, errWait, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, env, a := open(t, tt.wait, tt.acks)
				lease, err := a.Acquire(t.Context())
				if !errors.Is(err, tt.err) || errors.Is(err, impls.ErrNotAcquired) != tt.definite {
					t.Errorf("Acquire = %v, want %v", err, tt.err)
				}
				if got := env.Names(); !slices.Equal(got, tt.want) {
					t.Errorf("sent %v, want %v", got, tt.want)
				}
				if got := w.Value(); got != lease.Owner {
					t.Errorf("the server stores %q, the lease says %q", got, lease.Owner)
				}
			})
		})
	}
}

func TestArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env, a := open(t, 0, acknowledge(1))
		testenv.MustAcquire(t, a)
		if got := env.Sent()[1].Args(); !slices.Equal(got, []string{"1", "1000"}) {
			t.Errorf("WAIT %v, want one replica within 1 s", got)
		}
	})
	for lease, want := range map[time.Duration]time.Duration{
		time.Minute: time.Second, 2 * time.Second: 200 * time.Millisecond, 5 * time.Millisecond: time.Millisecond,
	} {
		if got := (&lock{cfg: impls.Config{TTL: lease}}).bound(); got != want {
			t.Errorf("the bound for a TTL of %v is %v, want %v", lease, got, want)
		}
	}
}

// A refused client asks for no acknowledgement.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, 0, acknowledge(1))
		_ = w.Nodes[0].Set(testenv.Key, "another's") // fails only for a key of another type
		if _, err := a.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
		if got := env.Names(); !slices.Equal(got, []string{"set"}) {
			t.Errorf("sent %v, want one SET", got)
		}
	})
}

// WAIT speaks of the writes of its own connection. Between the two commands
// somebody else takes a connection of the pool, and does not get that one.
func TestOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, env, a := open(t, 0, acknowledge(1))
		if err := env.Redis().Ping(t.Context()).Err(); err != nil { // the first connection starts the server
			t.Fatal(err)
		}
		var mu sync.Mutex
		by := map[string]*server.Peer{}
		w.Nodes[0].Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
			mu.Lock()
			defer mu.Unlock()
			by[cmd] = p
			return false
		})
		other := env.Redis().(*redis.Client).Conn()
		env.OnReply(func(ctx context.Context, c testenv.Command) error {
			if c.Name == "set" {
				return other.Ping(ctx).Err()
			}
			return nil
		})
		lease := testenv.MustAcquire(t, a)
		if by["SET"] != by["WAIT"] || by["PING"] == by["SET"] {
			t.Errorf("SET, WAIT and PING went over %p, %p and %p", by["SET"], by["WAIT"], by["PING"])
		}
		env.Heal()
		_ = other.Close() // it goes back to the pool
		for range 3 {
			testenv.MustRelease(t, a, lease)
			lease = testenv.MustAcquire(t, a)
		}
		if n := w.Nodes[0].TotalConnectionCount(); n != 2 {
			t.Errorf("%d connections were made, want 2: that of SET and WAIT goes back to the pool", n)
		}
	})
}

// The mistake of redis/redis-doc#1863: a replica has acknowledged, and another is
// promoted, which here is the server without the key.
func TestAcknowledgedAndLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t, 0, acknowledge(1))
		envB := w.Env("b")
		envB.Redis().(*redis.Client).AddHook(answers(acknowledge(1)))
		b := testenv.MustLock(t, Version, envB, 0)
		lease := testenv.MustAcquire(t, a)
		w.Drop()
		testenv.MustAcquire(t, b)
		if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("A's release = %v, want ErrNotHeld", err)
		}
	})
}

// The context ends while the replicas are waited for or before the release;
// nothing stays.
func TestCancelledContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t, 0, func(redis.Cmder) error {
			cancel()
			return ctx.Err()
		})
		if _, err := a.Acquire(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want the context's error alone", err)
		}
		if v := w.Value(); v != "" {
			t.Errorf("the server stores %q", v)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, _, a := open(t, 0, acknowledge(1))
		if err := a.Release(ctx, testenv.MustAcquire(t, a)); err != nil {
			t.Errorf("Release = %v", err)
		}
		if v := w.Value(); v != "" {
			t.Errorf("the server stores %q", v)
		}
	})
}
