package redisd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

var (
	// ErrMissing means that something is not installed. The error says what, and
	// how to get it.
	ErrMissing = errors.New("is not installed")

	// ErrOld means that a program is older than what is asked of it.
	ErrOld = errors.New("is too old")
)

// oldest is the first version that has all options that servers are started with.
const oldest = "7.0"

// Program is redis-server as it is installed.
type Program struct {
	Path    string
	Version string // such as "7.0.15"
}

var versionWords = regexp.MustCompile(`v=(\d+)\.\S*`)

// Installed finds redis-server on the PATH. The error is ErrMissing, ErrOld, or
// that of a program which does not say its version.
func Installed(ctx context.Context) (Program, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return Program{}, fmt.Errorf("redis-server %w: install Redis %s or newer (Debian: apt-get install redis-server) and have it on the PATH", ErrMissing, oldest)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return Program{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	found := versionWords.FindSubmatch(out)
	if found == nil {
		return Program{}, fmt.Errorf("%s does not say its version but %q", path, out)
	}
	major, _ := strconv.Atoi(string(found[1])) // digits, as the expression says
	version := string(found[0][len("v="):])
	if major < 7 {
		return Program{}, fmt.Errorf("redis-server %s at %s %w: Redis %s or newer is needed", version, path, ErrOld, oldest)
	}
	return Program{path, version}, nil
}

// Faketime finds libfaketime, without which no clock can be moved. The error is
// ErrMissing.
func Faketime() error {
	_, err := preload()
	return err
}

// preload is what LD_PRELOAD must be. glibc's malloc must win over jemalloc, which
// asks for the time while libfaketime is still being loaded, and so hangs.
func preload() (string, error) {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err == nil && len(found) > 0 {
		libc := filepath.Join(filepath.Dir(filepath.Dir(found[0])), "libc.so.6")
		if _, err := os.Stat(libc); err == nil {
			return found[0] + ":" + libc, nil
		}
	}
	return "", fmt.Errorf("libfaketime %w, without which the clock of a server cannot be moved (Debian: apt-get install faketime)", ErrMissing)
}
