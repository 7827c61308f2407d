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
	"runtime/debug"
	"syscall"

	"lockpick/internal/testbed/sim/bubble"
)

func main() {
	// a run allocates a world and forgets it: a larger heap saves a tenth of the time
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	bubble.Main(func() int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
		return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	})
}
