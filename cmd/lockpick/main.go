// Command lockpick tries to break distributed locks and says which promise
// broke, when, and why.
//
// This package holds flags, wiring and the exit status, and is the only one that
// exits.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"lockpick/internal/testbed/sim/bubble"
)

func main() {
	bubble.Main(func() int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
		return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	})
}
