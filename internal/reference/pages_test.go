package reference

import (
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls"
	"lockpick/scenarios"
)

// small is a book of a lock, a lock that is skipped, and a strategy.
func small() *book {
	strategy := func(impls.Env, impls.Store, impls.Config) (impls.Strategy, error) { return nil, nil }
	return &book{
		versions: []impls.Version{
			{Name: "0-lock", Summary: "one that holds", Where: "D2 3", Traits: impls.Traits{Release: impls.ReleaseAtomic, Renew: impls.RenewOwned, Shared: true}},
			{Name: "a-lock", Summary: "a lock | with <a mistake>", Where: "D1 v1", Traits: impls.Traits{TTL: impls.TTLAtomic, Release: impls.ReleaseAtomic, Renew: impls.RenewOwned, Shared: true}},
			{Name: "b-lock", Summary: "another", Where: "github.com/x/y v1.2.3", Traits: impls.Traits{Release: impls.ReleaseAtomic, Renew: impls.RenewNone}},
			{Name: "d-lock", Summary: "forgotten", Where: "D1 v1", Traits: impls.Traits{Release: impls.ReleaseAtomic, Renew: impls.RenewOwned, Shared: true}},
			{Name: "c-plan", Summary: "no lock", Where: "D1 5.1", Traits: impls.Traits{Renew: impls.RenewOwned, Shared: true}, Strategy: strategy},
		},
		scenarios: []*scenarios.Scenario{{
			Name: "s-one", File: "scenarios/catalog/s-one.yaml", Strategies: true,
			Title: scenarios.Text{EN: "One | two", ZH: "一"}, Lesson: scenarios.Text{EN: "A lesson.", ZH: "教训。"},
			Topology: scenarios.Topology{Redis: scenarios.Single, Quorum: 5},
			Lock:     scenarios.Lock{Key: "k", Also: []string{"l", "m"}, TTL: 30 * time.Second, Retries: 3},
			Workload: scenarios.Workload{Resource: "stock", Initial: 9, Clients: 3, Rounds: 2, Nest: 3, Releases: 2, Work: time.Second,
				Readers: []string{"client-2", "client-3"}, Fences: scenarios.Ignored},
			Needs:  map[string][]string{"renew": {"owned"}},
			Bounds: scenarios.Bounds{Overtakes: 1},
			Steps:  []faults.Step{{Fault: faults.Crash{Client: "client-1"}}},
			Checks: []string{"ownership", "no-lost-update"},
			Expect: map[string]scenarios.Expectation{
				"ownership":      {Violated: []string{"a-lock"}, Holds: []string{"0-lock"}},
				"no-lost-update": {Holds: []string{"a-lock", "c-plan", "0-lock"}},
			},
		}},
		checks:   checker.All(),
		faults:   faults.Catalog(),
		remarks:  map[string]string{"s-one": "Why."},
		packages: map[string]comment{"d-lock": {"impls/d-lock", "Package dlock is it.\n"}, "0-lock": {"impls/0-lock", "Package lock is it.\n"}, "a-lock": {"impls/a-lock", "Package alock is it.\n"}, "b-lock": {"impls/b-lock", "Package block is it.\n"}, "c-plan": {"impls/c-plan", "Package cplan is it.\n"}},
	}
}

