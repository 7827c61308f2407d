// Package wakeup has the two ends of a lock whose release wakes the waiters:
// compare, delete and publish in one script, and the subscription of one waiter.
//
// It knows no lock. A message is a hint that looking again is worth while, and
// no more: the waiter may lose the race, and messages that were published while
// it was not subscribed are lost without a word.
//
// go-redis makes a broken subscription anew, and holds a mutex while it
// dials. Everything is therefore done in the goroutine of the caller, which wakes
// every 100 ms to see whether its context has ended: a second goroutine
// that closes the subscription would wait for that mutex, and virtual time
// stands still while a goroutine does.
package wakeup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// glance is how often a waiter looks whether its context has ended, and how long it
// waits after an error.
const glance = 100 * time.Millisecond

// subscriber is what a client needs beyond impls.Redis. It is not
// redis.UniversalClient, which takes two seconds to compile.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

//go:embed delete.lua
var deleteSource string

var deleteScript = redis.NewScript(deleteSource)

// Channel is where the releases of one lock are published.
type Channel struct {
	client     impls.Redis
	subscriber subscriber
	key, name  string
}

// NewChannel is the channel of the lock with that key. The error is for a client
// that cannot subscribe.
func NewChannel(client impls.Redis, key string) (*Channel, error) {
	s, ok := client.(subscriber)
	if !ok {
		return nil, fmt.Errorf("wakeup: a %T cannot subscribe", client)
	}
	return &Channel{client: client, subscriber: s, key: key, name: key + ":released"}, nil
}

// Delete removes the lock and tells the waiters, if its value is owner. It
// reports whether it did. After an error it may or may not have happened.
func (c *Channel) Delete(ctx context.Context, owner string) (bool, error) {
	n, err := deleteScript.Run(ctx, c.client, []string{c.key}, owner, c.name).Int()
	return n == 1, err
}

// UntilExpiry is how long the lock must still be waited for if nobody releases it.
// It is long when the server does not say, or when the lock never expires.
func (c *Channel) UntilExpiry(ctx context.Context) time.Duration {
	const long = time.Hour
	const gone, forever = -2, -1 // as go-redis returns them, without a unit
	switch left, err := c.client.PTTL(ctx, c.key).Result(); {
	case err != nil || left == forever:
		return long
	case left == gone:
		return 0
	default:
		return left + time.Millisecond // PTTL counts whole ones
	}
}

// News is what a waiter hears.
type News uint8

// The values of News.
const (
	Nothing    News = iota // the time is up, or the context has ended
	Subscribed             // the server confirms: what is published from now on arrives
	Message                // a release
)

// Subscription is a connection of its own, for one goroutine, to be closed.
type Subscription struct{ pubsub *redis.PubSub }

// Subscribe asks the server for the messages. It does not wait for the
// confirmation, and an error shows in the lack of one.
func (c *Channel) Subscribe(ctx context.Context) *Subscription {
	return &Subscription{c.subscriber.Subscribe(ctx, c.name)}
}

// Wait waits for news, for d or until ctx has ended. A subscription that broke is
// tried again meanwhile.
func (s *Subscription) Wait(ctx context.Context, d time.Duration) News {
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if left <= 0 || impls.Ended(ctx) != nil {
			return Nothing
		}
		switch got, err := s.pubsub.ReceiveTimeout(ctx, min(left, glance)); {
		case err != nil:
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				continue
			}
			_ = impls.Sleep(ctx, min(time.Until(end), glance)) // its error is seen above
		default:
			switch got.(type) {
			case *redis.Subscription:
				return Subscribed
			case *redis.Message:
				return Message
			}
		}
	}
}

// Close ends the subscription.
func (s *Subscription) Close() {
	_ = s.pubsub.Close() // closing twice is all that can go wrong
}
