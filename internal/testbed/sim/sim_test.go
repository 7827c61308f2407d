package sim_test

import (
	"bytes"
	"context"
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
	"lockpick/internal/testbed/sim"
	"lockpick/internal/testbed/sim/bubble"
)

// plain is a lock that a test can look into: SET NX PX and compare-and-delete.
type plain struct {
	env impls.Env
	cfg impls.Config
}

var plainVersion = impls.Version{
	Name:   "plain",
	Traits: impls.Traits{TTL: impls.TTLAtomic, Token: impls.TokenUnique, Release: impls.ReleaseAtomic, Renew: impls.RenewNone, Wait: impls.WaitPoll},
	New:    func(e impls.Env, c impls.Config) (impls.Lock, error) { return &plain{e, c}, nil },
}

var plainRelease = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (p *plain) Acquire(ctx context.Context) (impls.Lease, error) {
	token := p.env.Token()
	err := impls.Poll(ctx, p.cfg.Wait, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		return p.env.Redis().SetNX(ctx, p.cfg.Key, token, p.cfg.TTL).Result()
	})
	return impls.Lease{Owner: token}, err
}

func (p *plain) Release(ctx context.Context, l impls.Lease) error {
	n, err := plainRelease.Run(ctx, p.env.Redis(), []string{p.cfg.Key}, l.Owner).Int()
	if err == nil && n == 0 {
		return impls.ErrNotHeld
	}
	return err
}

func (p *plain) Close() error { return nil }

var plainConfig = impls.Config{Key: "order:123", TTL: 30 * time.Second, Wait: time.Minute}

// lab is one run of a test's own making.
type lab struct {
	t      testing.TB
	seed   uint64
	nodes  int
	packet func(faults.Packet) bool

	tied     bool // the first node is the primary of the others
	watched  bool // and Sentinels watch them
	replicas testbed.Replicas
	retries  int
	fences   bool

	processes map[string]int
	resources map[string]string
	initial   int64
}

func (l lab) run(f func(w testbed.World)) *history.History {
	l.t.Helper()
	h, _ := l.sum(f)
	return h
}

// twice runs f two times, which must give equal histories.
func (l lab) twice(f func(w testbed.World)) *history.History {
	l.t.Helper()
	h, sum := l.sum(f)
	if _, again := l.sum(f); again != sum {
		l.t.Errorf("seed %d gave two histories", l.seed)
	}
	return h
}

// find returns the first record that matches; the test fails when there is none.
func find(t testing.TB, h *history.History, what string, match func(history.Record) bool) history.Record {
	t.Helper()
	for _, r := range h.Records {
		if match(r) {
			return r
		}
	}
	t.Errorf("no record: %s", what)
	return history.Record{}
}

// tell tells in a few words each the records that match.
func tell(h *history.History, match func(history.Record) bool) string {
	var b strings.Builder
	for _, r := range h.Records {
		if !match(r) {
			continue
		}
		words := []string{r.Op, r.Key, r.Owner, r.Text, r.Target}
		if r.Client != "" {
			words = append(words, "by", r.Client)
		}
		fmt.Fprintln(&b, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	return b.String()
}

func (l lab) sum(f func(w testbed.World)) (*history.History, string) {
	l.t.Helper()
	topology := history.Topology{Name: "single", Quorum: max(l.nodes, 1)/2 + 1}
	for i := range max(l.nodes, 1) {
		topology.Nodes = append(topology.Nodes, fmt.Sprintf("redis-%d", i+1))
	}
	if l.tied || l.watched {
		topology.Primary = "redis-1"
	}
	if l.watched {
		topology.Quorum, topology.Sentinels = 1, []string{"sentinel-1", "sentinel-2", "sentinel-3"}
		l.replicas.DownAfter = 5 * time.Second
	}
	clients := []string{"client-1", "client-2", "client-3"}
	var file bytes.Buffer
	rec, err := history.NewRecorder(&file, history.Header{
		Lockpick: history.Format, Scenario: "lab", Version: "plain", Testbed: "sim", Seed: l.seed,
		Topology: topology, Workload: history.Workload{Clients: clients},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	var end time.Duration
	err = sim.New().Run(l.t.Context(), testbed.Spec{
		Need:    testbed.Need{Topology: topology, Replicas: l.replicas},
		Clients: clients, Store: "store", Seed: l.seed, Recorder: rec, Packet: l.packet,
		Retries: l.retries, Fences: l.fences,
		Processes: l.processes, Resources: l.resources, Initial: l.initial,
	}, func(w testbed.World) {
		f(w)
		end = w.Now()
	})
	if err != nil {
		l.t.Fatal(err)
	}
	h, sum, err := rec.Close(end, "")
	if err != nil {
		l.t.Fatal(err)
	}
	if again, err := history.Decode(&file); err != nil || len(again.Records) != len(h.Records) {
		l.t.Errorf("the history does not read back: %v", err)
	}
	return h, sum
}

// key tells the life of the lock's key in a few words per record.
func key(h *history.History) string {
	var b strings.Builder
	for _, r := range h.Records {
		if r.Kind == history.Observe && r.Op != history.Command && r.Who != "store" {
			fmt.Fprintf(&b, "%v %s %s by %s\n", r.T.Round(time.Second), r.Op, r.Owner, r.Client)
		}
	}
	return b.String()
}

// A lock that needs what the simulator does not have is not judged.
func TestUnsupportedCommandIsAnError(t *testing.T) {
	bubble.Use(t)
	var file bytes.Buffer
	h := history.Header{
		Lockpick: history.Format, Scenario: "lab", Version: "plain", Testbed: "sim",
		Topology: history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1},
		Workload: history.Workload{Clients: []string{"client-1"}},
	}
	rec, err := history.NewRecorder(&file, h)
	if err != nil {
		t.Fatal(err)
	}
	spec := testbed.Spec{Need: testbed.Need{Topology: h.Topology}, Clients: h.Workload.Clients, Store: "store", Recorder: rec}
	err = sim.New().Run(t.Context(), spec, func(w testbed.World) {
		if _, err := raw(t, w, "client-1").BLPop(outside, time.Second, "queue").Result(); err == nil {
			t.Error("BLPOP was answered")
		}
	})
	if err == nil || !strings.Contains(err.Error(), "BLPOP") {
		t.Errorf("%v, want an error that names the command", err)
	}
}

func mustLock(t testing.TB, w testbed.World, client string) impls.Lock {
	t.Helper()
	l, err := w.Client(client).Lock(plainVersion, plainConfig)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestKeyLivesInVirtualTime(t *testing.T) {
	bubble.Use(t)
	h := lab{t: t}.run(func(w testbed.World) {
		a, b := mustLock(t, w, "client-1"), mustLock(t, w, "client-2")
		ctx := context.Background()
		if _, err := a.Acquire(ctx); err != nil {
			t.Error(err)
		}
		lease, err := b.Acquire(ctx)
		if err != nil {
			t.Error(err)
		}
		if at := w.Now().Round(time.Second); at != 30*time.Second {
			t.Errorf("client-2 got the lock at %v, want 30s", at)
		}
		if err := b.Release(ctx, lease); err != nil {
			t.Error(err)
		}
		if err := b.Release(ctx, lease); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("a second release: %v, want ErrNotHeld", err)
		}
	})
	want := `0s granted client-1#1 by client-1
30s expired client-1#1 by 
30s granted client-2#1 by client-2
30s deleted client-2#1 by client-2
`
	if got := key(h); got != want {
		t.Errorf("the key's life:\n%swant:\n%s", got, want)
	}
}
