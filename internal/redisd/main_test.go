package redisd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/internal/require"
)

// role is the environment variable that makes this program another one, and says
// which.
const role = "LOCKPICK_TEST_REDISD"

// bound is how long a test waits for what should be soon.
const bound = 20 * time.Second

var roles = map[string]func() error{"parent": parent}

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		if err := roles[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func mustProgram(t testing.TB) Program {
	t.Helper()
	p, err := Installed(t.Context())
	if errors.Is(err, ErrMissing) || errors.Is(err, ErrOld) {
		require.Missing(t, "redis", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func needFaketime(t testing.TB) {
	t.Helper()
	if reason := Faketime(); reason != "" {
		require.Missing(t, "faketime", reason)
	}
}

// mustHome makes a home in a directory for temporary files of the test's own, so
// that tests do not see each other's, and sees to it that nothing is left there.
func mustHome(t testing.TB) *Home {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	h, err := NewHome()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if left := filesBelow(t, tmp); len(left) > 0 {
			t.Errorf("these files are left: %q", left)
		}
	})
	return h
}

// filesBelow lists what is in a directory.
func filesBelow(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mustStart starts a server, and sees to it that its process and what that shares
// is gone after the test.
func mustStart(t testing.TB, h *Home, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), mustProgram(t), h, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustLeaveNothing(t, s) })
	return s
}

func mustLeaveNothing(t testing.TB, s *Server) {
	t.Helper()
	pid := pidOf(s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if exists(pid) {
		t.Errorf("process %d still runs", pid)
	}
	if left, err := filepath.Glob(fmt.Sprintf("/dev/shm/*faketime_*_%d", pid)); err != nil || len(left) > 0 {
		t.Errorf("libfaketime has left %q (%v)", left, err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its directory is still there: %v", err)
	}
}

func pidOf(s *Server) int { return s.current().process.PID() }

// exists reports whether there is a process of that number that has not ended.
func exists(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(state), ") Z ")
}

// must fails the test that something went wrong in.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do sends one command over a connection of its own.
func do(t testing.TB, s *Server, args ...string) string {
	t.Helper()
	replies, err := ask(t.Context(), s.Addr(), args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return string(replies[0])
}

func mustDo(t testing.TB, s *Server, want string, args ...string) {
	t.Helper()
	if got := do(t, s, args...); got != want {
		t.Errorf("%q = %q, want %q", args, got, want)
	}
}

// waitFor looks until something is so.
func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so within %v", what, bound)
		}
	}
}

// fake puts a script on the PATH in place of redis-server.
func fake(t testing.TB, script string) Program {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "redis-server")
	must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return Program{Path: file, Version: "7.0.15"}
}

// refused reports whether nobody listens there.
func refused(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

// parent starts servers in a home, tells their numbers and the home's directory,
// and waits to be killed.
func parent() error {
	ctx := context.Background()
	p, err := Installed(ctx)
	if err != nil {
		return err
	}
	h, err := NewHome()
	if err != nil {
		return err
	}
	for i := range 2 {
		s, err := Start(ctx, p, h, Config{Name: "redis-" + strconv.Itoa(i), Persist: true, Clock: Faketime() == ""})
		if err != nil {
			return err
		}
		fmt.Println(pidOf(s))
		if i == 1 {
			if err := s.Pause(); err != nil {
				return err
			}
		}
	}
	fmt.Println(h.Dir())
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// standsStill reports whether every thread of a process has stopped, as it does
// some time after SIGSTOP was sent.
func standsStill(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			return false
		}
		// the state follows the name, which is in brackets and may have some itself
		if i := bytes.LastIndex(text, []byte(") ")); i < 0 || text[i+2] != 'T' {
			return false
		}
	}
	return true
}
