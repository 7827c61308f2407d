package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lockpick/internal/redisd"
	"lockpick/internal/require"
)

// needRedis ends the test where there is no redis-server.
func needRedis(t *testing.T) {
	t.Helper()
	if noRedis(t) {
		require.Missing(t, "redis", "there is no redis-server on the PATH")
	}
}

// noRedis reports whether there is no redis-server and there need not be one.
func noRedis(t *testing.T) bool {
	t.Helper()
	_, err := redisd.Installed(t.Context())
	if err != nil && (!errors.Is(err, redisd.ErrMissing) || require.Required("redis")) {
		t.Fatal(err)
	}
	return err != nil
}

// What the command line does with real servers.
func TestLocalScript(t *testing.T) {
	needRedis(t)
	t.Parallel() // as all here, it waits most of the time
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/local",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  status4script,
			"summary": summary4script,
		},
		Setup: func(e *testscript.Env) error {
			self, err := exec.LookPath("lockpick")
			e.Setenv("NOREDIS", filepath.Dir(self))
			return err
		},
	})
}

// A part of the catalogue that has every kind of fault, trigger and wait comes out
// on real servers as it does in the simulator.
func TestLocalAgrees(t *testing.T) {
	needRedis(t)
	if raceEnabled {
		t.Skip("takes a minute and a half, and the scripts run the same code with the race detector")
	}
	t.Parallel()
	out, err := exec.Command("lockpick", "agree",
		"delete-other", "crash-between", "gc-pause-tells", "get-del-window", "release-cancelled", "retry-after-lost-reply",
		"restart-empty", "clock-jump-single", "key-evicted", "scripts-forgotten", "busy-script", "redlock-restart",
		"--impl", "setnx-expire,lua-release,watchdog,redlock", "--out", t.TempDir()).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// children lists the processes that a process has started and that run.
func children(t *testing.T, pid int) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, file := range files {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if state, parent := standing(child); err == nil && parent == pid && state != "Z" {
			found = append(found, child)
		}
	}
	return found
}

// standing is the state of a process and the number of its parent, "" and 0 when
// there is no such process.
func standing(pid int) (state string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	parent, _ = strconv.Atoi(fields[1]) // the kernel writes a number
	return fields[0], parent
}

// homes lists what servers have left in a directory for temporary files.
func homes(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "lockpick-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Whatever ends lockpick, no server and no client is left, and no directory that
// the next run does not take away.
func TestNothingIsLeft(t *testing.T) {
	needRedis(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends what a process that is killed has started")
	}
	t.Parallel()
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		homes  int // at most, until the next run
	}{
		{"interrupted", syscall.SIGINT, 0},
		{"terminated", syscall.SIGTERM, 0},
		{"killed", syscall.SIGKILL, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command("lockpick", "matrix", "gc-pause", "redlock-restart", "--testbed", "local", "--jobs", "4", "--out", filepath.Join(dir, "runs"))
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }() // it has ended unless the test failed
			pid := cmd.Process.Pid
			var started []int
			eventually(t, "servers and clients run", func() bool {
				started = children(t, pid)
				return len(started) > 6
			})
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
			for _, child := range started {
				eventually(t, "a server or a client ends", func() bool {
					state, _ := standing(child)
					return state == "" || state == "Z"
				})
			}
			if got := homes(t, dir); len(got) > tt.homes {
				t.Errorf("left are %q", got)
			}
			next := exec.Command("lockpick", "run", "crash-no-ttl", "--impl", "setnx-del", "--testbed", "local", "--out", filepath.Join(dir, "next"))
			next.Env = cmd.Env
			if out, err := next.CombinedOutput(); err != nil {
				t.Errorf("the next run: %v\n%s", err, out)
			}
			if got := homes(t, dir); len(got) > 0 {
				t.Errorf("after the next run left are %q", got)
			}
		})
	}
}

// eventually waits until it is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}
