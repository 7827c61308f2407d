package redisd

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockpick/internal/child"
)

// What is left of a process that was killed: its servers end, even one that stands
// still, and the next home removes its home and what libfaketime shared.
func TestParentIsKilled(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux ends the servers of a process that was killed")
	}
	mustProgram(t)
	mustHome(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=parent")
	in, out := pipes(t, cmd)
	defer in.Close()
	p, err := child.Start(cmd)
	must(t, err)
	t.Cleanup(func() { _ = p.Kill(); <-p.Ended() })
	must(t, cmd.Stdout.(*os.File).Close())
	lines := bufio.NewScanner(out)
	var told []string
	for len(told) < 3 && lines.Scan() {
		told = append(told, lines.Text())
	}
	if len(told) < 3 {
		t.Fatalf("the process has told %q only", told)
	}
	home := told[2]

	other, err := NewHome() // while it lives its home is its own
	must(t, err)
	must(t, other.Close())
	if _, err := os.Stat(filepath.Join(home, marker)); err != nil {
		t.Fatalf("the home of a process that runs: %v", err)
	}

	must(t, p.Kill()) // its servers are in groups of their own
	<-p.Ended()
	for _, text := range told[:2] {
		pid, err := strconv.Atoi(text)
		must(t, err)
		waitFor(t, "server "+text+" has ended", func() bool { return !exists(pid) })
	}
	waitFor(t, "its home is removed", func() bool {
		h, err := NewHome()
		must(t, err)
		must(t, h.Close())
		_, err = os.Stat(home)
		return errors.Is(err, fs.ErrNotExist)
	})
	for _, text := range told[:2] {
		if left, err := filepath.Glob("/dev/shm/*faketime_*_" + text); err != nil || len(left) > 0 {
			t.Errorf("libfaketime has left %q (%v)", left, err)
		}
	}
}

// pipes gives the program a standard input, and an output that is read here.
func pipes(t *testing.T, cmd *exec.Cmd) (in, out *os.File) {
	t.Helper()
	theirs, in, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _ = theirs.Close() })
	out, to, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _ = out.Close() })
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, to, os.Stderr
	return in, out
}

// Only what is certainly the home of a process that is gone is removed.
func TestAbandonedHomes(t *testing.T) {
	abandoned := func(t *testing.T, dir string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Join(dir, "redis-1", "data"), 0o700))
		f, err := mark(dir)
		must(t, err)
		must(t, f.Close())
	}
	for _, tt := range []struct {
		name, dir string
		make      func(t *testing.T, dir string)
		removed   bool
	}{
		{"a home whose process is gone", "lockpick-123-456", abandoned, true},
		{"one whose number somebody else has", "lockpick-" + strconv.Itoa(os.Getppid()) + "-456", abandoned, true},
		{"one that is still locked", "lockpick-123-456", func(t *testing.T, dir string) {
			abandoned(t, dir)
			f, err := os.OpenFile(filepath.Join(dir, marker), os.O_WRONLY, 0)
			must(t, err)
			must(t, lockFile(f))
			t.Cleanup(func() { _ = f.Close() })
		}, false},
		{"one in which a process still runs", "lockpick-123-456", func(t *testing.T, dir string) {
			abandoned(t, dir)
			cmd := exec.Command("sleep", "1000")
			cmd.Dir = filepath.Join(dir, "redis-1", "data")
			p, err := child.Start(cmd)
			must(t, err)
			t.Cleanup(func() { _ = p.Kill(); <-p.Ended() })
			must(t, os.WriteFile(filepath.Join(dir, "redis-1", pidFile), []byte(strconv.Itoa(p.PID())), 0o600))
		}, false},
		{"one whose server's number somebody else has", "lockpick-123-456", func(t *testing.T, dir string) {
			abandoned(t, dir)
			must(t, os.WriteFile(filepath.Join(dir, "redis-1", pidFile), []byte(strconv.Itoa(os.Getpid())), 0o600))
		}, true},
		{"a directory without a marker", "lockpick-123-456", func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700)) }, false},
		{"one with another name", "lockpick-keep-456", abandoned, false},
		{"one with a longer name", "my-lockpick-123-456", abandoned, false},
		{"a file", "lockpick-123-456", func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) }, false},
		{"a link to one", "lockpick-123-456", func(t *testing.T, dir string) {
			to := filepath.Join(t.TempDir(), "lockpick-123-457")
			abandoned(t, to)
			must(t, os.Symlink(to, dir))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			dir := filepath.Join(tmp, tt.dir)
			tt.make(t, dir)
			before := filesBelow(t, dir)
			h, err := NewHome()
			must(t, err)
			must(t, h.Close())
			if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) != tt.removed {
				t.Fatalf("afterwards: %v", err)
			}
			if !tt.removed {
				if after := filesBelow(t, dir); len(after) != len(before) {
					t.Errorf("of %q there are only %q left", before, after)
				}
			}
		})
	}
}

// A home of somebody else stays, even where root could remove it.
func TestHomeOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := filepath.Join(tmp, "lockpick-123-456")
	must(t, os.Mkdir(dir, 0o700))
	f, err := mark(dir)
	must(t, err)
	must(t, f.Close())
	must(t, os.Chown(dir, 12345, -1))
	h, err := NewHome()
	must(t, err)
	must(t, h.Close())
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestNoHome(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := NewHome(); err == nil || !strings.HasPrefix(err.Error(), "redisd: make a home: ") {
		t.Errorf("NewHome: %v", err)
	}
}
