package redisd

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// settings are the lines of a configuration file: a name and its values each.
type settings [][]string

// onLoopback are the settings that servers and Sentinels have in common. They log
// to standard output, which is a file in their directory: so does what they say
// before they have read their settings, and what the loader says.
func onLoopback(port int, dir string) settings {
	return settings{
		{"bind", "127.0.0.1"},
		{"port", strconv.Itoa(port)},
		{"protected-mode", "no"},
		{"daemonize", "no"},
		{"dir", dir},
		{"logfile", ""},
	}
}

// ofServer are the settings of a server. It never rewrites its append-only file
// by itself, whose end can then be cut off.
func ofServer(c Config) (settings, error) {
	all := settings{
		{"databases", "16"},
		{"save", ""},
		{"repl-diskless-sync", "yes"},
		{"repl-diskless-sync-delay", "0"}, // else a replica waits 5 s for others to come
	}
	if c.Persist {
		all = append(all, settings{
			{"appendonly", "yes"},
			{"appendfsync", "always"}, // else a slow disk puts off the write until after the reply
			{"aof-use-rdb-preamble", "no"},
			{"aof-load-truncated", "yes"},
			{"auto-aof-rewrite-percentage", "0"},
		}...)
	}
	further, err := parseOptions(c.Options)
	return append(all, further...), err
}

// parseOptions takes settings as the command line has them.
func parseOptions(options []string) (settings, error) {
	var all settings
	for _, o := range options {
		if name, ok := strings.CutPrefix(o, "--"); ok && name != "" {
			all = append(all, []string{name})
		} else if len(all) == 0 {
			return nil, fmt.Errorf("the options begin with %q, which is no name of a setting, such as --maxmemory", o)
		} else {
			all[len(all)-1] = append(all[len(all)-1], o)
		}
	}
	return all, nil
}

// ofSentinel are the settings of a Sentinel.
func ofSentinel(c SentinelConfig) (settings, error) {
	host, port, err := net.SplitHostPort(c.Primary)
	switch {
	case err != nil:
		return nil, err
	case c.Master == "":
		return nil, fmt.Errorf("it has no name for the primary")
	case c.Quorum < 1:
		return nil, fmt.Errorf("its quorum is %d", c.Quorum)
	case c.DownAfter < time.Millisecond, c.FailoverTimeout < time.Millisecond:
		return nil, fmt.Errorf("it waits %v and %v, and a Sentinel counts in milliseconds", c.DownAfter, c.FailoverTimeout)
	}
	return settings{
		{"sentinel", "monitor", c.Master, host, port, strconv.Itoa(c.Quorum)},
		{"sentinel", "down-after-milliseconds", c.Master, milliseconds(c.DownAfter)},
		{"sentinel", "failover-timeout", c.Master, milliseconds(c.FailoverTimeout)},
		{"sentinel", "parallel-syncs", c.Master, "5"}, // replicas that turn to the new primary at once
	}, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// String is the text of the file. Redis reads quoted values as Go writes them, but
// for escapes of characters that no setting has.
func (all settings) String() string {
	var b strings.Builder
	for _, line := range all {
		b.WriteString(line[0])
		for _, value := range line[1:] {
			b.WriteByte(' ')
			b.WriteString(strconv.Quote(value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
