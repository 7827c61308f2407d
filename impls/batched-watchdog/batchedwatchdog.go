// Package batchedwatchdog is a watchdog that renews all leases of its process in
// one script.
//
// Redisson does so since 3.44, to spare commands when there are many locks
// (redisson/redisson#6303): the process has one timer, which sends the names and
// owners of all its leases every TTL/3. If that fails, it is logged and tried again:
//
//	future.whenComplete((result, e) -> {
//	    if (e != null) {
//	        log.error("Can't update locks {} expiration", name2entry.keySet(), e);
//	        schedule();
//
// Its mistake: the script is done or refused as a whole. As long as one lease is in
// the batch that the server will not renew, it renews none, and all of them run out
// under their holders, who are told nothing (redisson/redisson#4698). In
// redisson/redisson#6867 and #7116 the server is a cluster behind a proxy, which
// refuses a script whose keys lie in different slots (CROSSSLOT). A single node has
// no slots. What it refuses here is a lease that is gone, evicted or run out, while
// its holder still works: the script looks at all owners before it prolongs
// anything, and ends with an error at the first that is another. (Redisson's renews
// those that are left.) Once that holder has released, the others are renewed again,
// if they are still there.
//
// The batch is sent over the connection of the thread whose lease has been in it for
// the longest. It is tried again after TTL/10 when it failed, which is more often
// than Redisson does, and as often as watchdog. Everything else is watchdog, without
// Lost: nothing watches the time of a single lease.
package batchedwatchdog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/owned"
)

const retryDelay = 100 * time.Millisecond

// Version is batched-watchdog.
var Version = impls.Version{
	Name:      "batched-watchdog",
	Summary:   "SET NX PX and owned renewal in Lua every TTL/3, of all leases of the process in one script that is done or refused as a whole",
	Where:     "redisson/redisson#6867",
	VariantOf: "watchdog",
	Traits: impls.Traits{
		TTL:     impls.TTLAtomic,
		Token:   impls.TokenUnique,
		Release: impls.ReleaseAtomic,
		Renew:   impls.RenewOwned,
		Wait:    impls.WaitPoll,
	},
	New: newLock,
}

type lock struct {
	client impls.Redis
	batch  *batch
	handle *handle
	uuid   func() string
	cfg    impls.Config
}

func newLock(env impls.Env, cfg impls.Config) (impls.Lock, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	shared := impls.Shared(env.Process(), "batched-watchdog/"+cfg.TTL.String(), func() *batch { return newBatch(cfg.TTL) })
	return &lock{client: env.Redis(), batch: shared, handle: &handle{client: env.Redis()}, uuid: env.Token, cfg: cfg}, nil
}

// Acquire may return up to TTL/3 after ctx has ended, when it has to clean up
// behind a SET whose answer did not arrive.
func (l *lock) Acquire(ctx context.Context) (impls.Lease, error) {
	token := l.uuid()
	err := impls.Poll(ctx, l.cfg.Wait, retryDelay, func(ctx context.Context) (bool, error) {
		sent := time.Now()
		granted, err := l.client.SetNX(ctx, l.cfg.Key, token, l.cfg.TTL).Result()
		if granted && time.Since(sent) >= l.cfg.TTL { // the answer took longer than the lease
			return false, l.delete(ctx, token)
		}
		return granted, err
	})
	switch {
	case errors.Is(err, impls.ErrNotAcquired):
		return impls.Lease{}, fmt.Errorf("acquire %q: %w", l.cfg.Key, err)
	case err != nil:
		return impls.Lease{}, l.takeBack(ctx, token, err)
	}
	if !l.batch.add(entry{handle: l.handle, key: l.cfg.Key, owner: token}) {
		// closed: a lease that nobody renews is not handed out
		if err := l.delete(ctx, token); err != nil {
			return impls.Lease{}, fmt.Errorf("acquire %q on a closed lock: %w", l.cfg.Key, err)
		}
		return impls.Lease{}, fmt.Errorf("acquire %q on a closed lock: %w", l.cfg.Key, impls.ErrNotAcquired)
	}
	return impls.Lease{Owner: token}, nil
}

// takeBack deletes what Acquire may have been granted without knowing. The
// outcome stays unknown even if that succeeds: the SET may still be on its way.
func (l *lock) takeBack(ctx context.Context, token string, cause error) error {
	if err := l.delete(ctx, token); err != nil {
		return fmt.Errorf("acquire %q: %w (taking it back: %w)", l.cfg.Key, cause, err)
	}
	return fmt.Errorf("acquire %q: %w", l.cfg.Key, cause)
}

// delete removes our value, if it is there, whatever has become of ctx.
func (l *lock) delete(ctx context.Context, token string) error {
	ctx, cancel := l.detached(ctx)
	defer cancel()
	_, err := owned.Delete(ctx, l.client, l.cfg.Key, token)
	return err
}

// Release ends the renewal and deletes the lock. It may be called again after an
// unknown outcome. It may return up to TTL/3 after ctx has ended.
func (l *lock) Release(ctx context.Context, lease impls.Lease) error {
	l.batch.remove(l.cfg.Key, lease.Owner)
	ctx, cancel := l.detached(ctx)
	defer cancel()
	deleted, err := owned.Delete(ctx, l.client, l.cfg.Key, lease.Owner)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.cfg.Key, err)
	}
	if !deleted {
		return fmt.Errorf("release %q: %w", l.cfg.Key, impls.ErrNotHeld)
	}
	return nil
}

// detached is ctx without its end, bounded by TTL/3: a delete is worth waiting
// for only while it frees the lock well before the lease would.
func (l *lock) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.cfg.TTL/3)
}

// Close takes the leases of this handle out of the batch.
func (l *lock) Close() error {
	l.batch.close(l.handle)
	return nil
}
