package external

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"hash/fnv"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockpick/impls"
)

// env is the world of a Go lock in a process of its own.
type env struct {
	client  string
	seed    uint64
	process *impls.Process
	ahead   *atomic.Int64 // of the process's wall clock, in nanoseconds
	nodes   []impls.Redis
}

// noBackOff keeps go-redis from waiting for a random time between retries.
const noBackOff = -1

func newEnv(o *Open, process *impls.Process, ahead *atomic.Int64) *env {
	e := &env{client: o.Client, seed: o.Seed, process: process, ahead: ahead}
	if len(o.Redis.Sentinels) > 0 {
		e.nodes = []impls.Redis{redis.NewFailoverClient(o.Redis.options(o.Redis.Sentinels...).Failover())}
		return e
	}
	for _, addr := range o.Redis.Nodes {
		e.nodes = append(e.nodes, redis.NewClient(o.Redis.options(addr).Simple()))
	}
	return e
}

func (r Redis) timeout() time.Duration { return time.Duration(r.Timeout) * time.Millisecond }

// options are those of a connection to the addresses. A client makes one attempt at a
// command, unless more are asked for: a transparent retry is a fault of its own.
func (r Redis) options(addrs ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:           addrs,
		MasterName:      r.Master,
		MaxRetries:      cmp.Or(r.Retries, -1), // in go-redis' own words
		MinRetryBackoff: noBackOff,
		MaxRetryBackoff: noBackOff,
		DialTimeout:     r.timeout(),
		ReadTimeout:     r.timeout(),
		WriteTimeout:    r.timeout(),
		DialerRetries:   1,
		DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
		Dialer: r.dial,
	}
}

// dial goes where Addresses says in place of the address.
func (r Redis) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if there, ok := r.Addresses[addr]; ok {
		addr = there
	}
	d := net.Dialer{Timeout: r.timeout()}
	return d.DialContext(ctx, network, addr)
}

func (e *env) Redis() impls.Redis      { return e.nodes[0] }
func (e *env) Nodes() []impls.Redis    { return slices.Clone(e.nodes) }
func (e *env) Process() *impls.Process { return e.process }
func (e *env) Owner() string           { return e.client }
func (e *env) Wall() time.Time         { return time.Now().Round(0).Add(time.Duration(e.ahead.Load())) }

// Token begins with the client's name, by which a reader of a server's log knows
// whose it is.
func (e *env) Token() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it ends the process rather than fail
	return e.client + "-" + hex.EncodeToString(b[:])
}

func (e *env) Rand(name string) *mathrand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.client + "/" + name)) // a hash does not fail
	return mathrand.New(mathrand.NewPCG(e.seed, h.Sum64()))
}
