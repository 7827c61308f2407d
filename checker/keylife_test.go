package checker

import (
	"testing"
	"time"
)

func TestKeyLives(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // of the first life
		expiry     time.Duration
	}{
		{"granted and deleted by its client", "redis-1 granted 1s a of client-1 ttl=30s\nredis-1 deleted 2s a of client-1",
			"client-1 deleted the key at 2s", 2 * time.Second},
		{"deleted by another", "redis-1 granted 1s a of client-1 ttl=30s\nredis-1 deleted 2s a of client-1 by client-2",
			"client-2 deleted the key at 2s", 2 * time.Second},
		{"expired in time", "redis-1 granted 1s a of client-1 ttl=30s\nredis-1 expired 31s a of client-1",
			"the key expired at 31s", 31 * time.Second},
		{"renewed, then expired", "redis-1 granted 1s a of client-1 ttl=30s\nredis-1 renewed 20s a of client-1 ttl=30s\nredis-1 expired 50s a of client-1",
			"the key expired at 50s", 50 * time.Second},
		{"expired early", "redis-1 granted 1s a of client-1 ttl=30s\nworld clock 2s.. redis-1 by 1m0s\nredis-1 expired 2s a of client-1",
			"the key expired at 2s, 29s early (clock of redis-1 by 1m0s at 2s)", 2 * time.Second},
		{"replaced", "redis-1 granted 1s a of client-1 ttl=30s\nredis-1 replaced 2s b of client-2 was=a by client-2",
			"client-2 replaced the key's value at 2s", 2 * time.Second},
		{"granted anew without an end", "redis-1 granted 1s a of client-1 ttl=30s\nredis-1 granted 2s b of client-2",
			"redis-1 had lost the key by 2s", 2 * time.Second},
		{"lost with the node's data", "redis-1 granted 1s a of client-1 ttl=30s\nworld stop 2s.. redis-1 with its data\nredis-1 deleted 2s a of client-1 text=lost",
			"redis-1 had lost the key by 2s (stop of redis-1 with its data at 2s)", 2 * time.Second},
		{"never ended, shortened", "redis-1 granted 1s a of client-1 ttl=none\nredis-1 shortened 2s a of client-1 ttl=5s",
			"the key lived on", 7 * time.Second},
		{"it came unseen", "redis-1 renewed 1s a of client-1 ttl=5s",
			"the key lived on", 6 * time.Second},
		{"another key does not count", "redis-1 granted 1s 7 of client-2 key=fence\nredis-1 granted 2s a of client-1 ttl=3s\nredis-1 deleted 3s 7 of client-2 key=fence",
			"the key lived on", 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ix := newIndex(mustTell(t, tt.text+"\nend 100s").h)
			lives := ix.keys().lives
			if len(lives) == 0 {
				t.Fatal("no life")
			}
			if got := ix.story(lives[0]); got != tt.want {
				t.Errorf("it is told as %q, want %q", got, tt.want)
			}
			if got := lives[0].expiryAt(90 * time.Second); got != tt.expiry {
				t.Errorf("it ends at %v, want %v", got, tt.expiry)
			}
		})
	}
}
