package redisd

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// failover is a primary, a replica and three Sentinels that know each other.
type failover struct {
	primary, replica *Server
	sentinels        []*Server
}

func mustFailover(t *testing.T) failover {
	t.Helper()
	h, p := mustHome(t), mustProgram(t)
	var f failover
	f.primary = mustStart(t, h, Config{Name: "redis-1"})
	f.replica = mustStart(t, h, Config{Name: "redis-2", Options: append([]string{"--replicaof"}, strings.Split(f.primary.Addr(), ":")...)})
	waitFor(t, "the replica is linked", func() bool {
		return strings.Contains(do(t, f.replica, "INFO", "replication"), "master_link_status:up")
	})
	for i := range 3 {
		s, err := StartSentinel(t.Context(), p, h, SentinelConfig{
			Name: fmt.Sprint("sentinel-", i+1), Master: "mymaster", Primary: f.primary.Addr(),
			Quorum: 2, DownAfter: 500 * time.Millisecond, FailoverTimeout: 2 * time.Second,
		})
		must(t, err)
		t.Cleanup(func() { mustLeaveNothing(t, s) })
		f.sentinels = append(f.sentinels, s)
	}
	begun := time.Now()
	waitFor(t, "every Sentinel knows the others", func() bool {
		for _, s := range f.sentinels {
			all := do(t, s, "SENTINEL", "MASTER", "mymaster")
			if !strings.Contains(all, "num-slaves\r\n$1\r\n1\r\n") || !strings.Contains(all, "num-other-sentinels\r\n$1\r\n2\r\n") || !strings.Contains(all, "flags\r\n$6\r\nmaster\r\n") {
				return false
			}
		}
		return true
	})
	t.Logf("they know each other after %v", time.Since(begun))
	return f
}

// says reports whether the reply to a command has the text. A server that a Sentinel
// gives another role breaks its connections, so no reply is no.
func says(t *testing.T, s *Server, text string, args ...string) bool {
	t.Helper()
	replies, err := ask(t.Context(), s.Addr(), args)
	return err == nil && strings.Contains(string(replies[0]), text)
}

func isPrimary(t *testing.T, s *Server) bool {
	t.Helper()
	return says(t, s, "$6\r\nmaster\r\n", "ROLE")
}

// isReplicaOf reports whether s follows the primary.
func isReplicaOf(t *testing.T, s, primary *Server) bool {
	t.Helper()
	return says(t, s, "\r\n:"+portOf(primary)+"\r\n$9\r\nconnected\r\n", "ROLE")
}

// names reports whether a Sentinel calls the server the primary.
func names(t *testing.T, sentinel, s *Server) bool {
	t.Helper()
	return says(t, sentinel, "\r\n"+portOf(s)+"\r\n", "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
}

func portOf(s *Server) string {
	_, port, _ := strings.Cut(s.Addr(), ":")
	return port
}

// mustPromote waits until every Sentinel has heard that the replica was promoted:
// before that the failover can still be given up.
func (f failover) mustPromote(t *testing.T) {
	t.Helper()
	begun := time.Now()
	waitFor(t, "the replica is the primary", func() bool { return isPrimary(t, f.replica) })
	promoted := time.Since(begun)
	for _, s := range f.sentinels {
		waitFor(t, s.Name()+" names it", func() bool { return names(t, s, f.replica) })
	}
	t.Logf("the replica is the primary after %v, and all know after %v", promoted, time.Since(begun))
}

func TestFailover(t *testing.T) {
	f := mustFailover(t)
	mustDo(t, f.primary, "+OK\r\n", "SET", "k", "v")
	waitFor(t, "the replica has the key", func() bool { return do(t, f.replica, "GET", "k") == "$1\r\nv\r\n" })
	must(t, f.primary.Stop(0))
	f.mustPromote(t)
	mustDo(t, f.replica, "$1\r\nv\r\n", "GET", "k")

	must(t, f.primary.Start(t.Context()))
	waitFor(t, "the old primary is a replica", func() bool { return isReplicaOf(t, f.primary, f.replica) })

	// everybody remembers what has become of whom
	must(t, f.sentinels[0].Stop(time.Hour))
	must(t, f.sentinels[0].Start(t.Context()))
	if !names(t, f.sentinels[0], f.replica) {
		t.Error("a Sentinel has forgotten the new primary over a restart")
	}
	must(t, f.replica.Stop(0))
	must(t, f.replica.Start(t.Context()))
	if !isPrimary(t, f.replica) {
		t.Error("the new primary is a replica after a restart")
	}
}

func TestFailoverOfAPausedPrimary(t *testing.T) {
	f := mustFailover(t)
	must(t, f.primary.Pause())
	f.mustPromote(t)
	begun := time.Now()
	must(t, f.primary.Resume())
	waitFor(t, "the old primary is a replica", func() bool { return isReplicaOf(t, f.primary, f.replica) })
	t.Logf("the old primary is a replica after %v", time.Since(begun))
}

func TestSentinelConfigsThatAreWrong(t *testing.T) {
	good := SentinelConfig{Name: "sentinel-1", Master: "mymaster", Primary: "127.0.0.1:1", Quorum: 2, DownAfter: time.Second, FailoverTimeout: time.Second}
	for _, tt := range []struct {
		name string
		harm func(*SentinelConfig)
	}{
		{"no name", func(c *SentinelConfig) { c.Name = "" }},
		{"no primary", func(c *SentinelConfig) { c.Primary = "" }},
		{"no name for the primary", func(c *SentinelConfig) { c.Master = "" }},
		{"no quorum", func(c *SentinelConfig) { c.Quorum = 0 }},
		{"no time", func(c *SentinelConfig) { c.DownAfter = time.Microsecond }},
		{"no time for a failover", func(c *SentinelConfig) { c.FailoverTimeout = 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			tt.harm(&c)
			if _, err := StartSentinel(t.Context(), Program{}, mustHome(t), c); err == nil || !strings.HasPrefix(err.Error(), "redisd: start ") {
				t.Errorf("StartSentinel: %v", err)
			}
		})
	}
}
