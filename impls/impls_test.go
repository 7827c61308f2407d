package impls_test

import (
	"testing"
	"time"

	"lockpick/impls"
)

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		name string
		cfg  impls.Config
		ok   bool
	}{
		{"the documents' example", impls.Config{Key: "lock:order:123", TTL: 30 * time.Second, Wait: time.Minute}, true},
		{"no wait is one attempt", impls.Config{Key: "k", TTL: time.Second}, true},
		{"the finest step", impls.Config{Key: "k", TTL: time.Millisecond}, true},
		{"no key", impls.Config{TTL: time.Second}, false},
		{"no TTL", impls.Config{Key: "k"}, false},
		{"a TTL that Redis cannot express", impls.Config{Key: "k", TTL: time.Millisecond - 1}, false},
		{"a negative TTL", impls.Config{Key: "k", TTL: -time.Second}, false},
		{"a negative wait", impls.Config{Key: "k", TTL: time.Second, Wait: -1}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.cfg.Validate(); (err == nil) != tt.ok {
				t.Errorf("Validate() = %v, want ok: %v", err, tt.ok)
			}
		})
	}
}
