package broken

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// Rogue is a way in which a lock does not behave at all.
type Rogue string

// The rogues. Where nothing else is said they lock as Single(None) does.
const (
	BlocksInAcquire Rogue = "blocks-in-acquire" // waits on a channel that nobody closes
	BlocksInRelease Rogue = "blocks-in-release"
	BlocksInClose   Rogue = "blocks-in-close"
	SleepsForHours  Rogue = "sleeps-for-hours"  // in Acquire, whatever the context says
	PanicsInNew     Rogue = "panics-in-new"     //
	PanicsInAcquire Rogue = "panics-in-acquire" //
	PanicsInRelease Rogue = "panics-in-release" //
	PanicsInClose   Rogue = "panics-in-close"   //
	PanicsBehind    Rogue = "panics-behind"     // in a goroutine of its own
	PanickingError  Rogue = "panicking-error"   // returns an error that cannot be read
	NilLock         Rogue = "nil-lock"          // New returns neither a lock nor an error
	Spins           Rogue = "spins"             // loops in Acquire without ever waiting
	LocksAcrossIO   Rogue = "locks-across-io"   // holds a sync.Mutex during a command while another goroutine waits for it
	LeaksGoroutine  Rogue = "leaks-goroutine"   // leaves one that waits for ever
	LeaksTicker     Rogue = "leaks-ticker"      // leaves one that wakes every second

	BlocksInSubscribe Rogue = "blocks-in-subscribe" // waits for a message that nobody publishes, whatever the context says
	LeaksSubscription Rogue = "leaks-subscription"  // leaves one open with every Acquire
	LeaksListener     Rogue = "leaks-listener"      // leaves one open that go-redis listens to
	LeaksClient       Rogue = "leaks-client"        // makes a Redis client of its own and never closes it
)

// RogueVersion returns the lock that behaves so.
func RogueVersion(r Rogue) impls.Version {
	return version(Flaw(r), "rogue", func(e impls.Env, c impls.Config) (impls.Lock, error) {
		switch r {
		case PanicsInNew:
			panic("rogue: in New")
		case NilLock:
			return nil, nil
		default: // this one behaves here
		}
		return &rogue{single: single{env: e, cfg: c, flaw: None}, how: r}, nil
	})
}

type rogue struct {
	single
	how   Rogue
	spins atomic.Int64
	mu    sync.Mutex
}

// never is a channel that nobody closes or sends on, of the caller's own bubble.
func never() chan struct{} { return make(chan struct{}) }

type unreadable struct{ text *string }

func (u unreadable) Error() string { return *u.text }

func (l *rogue) Acquire(ctx context.Context) (impls.Lease, error) {
	switch l.how {
	case BlocksInAcquire:
		<-never()
	case SleepsForHours:
		time.Sleep(10_000 * time.Hour)
	case PanicsInAcquire:
		panic("rogue: in Acquire")
	case PanickingError:
		return impls.Lease{}, unreadable{}
	case PanicsBehind:
		go func() { panic(errors.New("rogue: behind your back")) }()
	case Spins:
		if _, err := l.set(ctx, l.token()); err != nil {
			return impls.Lease{}, err
		}
		for {
			l.spins.Add(1)
		}
	case LocksAcrossIO:
		l.mu.Lock()
		defer l.mu.Unlock()
		go func() {
			l.mu.Lock()
			defer l.mu.Unlock()
		}()
	case LeaksGoroutine:
		go func() { <-never() }()
	case LeaksTicker:
		go func() {
			for range time.Tick(time.Second) {
				l.spins.Add(1)
			}
		}()
	case BlocksInSubscribe:
		if _, err := l.subscribe().Receive(context.Background()); err != nil { // the confirmation
			return impls.Lease{}, err
		}
		_, err := l.subscribe().ReceiveMessage(context.Background())
		return impls.Lease{}, err
	case LeaksSubscription:
		if _, err := l.subscribe().Receive(ctx); err != nil {
			return impls.Lease{}, err
		}
	case LeaksListener:
		l.subscribe().Channel()
	case LeaksClient:
		if err := l.another().Ping(ctx).Err(); err != nil {
			return impls.Lease{}, err
		}
	default: // this one behaves here
	}
	return l.single.Acquire(ctx)
}

// subscribe opens a subscription that nobody closes.
func (l *rogue) subscribe() *redis.PubSub {
	type subscriber interface {
		Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	}
	return l.env.Redis().(subscriber).Subscribe(context.Background(), l.cfg.Key+":released")
}

// another makes a client like the one that there is, with listeners of its own.
func (l *rogue) another() *redis.Client {
	type optioned interface{ Options() *redis.Options }
	o := *l.env.Redis().(optioned).Options()
	return redis.NewClient(&o)
}

func (l *rogue) Release(ctx context.Context, given impls.Lease) error {
	switch l.how {
	case BlocksInRelease:
		<-never()
	case PanicsInRelease:
		panic("rogue: in Release")
	default: // this one behaves here
	}
	return l.single.Release(ctx, given)
}

func (l *rogue) Close() error {
	switch l.how {
	case BlocksInClose:
		<-never()
	case PanicsInClose:
		panic("rogue: in Close")
	default: // this one behaves here
	}
	return nil
}
