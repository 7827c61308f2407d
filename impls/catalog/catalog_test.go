package catalog_test

import (
	"slices"
	"testing"

	"lockpick/impls"
	"lockpick/impls/catalog"
)

func TestOrder(t *testing.T) {
	want := []string{
		"setnx-del", "janitor", "setnx-expire", "setnx-ex", "fixed-value", "mismatched-token", "swapped-args", "get-del",
		"lua-release", "enters-anyway", "unchecked-reply", "throwing-release", "raw-error", "local-lock", "spin-tool", "blind-renew", "fragile-watchdog",
		"watchdog", "watchdog-leased", "batched-watchdog", "distlock", "reentrant", "notify", "notify-naive", "shared-subscription", "fair", "read-write", "multi", "fenced", "wait-replicas",
		"redlock", "redlock-naive", "redlock-no-elapsed", "redlock-no-timeout", "redlock-own-release",
		"redlock-replicas", "redlock-reachable", "redlock-drift-added", "redlock-first-try",
		"redlock-fenced", "redislock", "redsync", "redsync-set-on-extend",
		"lua-decrement", "lua-decrement-guarded", "optimistic-version", "conditional-update", "unique-index",
		"idempotency-key",
	}
	var got []string
	for _, v := range catalog.All() {
		got = append(got, v.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("All() = %v, want %v", got, want)
	}
}

func TestLookup(t *testing.T) {
	for _, v := range catalog.All() {
		if got, ok := catalog.Lookup(v.Name); !ok || got.Name != v.Name {
			t.Errorf("Lookup(%q) = %q, %v", v.Name, got.Name, ok)
		}
	}
	if got, ok := catalog.Lookup("no-such-version"); ok {
		t.Errorf("Lookup of an unknown name found %q", got.Name)
	}
}

func TestVersionsAreDescribed(t *testing.T) {
	for _, v := range catalog.All() {
		t.Run(v.Name, func(t *testing.T) {
			if v.Summary == "" || v.Where == "" {
				t.Errorf("Summary %q, Where %q: both must say something", v.Summary, v.Where)
			}
			if (v.New == nil) == (v.Strategy == nil) {
				t.Fatal("a version is either a lock or a strategy: it has New or Strategy, and not both")
			}
			if v.Strategy != nil {
				if v.Traits != (impls.Traits{}) {
					t.Errorf("a strategy has the traits of a lock: %+v", v.Traits)
				}
				if _, err := v.Strategy(nil, nil, impls.Config{}); err == nil {
					t.Error("Strategy accepts a configuration without a key")
				}
				return
			}
			tr := v.Traits
			for _, trait := range []string{string(tr.TTL), string(tr.Token), string(tr.Release), string(tr.Renew), string(tr.Wait)} {
				if trait == "" {
					t.Errorf("a trait is missing: %+v", tr)
				}
			}
			if _, err := v.New(nil, impls.Config{}); err == nil {
				t.Error("New accepts a configuration without a key")
			}
		})
	}
}
