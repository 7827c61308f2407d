package scenarios

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lockpick/internal/nearest"
)

//go:embed catalog/*.yaml
var files embed.FS

const (
	catalogDir = "catalog"
	extension  = ".yaml"
)

// order is that of the documents: from the lock that never expires to what no
// lease survives, then waiting, nesting, several servers, and what needs no lock.
// Scenarios that it does not name come after, by name.
var order = []string{
	"crash-no-ttl", "janitor-reaps-the-living", "crash-between", "pause-between", "expire-lost",
	"delete-other", "get-del-window", "same-value", "serializer-mismatch", "swapped-arguments",
	"work-outlives-lease", "lease-given-no-watchdog", "lease-too-long",
	"renew-other", "renewal-dies", "renewal-after-release", "renewal-cut-off", "renewal-lost-then-again",
	"busy-script", "renewal-oom", "late-renewals", "batched-renewal", "work-never-ends", "extend-on-request", "extend-expired", "extend-after-gap",
	"gc-pause", "gc-pause-tells", "gc-pause-late", "fence-stops-stale", "fence-ignored",
	"clock-jump-single", "clock-jump-back", "clock-stands-still", "wall-clock-wait",
	"release-zero", "unlock-throws", "release-cancelled", "cancelled-while-holding", "release-refused", "retry-meets-own-key", "scripts-forgotten",
	"self-deadlock", "reentrant-unbalanced", "reentrant-resent",
	"spin-storm", "subscriber-storm", "subscription-pool", "lost-wakeup", "message-before-subscription", "holder-dies-waiters-subscribed",
	"global-lock", "lock-per-order", "local-lock-stays",
	"lock-forever", "wait-longer-than-ttl", "wait-is-over", "fair-queue", "fair-dead-waiter",
	"readers-and-writer", "reader-dies", "multi-cancelled", "multi-evicted",
	"single-down", "key-evicted", "restart-empty", "restart-last-second",
	"failover", "failover-in-time", "failover-most-advanced", "failover-wait", "failover-wait-refused", "failover-fence",
	"split-brain", "split-brain-min-replicas", "paused-primary", "clock-drift-replica",
	"redlock-minority-down", "redlock-slow-nodes", "redlock-partial-leftover", "redlock-late-grant", "redlock-partitioned",
	"redlock-clock-jump", "redlock-drift", "redlock-gc-pause", "redlock-restart", "redlock-restart-delayed", "redlock-not-independent",
	"oversell", "counter-200", "counter-quorum", "retry-after-lost-reply", "lua-decrement-missing-key",
}

// Names lists the scenarios of the catalogue in the order of the documents.
func Names() []string {
	entries, err := fs.ReadDir(files, catalogDir)
	if err != nil {
		panic(err) // the directory is part of the program
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), extension))
	}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return list
}

// Catalog reads every scenario of the catalogue, in the order of Names. The
// error is of type Errors and tells everything that is wrong with any of them.
func Catalog(known Known) ([]*Scenario, error) {
	var all []*Scenario
	var wrong Errors
	for _, name := range Names() {
		s, err := embedded(name, known)
		var problems Errors
		switch {
		case errors.As(err, &problems):
			wrong = append(wrong, problems...)
		case err != nil:
			return nil, err
		default:
			all = append(all, s)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return all, nil
}

// Lookup reads the scenario of that name from the catalogue. The error is that
// there is none, with the nearest names, or the Errors of Parse.
func Lookup(name string, known Known) (*Scenario, error) {
	list := Names()
	if slices.Contains(list, name) {
		return embedded(name, known)
	}
	if hint := nearest.Hint(name, list); hint != "" {
		return nil, fmt.Errorf("scenarios: no scenario is called %q; %s", name, hint)
	}
	return nil, fmt.Errorf("scenarios: no scenario is called %q", name)
}

func embedded(name string, known Known) (*Scenario, error) {
	file := path.Join(catalogDir, name+extension)
	data, err := files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	return parse(path.Join("scenarios", file), data, known, name)
}
