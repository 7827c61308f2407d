package redisd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// marker is the file that makes a directory a home. It is locked for as long as
// the process lives whose home it is.
const marker = "home-of-lockpick"

var homePattern = regexp.MustCompile(`^lockpick-[0-9]+-[0-9A-Za-z]+$`)

// Home is the directory of one run, with everything that its servers keep. It is
// safe for concurrent use.
type Home struct {
	dir  string
	lock *os.File

	mu      sync.Mutex
	servers []*Server
	closed  bool

	once   sync.Once
	closes error
}

// NewHome makes a home in the directory for temporary files. It also removes homes
// that a process left there which was killed: of this user, with the name and the
// marker of a home, and with nobody who holds the marker's lock. That a lock is
// free is sure where a process number is not, which may be somebody else's by now
// or one of another container.
func NewHome() (*Home, error) {
	tmp, err := filepath.Abs(os.TempDir())
	if err == nil {
		tmp, err = filepath.EvalSymlinks(tmp) // as the kernel names what is in it
	}
	if err != nil {
		return nil, fmt.Errorf("redisd: make a home: %w", err)
	}
	removeAbandoned(tmp)
	dir, err := os.MkdirTemp(tmp, fmt.Sprintf("lockpick-%d-", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("redisd: make a home: %w", err)
	}
	lock, err := mark(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redisd: make a home: %w", err), os.RemoveAll(dir))
	}
	return &Home{dir: dir, lock: lock}, nil
}

// mark puts the marker into a new home. It is there at one stroke and locked, so
// that another process never sees one that it could take.
func mark(dir string) (*os.File, error) {
	name := filepath.Join(dir, marker)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lockFile(f); err == nil || errors.Is(err, errors.ErrUnsupported) { // then nobody takes it either
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeAbandoned removes the homes of processes that are gone. What it cannot
// remove it leaves to the next one: that is no reason not to run.
func removeAbandoned(tmp string) {
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && homePattern.MatchString(e.Name()) && isMine(info) {
			_ = removeIfAbandoned(filepath.Join(tmp, e.Name()))
		}
	}
}

func removeIfAbandoned(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, marker), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lockFile(f); err != nil {
		return err
	}
	servers, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, s := range servers {
		pid, err := readPID(filepath.Join(dir, s.Name(), pidFile))
		if err != nil {
			continue // the marker, or one that did not run
		}
		if runsIn(pid, dir) {
			return fmt.Errorf("redisd: process %d still runs in %s", pid, dir)
		}
		removeShared(pid)
	}
	return removeHome(dir)
}

func readPID(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// removeHome removes a home, its marker last: what is left half way through is
// still a home.
func removeHome(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != marker {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}

// add takes in a server and makes its directory.
func (h *Home) add(s *Server) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	if err := os.Mkdir(s.dir, 0o700); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is a %s in this home already", s.name)
	} else if err != nil {
		return err
	}
	h.servers = append(h.servers, s)
	return nil
}

// forget lets go of a server, and reports whether it had been taken in.
func (h *Home) forget(s *Server) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.servers, s)
	if i < 0 {
		return false
	}
	h.servers = slices.Delete(h.servers, i, i+1)
	return true
}

// Dir is the home's directory.
func (h *Home) Dir() string { return h.dir }

// Close ends the servers that are in it and removes it. Closing it again does
// nothing.
func (h *Home) Close() error {
	h.once.Do(func() { h.closes = h.clear() })
	return h.closes
}

func (h *Home) clear() error {
	h.mu.Lock()
	servers := slices.Clone(h.servers)
	h.closed = true
	h.mu.Unlock()
	var all error
	for _, s := range servers {
		all = errors.Join(all, s.Close())
	}
	if err := errors.Join(removeHome(h.dir), h.lock.Close()); err != nil {
		all = errors.Join(all, fmt.Errorf("redisd: remove a home: %w", err))
	}
	return all
}
