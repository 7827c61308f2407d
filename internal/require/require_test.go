package require_test

import (
	"testing"

	"lockpick/internal/require"
)

// probe is a test that notes how it ended.
type probe struct {
	testing.TB
	skipped, failed bool
}

func (p *probe) Helper()               {}
func (p *probe) Skipf(string, ...any)  { p.skipped = true }
func (p *probe) Fatalf(string, ...any) { p.failed = true }

func TestMissing(t *testing.T) {
	for _, tt := range []struct {
		name, variable string
		fails          bool
	}{
		{"nothing is required", "", false},
		{"something else is required", "faketime,redistribution", false},
		{"it is required", "redis", true},
		{"it is one of several", "faketime, redis", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(require.Variable, tt.variable)
			p := &probe{TB: t}
			require.Missing(p, "redis", "there is no redis-server")
			if p.failed == p.skipped || p.failed && !tt.fails || p.skipped && tt.fails {
				t.Errorf("failed: %t, skipped: %t", p.failed, p.skipped)
			}
		})
	}
}
