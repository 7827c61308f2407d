package local_test

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

	"lockpick/checker"
	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/impls/external"
	"lockpick/internal/harness"
	"lockpick/internal/redisd"
	"lockpick/internal/require"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/local"
	"lockpick/scenarios"
)

// role is the environment variable that makes this program a client, and says
// which.
const role = "LOCKPICK_TEST_CLIENT"

// clients are programs, by role. The first is as it should be.
var clients = map[string]func(in *bufio.Scanner){
	"lockpick": func(*bufio.Scanner) {
		if err := external.Serve(context.Background(), os.Stdin, os.Stdout, catalog.Lookup); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
	"dies at once": func(*bufio.Scanner) {
		fmt.Fprintln(os.Stderr, "no such module")
		os.Exit(3)
	},
	"dies in its section": func(in *bufio.Scanner) {
		answer(in, 2)
		os.Exit(4)
	},
	"writes garbage": func(in *bufio.Scanner) {
		answer(in, 2)
		fmt.Println("I am a lock!")
		answer(in, 100)
	},
	"hangs": func(in *bufio.Scanner) {
		answer(in, 2)
		select {}
	},
}

// answer answers so many requests as a lock does that is always granted.
func answer(in *bufio.Scanner, n int) {
	for i := 1; i <= n && in.Scan(); i++ {
		switch text := in.Text(); {
		case strings.Contains(text, `"op":"open"`):
			fmt.Printf(`{"id":%d,"open":{"protocol":1}}`+"\n", i)
		default:
			fmt.Printf(`{"id":%d}`+"\n", i)
		}
	}
}

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		clients[name](bufio.NewScanner(os.Stdin))
		return
	}
	os.Exit(m.Run())
}

func mustTestbed(t *testing.T, client string) testbed.Testbed {
	t.Helper()
	bed, err := local.New(t.Context(), func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"="+client)
		return cmd
	})
	if errors.Is(err, redisd.ErrMissing) {
		require.Missing(t, "redis", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return bed
}

func mustScenario(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	sc, err := scenarios.Lookup(name, harness.Known(catalog.All()))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func mustVersion(t *testing.T, name string) impls.Version {
	t.Helper()
	v, ok := catalog.Lookup(name)
	if !ok {
		t.Fatalf("there is no version %s", name)
	}
	return v
}

// A client that does not keep to its part is a clear error and never a hang.
func TestClientsThatMisbehave(t *testing.T) {
	tests := []struct{ client, says string }{
		{"dies at once", "exit status 3; the last that it wrote to standard error:\nno such module"},
		{"dies in its section", "exit status 4"},
		{"writes garbage", `is no JSON object of the protocol: "I am a lock!"`},
		{"hangs", `has not answered "close" within 10s`},
	}
	sc := mustScenario(t, "crash-no-ttl")
	for _, tt := range tests {
		t.Run(tt.client, func(t *testing.T) {
			t.Parallel()
			out, err := harness.Do(t.Context(), harness.Setup{
				Scenario: sc, Version: mustVersion(t, "lua-release"), Testbed: mustTestbed(t, tt.client), Seed: 1, Scale: 0.05, History: io.Discard,
			})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %+v, %v\nwant an error with %q", out, err, tt.says)
			}
		})
	}
}

// A run says what it was run with, and at which scale, and is judged as any other.
func TestRun(t *testing.T) {
	sc := mustScenario(t, "crash-no-ttl")
	out, err := harness.Do(t.Context(), harness.Setup{
		Scenario: sc, Version: mustVersion(t, "setnx-del"), Testbed: mustTestbed(t, "lockpick"), Seed: 1, Scale: 0.05, History: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := out.History.Header
	if h.Testbed != "local" || h.TimeScale != 0.05 || !strings.Contains(h.Software["redis"], ".") || h.Lock.Wait != sc.Scaled(0.05).Lock.Wait {
		t.Errorf("the header is %+v", h)
	}
	if out.Disturbed {
		t.Skipf("this machine is too busy: %s", out.Undecided)
	}
	for _, r := range out.Results {
		if r.Check == "no-deadlock" && r.Verdict != checker.Violated {
			t.Errorf("%s is %v", r.Check, r.Verdict)
		}
	}
}

// What it cannot do it says before it tries.
func TestRefuses(t *testing.T) {
	bed := mustTestbed(t, "lockpick")
	lock, strategy := mustVersion(t, "lua-release"), mustVersion(t, "lua-decrement")
	single := harness.Need(mustScenario(t, "delete-other"), lock)
	sentinel := harness.Need(mustScenario(t, "failover"), lock)
	without := single
	without.Version = strategy
	tests := []struct {
		name string
		need testbed.Need
		says string
	}{
		{"one node", single, ""},
		{"Sentinels", sentinel, "replicas of one another"},
		{"a strategy", without, "a strategy has no lock"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bed.Refuses(tt.need); !strings.Contains(got, tt.says) || (got == "") != (tt.says == "") {
				t.Errorf("it says %q, want %q", got, tt.says)
			}
		})
	}
}
