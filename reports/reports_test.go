package reports_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/reports"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s (go test ./reports/... -run Golden -update rewrites it):\n%s", path, got)
	}
}

func mustRead(t *testing.T, name string) *history.History {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := history.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return h
}

// checks are the fixtures' own: what a report looks like must not change with
// the wording of a promise.
var checks = []checker.Check{
	{Name: "mutual-exclusion", Letter: "M", Promise: "No two clients hold the lock at once."},
	{Name: "stale-use", Letter: "S", Promise: "Nobody touches the resource after its own lease ended."},
	{Name: "ownership", Letter: "O", Promise: "Nobody deletes, shortens or renews another's lease."},
	{Name: "honesty", Letter: "H", Promise: "What the lock says happened is what happened."},
	{Name: "no-deadlock", Letter: "D", Promise: "Once faults have healed and a lease's time has passed, a newcomer gets the lock."},
	{Name: "no-orphan", Letter: "K", Promise: "After all clients stop, no key lives past its TTL and none lacks one."},
	{Name: "no-lost-update", Letter: "L", Promise: "The resource shows every acknowledged change once."},
	{Name: "availability", Letter: "A", Promise: "A lock that nobody holds is granted within a bound."},
	{Name: "footprint", Letter: "F", Promise: "Locking costs no more commands than it may."},
}

type verdicts = map[string]checker.Verdict

const (
	holds    = checker.Holds
	violated = checker.Violated
	unknown  = checker.Unknown
)

func run(scenario, version string, seed uint64, want, got verdicts) reports.Run {
	r := reports.Run{
		Scenario: scenario, Version: version, Testbed: "sim", Seed: seed,
		AsExpected: true, Expected: want, Verdicts: got,
		History: "reports/runs/1/" + reports.HistoryFile(scenario, version, seed),
		SHA256:  "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	for check, v := range got {
		if w, ok := want[check]; ok && w != v {
			r.AsExpected = false
		}
	}
	return r
}

// several is a summary with a run of every kind.
func several() reports.Summary {
	foreign := run("gc-pause", "mylock", 9, nil, verdicts{"mutual-exclusion": violated, "ownership": holds})
	foreign.AsExpected, foreign.Testbed = false, "local"
	foreign.Findings = []checker.Finding{{Check: "mutual-exclusion", At: 31e9, Who: []string{"client-2", "client-1"},
		Cause: "client-2 was granted the lock <while> client-1 held it", Lines: []int{12, 40}}}
	never := run("failover", "redlock", 7, verdicts{"mutual-exclusion": holds}, verdicts{"mutual-exclusion": unknown})
	never.AsExpected, never.Undecided = false, "this step never happened: stop redis-1, at 5s"
	limit := run("counter-200", "lua-release", 8, verdicts{"no-lost-update": holds, "ownership": holds},
		verdicts{"no-lost-update": unknown, "ownership": holds})
	limit.Reasons = map[string]string{"no-lost-update": "a limit of 1,000,000 configurations was hit"}
	refused := run("gc-pause", "otherlock", 9, nil, nil)
	refused.AsExpected, refused.Failed = false, "make the lock: no room:\n\tredis-1\n\tredis-2 \x1b[2J\nand no more"
	return reports.Summary{
		Runs: []reports.Run{
			run("crash-no-ttl", "setnx-del", 7, verdicts{"no-deadlock": violated, "ownership": holds}, verdicts{"no-deadlock": violated, "ownership": holds}),
			run("crash-no-ttl", "setnx-ex", 7, verdicts{"no-deadlock": holds}, verdicts{"no-deadlock": holds}),
			run("crash-between", "setnx-expire", 7, verdicts{"no-deadlock": violated, "ownership": holds}, verdicts{"no-deadlock": holds, "ownership": violated}),
			never, limit, foreign, refused,
		},
		Skipped: []reports.Skip{{Scenario: "renewal-dies", Version: "setnx-ex", Reason: "needs renew: owned or blind; this version's is none"}},
	}
}
