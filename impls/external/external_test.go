package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockpick/impls"
	"lockpick/impls/catalog"
)

// role is the environment variable that makes this program a client, and says
// which.
const role = "LOCKPICK_TEST_CLIENT"

// clients are programs, by role. The first is as it should be.
var clients = map[string]func(){
	"lockpick": func() {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, catalog.Lookup); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
	"dies at once": func() {
		fmt.Fprintln(os.Stderr, "no such module")
		os.Exit(3)
	},
	"dies when asked": func() {
		bufio.NewScanner(os.Stdin).Scan()
		os.Exit(4)
	},
	"writes garbage":       func() { fmt.Println("Hello, I am a lock!"); wait() },
	"answers nobody":       func() { fmt.Println(`{"id":17}`); wait() },
	"loses what it lacks":  func() { fmt.Println(`{"lost":17}`); wait() },
	"writes no line's end": func() { fmt.Print(strings.Repeat("x", maxLine+1)); wait() },
	"floods": func() {
		for {
			fmt.Println(`{"id":1,"open":{"protocol":1}}`)
		}
	},
	"speaks the future": func() { bufio.NewScanner(os.Stdin).Scan(); fmt.Println(`{"id":1,"open":{"protocol":2}}`); wait() },
	"opens nothing":     func() { bufio.NewScanner(os.Stdin).Scan(); fmt.Println(`{"id":1}`); wait() },
	"grants nothing": func() {
		in := bufio.NewScanner(os.Stdin)
		in.Scan()
		fmt.Println(`{"id":1,"open":{"protocol":1}}`)
		in.Scan()
		fmt.Println(`{"id":2}`)
		wait()
	},
	"invents a class": func() {
		bufio.NewScanner(os.Stdin).Scan()
		fmt.Println(`{"id":1,"error":{"class":"perhaps","text":"who knows"}}`)
		wait()
	},
	"talks to standard error": func() {
		for i := range 10_000 {
			fmt.Fprintln(os.Stderr, "line", i)
		}
		os.Exit(5)
	},
	"does not end": func() { select {} },
}

// wait returns when there is no more input.
func wait() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
	}
}

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		clients[name]()
		return
	}
	os.Exit(m.Run())
}

func mustStart(t *testing.T, name string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+name)
	c, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(10 * time.Second) })
	return c
}

// describeLock is a lock on a server of the test's own.
func describeLock(t *testing.T, version string) (Open, *miniredis.Miniredis) {
	t.Helper()
	r := miniredis.RunT(t)
	return Open{
		Version: version, Client: "client-1", Key: "order:123", TTL: 30_000, Wait: 60_000,
		Redis: Redis{Nodes: []string{r.Addr()}, Timeout: 3000},
	}, r
}

