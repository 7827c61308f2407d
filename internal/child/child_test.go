//go:build unix

package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role is the environment variable that makes this program another one, and says
// which.
const role = "LOCKPICK_TEST_CHILD"

var roles = map[string]func(){
	"echoes": func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"fails":  func() { os.Exit(7) },
	"waits":  func() { _, _ = io.Copy(io.Discard, os.Stdin); select {} },
	// starts one that waits, tells its number, and waits
	"parent": func() {
		p, err := Start(program("waits"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		select {}
	},
}

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		roles[name]()
		return
	}
	os.Exit(m.Run())
}

func program(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+name)
	return cmd
}

func mustStart(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		<-p.Ended()
	})
	return p
}

// mustEnd waits until the program has ended.
func mustEnd(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Ended():
	case <-time.After(10 * time.Second):
		t.Fatal("it has not ended within 10 s")
	}
}

func TestEnding(t *testing.T) {
	for _, tt := range []struct {
		name, role string
		end        func(*Process) error
		want       string
	}{
		{"by itself", "fails", func(*Process) error { return nil }, "exit status 7"},
		{"killed", "waits", (*Process).Kill, "signal: killed"},
		{"terminated", "waits", (*Process).Terminate, "signal: terminated"},
		{"killed while it stands still", "waits", func(p *Process) error { return errors.Join(p.Pause(), p.Kill()) }, "signal: killed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := mustStart(t, program(tt.role))
			if err := tt.end(p); err != nil {
				t.Fatal(err)
			}
			mustEnd(t, p)
			if err := p.Err(); err == nil || err.Error() != tt.want {
				t.Errorf("it ended with %v, want %s", err, tt.want)
			}
			// nobody is left to be told
			if err := errors.Join(p.Pause(), p.Resume(), p.Terminate(), p.Kill()); err != nil {
				t.Errorf("signals to a program that has ended: %v", err)
			}
		})
	}
}

func TestNoSuchProgram(t *testing.T) {
	if _, err := Start(exec.Command("lockpick-no-such-program")); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Start: %v, want %v", err, exec.ErrNotFound)
	}
}

func TestPause(t *testing.T) {
	cmd := program("echoes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = theirs
	p := mustStart(t, cmd)
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	say := func(word string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, word); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	if got := <-lines; got != "one" {
		t.Fatalf("it echoes %q", got)
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		if got := state(t, p.PID()); !strings.HasPrefix(got, "T") {
			t.Errorf("after Pause it is in state %s", got)
		}
	}
	say("two")
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := <-lines; got != "two" {
		t.Errorf("it echoes %q after the pause", got)
	}
}

// A program does not outlive the one that started it, even one that is killed.
func TestParentIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills a program whose parent was killed")
	}
	cmd := program("parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := mustStart(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if got := state(t, pid); got == "" {
		t.Fatal("the grandchild does not run")
	}
	if err := syscall.Kill(parent.PID(), syscall.SIGKILL); err != nil { // alone, not its group
		t.Fatal(err)
	}
	waitFor(t, func() bool { s := state(t, pid); return s == "" || strings.HasPrefix(s, "Z") })
}

// state is the state of a process as the kernel tells it, "" when there is none.
func state(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if _, none := os.Stat("/proc/self"); none != nil {
			t.Skip("there is no /proc")
		}
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest
}

// waitFor looks until something is so.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("it was not so within 10 s")
		}
	}
}
