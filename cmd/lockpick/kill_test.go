package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
)

// background is a command that was started in the tests' own process group.
type background struct {
	*exec.Cmd
	stderr bytes.Buffer
}

// mustStart starts lockpick in dir and returns when it has written histories.
func mustStart(t *testing.T, dir string, args ...string) *background {
	t.Helper()
	b := &background{Cmd: exec.Command("lockpick", append(args, "--out", filepath.Join(dir, "runs"))...)}
	b.Stderr = &b.stderr
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Process.Kill() }) // it has ended unless the test failed
	for deadline := time.Now().Add(time.Minute); len(written(t, dir)) < 5; {
		if time.Now().After(deadline) {
			t.Fatalf("no histories after a minute; %s", &b.stderr)
		}
		<-time.After(10 * time.Millisecond) // the process lives in real time, and has no other sign
	}
	return b
}

// mustEnd waits for the end of the command, within a bound.
func (b *background) mustEnd(t *testing.T) (code int) {
	t.Helper()
	guard := time.AfterFunc(2*time.Minute, func() { _ = b.Process.Kill() })
	defer guard.Stop()
	var exit *exec.ExitError
	if err := b.Wait(); !errors.As(err, &exit) {
		t.Fatalf("it ended with %v before it was stopped", err)
	}
	return exit.ExitCode()
}

func written(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "runs", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// complete reports whether a history is whole, in its own reading of the file.
func complete(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := history.Decode(f)
	return err == nil && h.Complete
}

// What a killed matrix leaves can be judged: what is whole by its content, what
// is cut is said to be cut, and nothing passes for more than it is.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	b := mustStart(t, dir, "matrix")
	if err := b.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.mustEnd(t)
	if _, err := os.Stat(filepath.Join(dir, "runs", "summary.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a matrix that was killed has a summary: %v", err)
	}
	whole := 0
	for _, path := range written(t, dir) {
		out, err := exec.Command("lockpick", "check", path, "--brief").CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		cut := bytes.Contains(out, []byte("cut short")) || bytes.Contains(out, []byte("the file is empty"))
		switch is := complete(t, path); {
		case is && cut, !is && !cut:
			t.Errorf("%s is complete: %v, but check says\n%s", path, is, out)
		case is:
			whole++
		case err == nil:
			t.Errorf("%s is cut short and exits 0:\n%s", path, out)
		}
	}
	if whole == 0 {
		t.Errorf("none of %v is complete", written(t, dir))
	}
}

// An interrupt ends a matrix with the runs that are under way; whatever it
// leaves is whole.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	b := mustStart(t, dir, "matrix")
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := b.mustEnd(t); code != statusFailed {
		t.Errorf("exit status %d, want %d", code, statusFailed)
	}
	if got := b.stderr.String(); !strings.Contains(got, "lockpick: interrupted after ") || !strings.Contains(got, " runs; their histories are in "+dir) {
		t.Errorf("it said %q", got)
	}
	for _, path := range written(t, dir) {
		if !complete(t, path) {
			t.Errorf("%s is cut short", path)
		}
	}
}