func mustOpen(t *testing.T, c *Child, o Open) impls.Lock {
	t.Helper()
	l, err := c.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLockOverThere(t *testing.T) {
	o, server := describeLock(t, "watchdog")
	a := mustOpen(t, mustStart(t, "lockpick"), o)
	o.Client, o.Wait = "client-2", 0
	b := mustOpen(t, mustStart(t, "lockpick"), o)

	lease, err := a.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := server.Get("order:123"); err != nil || stored != lease.Owner || !strings.HasPrefix(stored, "client-1-") {
		t.Errorf("the server has %q (%v), the lease says %q", stored, err, lease.Owner)
	}
	if lease.Lost == nil {
		t.Error("the lease does not tell of its loss")
	}
	if _, err := b.Acquire(t.Context()); !errors.Is(err, impls.ErrNotAcquired) {
		t.Errorf("the rival's Acquire = %v, want ErrNotAcquired", err)
	}
	if err := a.Release(t.Context(), lease); err != nil {
		t.Errorf("Release = %v", err)
	}
	if err := a.Release(t.Context(), lease); !errors.Is(err, impls.ErrNotHeld) {
		t.Errorf("the second Release = %v, want ErrNotHeld", err)
	}
	if err := b.Release(t.Context(), lease); !errors.Is(err, ErrProtocol) {
		t.Errorf("the rival's Release of what it never had = %v, want ErrProtocol", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

func TestClaimCountsFromTheRequest(t *testing.T) {
	o, _ := describeLock(t, "redislock")
	a := mustOpen(t, mustStart(t, "lockpick"), o)
	before := time.Now()
	lease, err := a.Acquire(t.Context())
	after := time.Now()
	if err != nil {
		t.Fatal(err)
	}
	if lease.Until.IsZero() {
		t.Skip("this version makes no claim")
	}
	if lease.Until.Before(before) || lease.Until.After(after.Add(30*time.Second)) {
		t.Errorf("granted between %v and %v until %v", before, after, lease.Until)
	}
}

func TestAbilities(t *testing.T) {
	tests := []struct {
		version        string
		extend, shared bool
	}{
		{"lua-release", false, false},
		{"redislock", true, false},
		{"read-write", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			o, _ := describeLock(t, tt.version)
			l := mustOpen(t, mustStart(t, "lockpick"), o)
			extender, ok := l.(impls.Extender)
			if ok != tt.extend {
				t.Errorf("it is an Extender: %v, want %v", ok, tt.extend)
			}
			sharer, ok := l.(impls.SharedLocker)
			if ok != tt.shared {
				t.Errorf("it is a SharedLocker: %v, want %v", ok, tt.shared)
			}
			if tt.extend {
				lease, err := l.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				longer, err := extender.Extend(t.Context(), lease)
				if err != nil || longer.Owner != lease.Owner {
					t.Errorf("Extend = %+v, %v", longer, err)
				}
			}
			if tt.shared {
				if _, err := sharer.AcquireShared(t.Context()); err != nil {
					t.Errorf("AcquireShared = %v", err)
				}
			}
		})
	}
}

func TestCancelReachesTheLock(t *testing.T) {
	o, server := describeLock(t, "lua-release")
	if err := server.Set("order:123", "somebody"); err != nil {
		t.Fatal(err)
	}
	a := mustOpen(t, mustStart(t, "lockpick"), o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil && server.TotalConnectionCount() == 0 { // the first SET is on its way
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := a.Acquire(ctx); err == nil || errors.Is(err, ErrDied) { // it comes back well before the wait of a minute is over
		t.Errorf("Acquire = %v, want the lock's own error", err)
	}
}

// Whoever has gone away before it asks is known to have, before anything is done.
func TestCancelledBefore(t *testing.T) {
	o, server := describeLock(t, "setnx-ex")
	c := mustStart(t, "lockpick")
	if err := c.Ping(); err != nil {
		t.Fatal(err)
	}
	a := mustOpen(t, c, o)
	lease, err := a.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if err := a.Release(ctx, lease); err == nil || errors.Is(err, impls.ErrNotHeld) {
			t.Fatalf("Release = %v, want that it did not take place", err)
		}
	}
	if !server.Exists("order:123") {
		t.Error("the key was deleted")
	}
}

// The wall clock of a client can be moved under a lock that trusts it: a wait of a
// minute is over at once.
func TestClock(t *testing.T) {
	o, server := describeLock(t, "spin-tool")
	if err := server.Set("order:123", "somebody"); err != nil {
		t.Fatal(err)
	}
	c := mustStart(t, "lockpick")
	l := mustOpen(t, c, o)
	done := make(chan error, 1)
	go func() {
		_, err := l.Acquire(context.Background())
		done <- err
	}()
	for end := time.Now().Add(20 * time.Second); server.TotalConnectionCount() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it has not begun to wait within 20 s")
		}
	}
	select {
	case err := <-done:
		t.Fatalf("Acquire = %v before the clock was moved", err)
	default:
	}
	if err := c.SetClock(time.Hour); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, impls.ErrNotAcquired) {
			t.Errorf("Acquire = %v, want ErrNotAcquired", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Acquire waits on")
	}
}

func TestLossIsTold(t *testing.T) {
	o, server := describeLock(t, "watchdog")
	o.TTL = 300
	a := mustOpen(t, mustStart(t, "lockpick"), o)
	lease, err := a.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Del("order:123")
	select {
	case <-lease.Lost:
	case <-time.After(10 * time.Second):
		t.Error("Lost did not close")
	}
}

// A paused client answers nothing, and all of it when it goes on.
func TestPause(t *testing.T) {
	o, _ := describeLock(t, "lua-release")
	c := mustStart(t, "lockpick")
	a := mustOpen(t, c, o)
	if err := c.Process().Pause(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := a.Acquire(context.Background())
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("a paused client answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := c.Process().Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Acquire = %v", err)
	}
}

// A killed client's operation has no known outcome.
func TestKill(t *testing.T) {
	o, server := describeLock(t, "lua-release")
	if err := server.Set("order:123", "somebody"); err != nil {
		t.Fatal(err)
	}
	c := mustStart(t, "lockpick")
	a := mustOpen(t, c, o)
	done := make(chan error, 1)
	go func() {
		_, err := a.Acquire(context.Background())
		done <- err
	}()
	if err := c.Process().Pause(); err != nil { // a stopped process dies as well
		t.Fatal(err)
	}
	if err := c.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrDied) || errors.Is(err, impls.ErrNotAcquired) {
		t.Errorf("Acquire = %v, want ErrDied", err)
	}
}

func TestMisbehaviour(t *testing.T) {
	tests := []struct {
		client string
		is     error
		says   string
	}{
		{"dies at once", ErrDied, "exit status 3; the last that it wrote to standard error:\nno such module"},
		{"dies when asked", ErrDied, "exit status 4"},
		{"writes garbage", ErrProtocol, `line 1 of its output is no JSON object of the protocol: "Hello, I am a lock!"`},
		{"answers nobody", ErrProtocol, `answers request 17, which waits for no answer`},
		{"loses what it lacks", ErrProtocol, `tells of the loss of a lease of request 17`},
		{"writes no line's end", ErrProtocol, `longer than 1048576 bytes`},
		{"floods", ErrProtocol, `answers request 1, which waits for no answer`},
		{"speaks the future", ErrProtocol, `does not say that it speaks version 1`},
		{"opens nothing", ErrProtocol, `does not say that it speaks version 1`},
		{"grants nothing", ErrProtocol, `neither a lease nor an error`},
		{"invents a class", ErrProtocol, `class "perhaps": who knows`},
		{"talks to standard error", ErrDied, "line 9999"},
	}
	for _, tt := range tests {
		t.Run(tt.client, func(t *testing.T) {
			t.Parallel()
			o, _ := describeLock(t, "lua-release")
			l, err := mustStart(t, tt.client).Open(o)
			if err == nil {
				_, err = l.Acquire(t.Context())
			}
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v\nwant %v with %q", err, tt.is, tt.says)
			}
			if n := len(err.Error()); n > lastWords+500 {
				t.Errorf("the error has %d bytes", n)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Open)
		says  string
	}{
		{"a version that is not there", func(o *Open) { o.Version = "no-lock" }, `there is no lock "no-lock" here`},
		{"a strategy", func(o *Open) { o.Version = "lua-decrement" }, `there is no lock "lua-decrement" here`},
		{"a configuration that no lock can work with", func(o *Open) { o.Key = "" }, "key is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, _ := describeLock(t, "lua-release")
			tt.spoil(&o)
			if _, err := mustStart(t, "lockpick").Open(o); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

// A lock that panics does not take its process along.
func TestPanic(t *testing.T) {
	o, _ := describeLock(t, "throwing-release")
	l := mustOpen(t, mustStart(t, "lockpick"), o)
	lease, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), lease); !errors.Is(err, impls.ErrPanicked) || errors.Is(err, impls.ErrNotHeld) || !strings.HasPrefix(err.Error(), "panic: ") {
		t.Errorf("the second Release = %v, want a panic", err)
	}
	if _, err := l.Acquire(t.Context()); err != nil {
		t.Errorf("Acquire after the panic = %v", err)
	}
}

// A client ends when its input does, and is killed if it does not.
func TestStop(t *testing.T) {
	tests := []struct {
		client string
		within time.Duration
		says   string
	}{
		{"lockpick", 10 * time.Second, "exit status 0"},
		{"does not end", time.Millisecond, "killed"},
	}
	for _, tt := range tests {
		t.Run(tt.client, func(t *testing.T) {
			c := mustStart(t, tt.client)
			c.Stop(tt.within)
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Err = %v, want %q", err, tt.says)
			}
		})
	}
}

// What Serve reads is not always a stream of requests.
func TestServeRefusesGarbage(t *testing.T) {
	for name, in := range map[string]string{
		"no JSON":        "hello\n",
		"no id":          `{"op":"acquire"}` + "\n",
		"a line too far": strings.Repeat("x", maxLine+1),
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := Serve(t.Context(), strings.NewReader(in), &out, catalog.Lookup); err == nil {
				t.Errorf("accepted, with the answer %q", out.String())
			}
		})
	}
}

// Whoever ends the context need not close the input as well.
func TestServeEndsWithItsContext(t *testing.T) {
	in, theirs := io.Pipe()
	defer theirs.Close()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, in, io.Discard, catalog.Lookup) }()
	end()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v, want %v", err, context.Canceled)
		}
	case <-time.After(10 * time.Second):
		t.Error("Serve has not ended within 10 s")
	}
}

func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"op":"open","open":{"protocol":1,"version":"lua-release","client":"a","key":"k","ttl_ms":1000,"redis":{"nodes":["127.0.0.1:1"],"timeout_ms":1}}}` + "\n" +
		`{"id":2,"op":"acquire","lock":1}` + "\n" + `{"id":3,"op":"release","lock":1,"lease":2}` + "\n" + `{"id":4,"op":"cancel","of":2}` + "\n")
	f.Add(`{"id":1,"op":"close","lock":1}` + "\n")
	f.Fuzz(func(t *testing.T, in string) {
		var out strings.Builder
		none := func(string) (impls.Version, bool) { return impls.Version{}, false }
		_ = Serve(context.Background(), strings.NewReader(in), &out, none)
	})
}
