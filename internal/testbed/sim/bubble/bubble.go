// Package bubble runs functions in virtual time.
//
// It is the one package outside of tests and locktest that imports testing:
// testing/synctest is the standard library's only door to a bubble of virtual
// time, and it asks for a *testing.T. Main gets one in an ordinary binary from
// testing.Main, which the standard library keeps for programs that simulate
// "go test".
//
// The rule that surprises: a goroutine that was started in a bubble must end
// there. One that loops without ever blocking stops virtual time for ever, and
// nothing inside the bubble can end it.
package bubble

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// ErrDeadlock means that every goroutine left in a bubble was blocked for ever.
var ErrDeadlock = errors.New("bubble: every goroutine is blocked for ever")

// host is the test that bubbles are opened from.
var host atomic.Pointer[testing.T]

// Main calls f with bubbles available and exits with its answer. It is for the
// main function of a program; tests call Use.
func Main(f func() int) {
	testing.Init()
	_ = flag.CommandLine.Parse(nil) // testing must not read the program's arguments
	all := func(string, string) (bool, error) { return true, nil }
	body := func(t *testing.T) {
		host.Store(t)
		os.Exit(f())
	}
	testing.Main(all, []testing.InternalTest{{Name: "lockpick", F: body}}, nil, nil)
}

// Use makes bubbles available until the test t ends.
func Use(t *testing.T) {
	t.Helper()
	old := host.Swap(t)
	t.Cleanup(func() { host.Store(old) })
}

// UseBench makes bubbles available to a benchmark, which has no *testing.T of
// its own: it runs body inside of a test that is not reported.
func UseBench(b *testing.B, body func(b *testing.B)) {
	b.Helper()
	t := &testing.T{}
	old := host.Swap(t)
	defer host.Store(old)
	body(b)
}

// Run calls f in a bubble of its own and returns when every goroutine that was
// started in it has ended. It returns ErrDeadlock when they never will. A panic
// of f itself is returned as an error; a panic of another goroutine ends the
// program, as it always does. Several bubbles may run at the same time.
func Run(f func()) (err error) {
	t := host.Load()
	if t == nil {
		return errors.New("bubble: virtual time is not available: call Main or Use first")
	}
	defer func() {
		p := recover()
		switch {
		case p == nil:
		case strings.HasPrefix(fmt.Sprint(p), "deadlock:"):
			err = errors.Join(ErrDeadlock, err)
		default:
			panic(p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("bubble: panic: %v", p)
			}
		}()
		f()
	})
	return err
}