func TestPages(t *testing.T) {
	b := small()
	pages := map[string]string{
		"a-lock": b.version(b.versions[1]), "b-lock": b.version(b.versions[2]), "d-lock": b.version(b.versions[3]), "c-plan": b.version(b.versions[4]),
		"s-one": b.scenario(b.scenarios[0]), "versions": b.versionIndex(), "scenarios": b.scenarioIndex(),
		"checks": b.checkList(), "faults": b.faultList(),
	}
	tests := []struct{ name, page, want string }{
		{"a version is summed up in a sentence", "a-lock", "\nA lock \\| with \\<a mistake>.\n"},
		{"where it is from leads to the documents", "a-lock", "From [D1](../README.md#the-two-documents) v1. The code is in [impls/a-lock](../../impls/a-lock)."},
		{"the command of what breaks it", "a-lock", "\n    lockpick run s-one --impl a-lock\n"},
		{"what breaks it", "a-lock", "## What breaks it\n\n| scenario |  | broken promises |\n| --- | --- | --- |\n| [s-one](../scenarios/s-one.md) | One \\| two | [ownership](../checks.md#ownership) |\n\n## What does not\n\nNo scenario that"},
		{"a trait with its meaning", "a-lock", "| renew | owned | the server compares and prolongs in one step |"},
		{"a library leads to its documentation", "b-lock", "From [github.com/x/y](https://pkg.go.dev/github.com/x/y) v1.2.3."},
		{"nothing breaks what is not tried", "b-lock", "## What breaks it\n\nNo scenario of the catalogue.\n"},
		{"what is skipped, and why", "b-lock", "- needs renew: owned; this version's is none: [s-one](../scenarios/s-one.md)\n"},
		{"what is not stated does not hold", "d-lock", "## What does not\n\nNo scenario that"},
		{"what is not stated is said so", "d-lock", "- does not say what it expects of this version: [s-one](../scenarios/s-one.md)\n"},
		{"what is not stated has no verdict", "s-one", "| [d-lock](../versions/d-lock.md) | not stated | not stated |"},
		{"a strategy says so", "c-plan", "| strategy | true | it is no lock"},
		{"a strategy is judged by the resource alone", "c-plan", "| [s-one](../scenarios/s-one.md) | One \\| two | [no-lost-update](../checks.md#no-lost-update) |"},
		{"a scenario in both languages", "s-one", "**One \\| two**\n\nA lesson.\n\n> **一**\n>\n> 教训。\n"},
		{"several keys, one attempt, retries", "s-one", "| lock | `k`, and `l`, `m` for versions that lock several keys as one; a lease of 30s, and a client makes one attempt; its Redis client sends a command that was not answered again, up to 3 times |"},
		{"nested and shared", "s-one", "| clients | 3, 2 rounds each; each acquires the lock 3 times, one inside the other, and releases it twice; in shared mode, only to read: client-2 and client-3 |"},
		{"fences", "s-one", "| fences | the store does not look at them |"},
		{"needs", "s-one", "| needs | a version with `renew`: owned |"},
		{"bounds", "s-one", "| bounds | a client may be overtaken once |"},
		{"the command of what it breaks", "s-one", "\n    lockpick run s-one --impl a-lock\n"},
		{"steps", "s-one", "1. At the start, client-1 dies. ([crash](../faults.md#crash))\n"},
		{"what breaks comes first, what is not judged has no verdict", "s-one", "| [a-lock](../versions/a-lock.md) | **violated** | holds |\n| [0-lock](../versions/0-lock.md) | holds | holds |\n| [d-lock](../versions/d-lock.md) | not stated | not stated |\n| [c-plan](../versions/c-plan.md) | – | holds |\n"},
		{"who is skipped", "s-one", "- needs renew: owned; this version's is none: [b-lock](../versions/b-lock.md)\n"},
		{"remarks", "s-one", "## Remarks\n\nWhy.\n"},
		{"strategies stand apart", "versions", "## Without a lock\n"},
		{"a version's score", "versions", "| 1 of 1 |"},
		{"a scenario's score", "scenarios", "| [s-one](s-one.md) | One \\| two | 一 | beyond the documents | 1 of 4 |"},
		{"a check's scenarios", "checks", "| [s-one](scenarios/s-one.md) | One \\| two | 1 of 3 |"},
		{"a check that held", "checks", "Judged, and held by every version: [s-one](scenarios/s-one.md)."},
		{"a fault's scenarios", "faults", "Strikes in [s-one](scenarios/s-one.md)."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(pages[tt.page], tt.want) {
				t.Errorf("the page does not have\n%s\nbut is\n%s", tt.want, pages[tt.page])
			}
		})
	}
	for name, text := range pages {
		if strings.Contains(text, "\n\n\n") {
			t.Errorf("%s has two blank lines in a row", name)
		}
	}
}

func TestManyShareAReason(t *testing.T) {
	var r reasons
	for range maxLinks {
		r.add("few", "x")
	}
	for range maxLinks + 1 {
		r.add("many", "x")
	}
	items := r.items("", "scenario")
	if len(items) != 2 || strings.Count(items[0], "[x](x.md)") != maxLinks || items[1] != "many: 21 scenarios" {
		t.Errorf("the items are %q", items)
	}
}
