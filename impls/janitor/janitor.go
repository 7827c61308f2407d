// Package janitor is a lock without an expiry and a reaper that deletes the locks
// of the dead.
//
// zoolutions/sidekiq-unique-jobs: a job takes SETNX of a unique value. While it
// runs it is listed among the running, under a name made of its value, which its
// process refreshes every 10 s so that it lives for 60 s. Every process has a
// reaper, which every 30 s (there it is ten minutes) looks whose lock it is, looks
// for the owner among the running, and deletes the lock if it is not there: after a
// kill -9 a lock would otherwise stay for ever (#546, #861, #379).
//
// Its mistakes:
//
//   - The job is listed with the suffix of its run, ":RUN", and the reaper looks for
//     it without (#580). So every lock that a pass finds is an orphan's, and the
//     job's duplicate starts while the job goes on. The dead it reaps as well, which
//     is why nobody notices.
//   - The reaper reads, and then deletes whatever is there: in between the owner may
//     have given it back and another taken it.
//
// Release compares and deletes in one step. A refused client tries again every
// 100 ms until Config.Wait has passed. The reaper starts with the first Acquire,
// works on between two jobs, and ends with Close. Config.TTL means nothing here.
package janitor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/background"
	"lockpick/impls/internal/owned"
)

const (
	retryDelay = 100 * time.Millisecond
	beat       = 10 * time.Second // between two refreshments of what runs
	listed     = 60 * time.Second // how long what runs is listed without one
	beats      = 3                // of them go by between two passes of the reaper
	suffix     = ":RUN"           // which the reaper does not know of
)

// Version is janitor.
var Version = impls.Version{
	Name:      "janitor",
	Summary:   "SETNX of a unique value that never expires, and a reaper of dead owners' locks that looks for them under the wrong name",
	Where:     "zoolutions/sidekiq-unique-jobs#580",
	VariantOf: "setnx-del",
	Traits: impls.Traits{
		TTL:     impls.TTLNone,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewNone,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

type lock struct {
	client  impls.Redis
	uuid    func() string
	cfg     impls.Config
	threads *background.Group
	start   sync.Once // the process's thread

	mu      sync.Mutex // guards running; never held during a command
	running []string   // owners, in the order in which they began
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &lock{client: env.Redis(), uuid: env.Token, cfg: cfg, threads: background.New()}, nil
}

// Acquire lists the job before it asks for the lock, so that there is never a lock
// whose owner is not listed yet.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	l.start.Do(func() { l.threads.Go(l.housekeep) })
	token := l.uuid()
	if err := l.client.Set(ctx, l.name(token)+suffix, "1", l.cfg.Scaled(listed)).Err(); err != nil {
		return impls.Lease{}, fmt.Errorf("list the owner of %q: %w", l.cfg.Key, err)
	}
	l.mu.Lock()
	l.running = append(l.running, token)
	l.mu.Unlock()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		return l.client.Do(ctx, "setnx", l.cfg.Key, token).Bool() // client.SetNX sends SET … NX
	})
	if err != nil {
		l.strike(ctx, token)
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	}
	return impls.Lease{Owner: token}, nil
}

// name is what the reaper takes for the name of an owner among the running.
func (l *lock) name(owner string) string { return l.cfg.Key + ":running:" + owner }

// Release may be called again after an unknown outcome.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	l.strike(ctx, lease.Owner)
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

// strike takes an owner off the list. When that is not heard of, its entry runs
// out by itself.
func (l *lock) strike(ctx context.Context, owner string) {
	l.mu.Lock()
	l.running = slices.DeleteFunc(l.running, func(o string) bool { return o == owner })
	l.mu.Unlock()
	_ = l.client.Del(ctx, l.name(owner)+suffix).Err()
}

// housekeep is the process's thread: it refreshes what runs, and is the reaper.
func (l *lock) housekeep(ctx context.Context) {
	for n := 1; impls.Sleep(ctx, l.cfg.Scaled(beat)) == nil; n++ {
		l.mu.Lock()
		running := slices.Clone(l.running)
		l.mu.Unlock()
		for _, owner := range running {
			_ = l.client.PExpire(ctx, l.name(owner)+suffix, l.cfg.Scaled(listed)).Err() // the next beat tries again
		}
		if n%beats == 0 {
			l.reap(ctx)
		}
	}
}

// reap is one pass. Whatever it does not hear of is left to the next.
func (l *lock) reap(ctx context.Context) {
	owner, err := l.client.Get(ctx, l.cfg.Key).Result()
	if err != nil {
		return // nobody has it, or nobody says
	}
	if n, err := l.client.Exists(ctx, l.name(owner)).Result(); err == nil && n == 0 {
		_ = l.client.Del(ctx, l.cfg.Key).Err()
	}
}

func (l *lock) Close() error {
	l.threads.Close()
	return nil
}
