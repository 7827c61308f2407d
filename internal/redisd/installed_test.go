package redisd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestInstalled(t *testing.T) {
	p := mustProgram(t)
	if !p.atLeast(7, 0) || !strings.HasPrefix(p.Path, "/") {
		t.Errorf("redis-server is %+v", p)
	}
}

func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Installed(t.Context()); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("Installed: %v, want %v", err, ErrMissing)
	}
}

func TestVersions(t *testing.T) {
	const build = " sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=0"
	for _, tt := range []struct {
		name, said string
		version    string // "" for an error
		want       string // in the error
	}{
		{"Debian 12", "Redis server v=7.0.15" + build, "7.0.15", ""},
		{"the oldest that does", "Redis server v=7.0.0" + build, "7.0.0", ""},
		{"one of today", "Redis server v=8.2.1" + build, "8.2.1", ""},
		{"two digits", "Redis server v=10.0.1" + build, "10.0.1", ""},
		{"a fork", "Valkey server v=8.0.1" + build, "8.0.1", ""},
		{"built from the source", "Redis server v=255.255.255" + build, "255.255.255", ""},
		{"Debian 11", "Redis server v=6.2.16" + build, "", "6.2.16"},
		{"an old one", "Redis server v=5.0.14" + build, "", "apt-get install redis-server"},
		{"something else", "hello", "", `it says "hello`},
		{"nothing", "", "", "names no version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake(t, "echo '"+tt.said+"'")
			p, err := Installed(t.Context())
			if tt.version != "" {
				if err != nil || p.Version != tt.version {
					t.Errorf("Installed = %+v, %v; want %s", p, err, tt.version)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Installed: %v, want %q", err, tt.want)
			}
			if old := strings.Contains(tt.said, "v="); errors.Is(err, ErrOld) != old {
				t.Errorf("Installed: %v, which is ErrOld: %t", err, !old)
			}
		})
	}
}

func TestVersionIsNeverTold(t *testing.T) {
	fake(t, "sleep 1000 & wait")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Installed(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Installed: %v, want %v", err, context.DeadlineExceeded)
	}
}
