package checker

import (
	"fmt"
	"strings"
	"testing"
)

// What an operator watches is on every run, under names that stay.
func TestFigures(t *testing.T) {
	tests := []struct {
		name, text string
		want       string
	}{
		{"a run of two clients", `
			lock ttl=30s
			topology quorum=1 redis-1 redis-2
			client-1 acquire 0s..2s ok a
			redis-1 command 1s EVALSHA s by client-1 sent=0.5s reply=(error) NOSCRIPT
			redis-1 command 1.5s EVAL s by client-1 sent=1.2s reply=1
			redis-1 granted 1.5s a of client-1 ttl=30s
			redis-1 command 10s EVALSHA s by client-1 sent=9s reply=1
			redis-1 renewed 10s a of client-1 ttl=30s
			redis-1 command 12s EVALSHA s by client-1 sent=11s reply=0
			client-1 extend 13s..14s fail a
			client-1 release 22s..23s unknown a
			redis-1 deleted 22.5s a of client-1
			client-2 acquire 1s..5s fail
			client-2 acquire 30s..34s ok b round=2
			redis-2 granted 33s b of client-2 ttl=30s
			client-2 acquire 35s..36s fail depth=2 round=2
			client-2 release 44s..45s fail b round=2
			redis-1 load 50s connections=3 subscriptions=1
			redis-2 load 50s connections=5
			world quiet 50s
			probe acquire 60s..61s ok p
			redis-1 command 60.5s EVALSHA s by probe sent=60s
			end 90s`,
			"grants 2, grants per second 0.04, hold time, mean 15s, hold time, p99 20s, TTL 30s, wait time, mean 3.333s, " +
				"wait time, p99 4s, gave up 33.333%, releases refused 1, releases unknown 1, renewals 1, renewals failed 2, " +
				"commands per acquire 2, scripts per second 0.06, connections, most 5, subscriptions, most 1"},
		{"no node was observed", `
			client-1 acquire 0s..1s ok a
			client-1 release 3s..4s ok a
			end 4s`,
			"grants 1, grants per second 0.25, hold time, mean 2s, hold time, p99 2s, wait time, mean 1s, wait time, p99 1s, " +
				"gave up 0%, releases refused 0, releases unknown 0"},
		{"changes without a lock", `
			resource stock 5
			client-1 change 0s..1s ok -1
			redis-1 command 0.5s EVAL s by client-1 sent=0s reply=4
			end 4s`,
			"changes 1, changes per second 0.25, renewals 0, renewals failed 0, scripts per second 0.25"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range footprint().Judge(mustTell(t, tt.text).h).Figures {
				value := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", f.Value), "0"), ".")
				got = append(got, f.Name+" "+value+f.Unit)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("\ngot  %s\nwant %s", strings.Join(got, ", "), tt.want)
			}
		})
	}
}
