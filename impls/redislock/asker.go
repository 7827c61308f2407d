package redislock

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"lockpick/impls"
)

// asker is the client that Obtain is given. It passes every command on and notes
// whether the last one was answered.
//
// That is enough to tell the outcome: Obtain ends at the first error, so all
// commands before the last were refused. If the last one was answered and Obtain
// fails nevertheless, that one was refused too, and the lock was not granted. A
// client that resends by itself changes nothing: the script knows its own value.
type asker struct {
	redis.Scripter
	unanswered atomic.Bool // atomic, since the library's lock goes on using the client
}

func (a *asker) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return a.ask(ctx, func() *redis.Cmd { return a.Scripter.EvalSha(ctx, sha1, keys, args...) })
}

func (a *asker) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return a.ask(ctx, func() *redis.Cmd { return a.Scripter.Eval(ctx, script, keys, args...) })
}

func (a *asker) ask(ctx context.Context, send func() *redis.Cmd) *redis.Cmd {
	if err := impls.Ended(ctx); err != nil {
		// go-redis would not send it either, but its error does not tell.
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	cmd := send()
	err := cmd.Err()
	answered := err == nil || errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "NOSCRIPT")
	a.unanswered.Store(!answered)
	return cmd
}
