package catalog_test

import (
	"slices"
	"testing"

	"lockpick/impls"
	"lockpick/impls/catalog"
)

func TestOrder(t *testing.T) {
	want := []string{
		"setnx-del", "setnx-expire", "setnx-ex", "fixed-value", "get-del", "lua-release", "spin-tool",
		"blind-renew", "fragile-watchdog", "watchdog", "distlock", "redislock", "redsync",
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
