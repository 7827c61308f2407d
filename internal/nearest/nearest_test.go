package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"lockpick/internal/nearest"
)

var versions = []string{"setnx-del", "setnx-ex", "setnx-expire", "watchdog", "redlock", "redlock-fenced", "lua-release"}

func TestNames(t *testing.T) {
	tests := []struct {
		name, word string
		from       []string
		want       []string
	}{
		{"a letter left out", "watchdg", versions, []string{"watchdog"}},
		{"two letters swapped count as one slip", "wacthdog", versions, []string{"watchdog"}},
		{"capitals do not count", "Watchdog", versions, []string{"watchdog"}},
		{"an underscore for a hyphen", "lua_release", versions, []string{"lua-release"}},
		{"the nearest comes first", "setnx-exp", versions, []string{"setnx-ex", "setnx-del", "setnx-expire"}},
		{"the beginning of a name", "redl", versions, []string{"redlock", "redlock-fenced"}},
		{"nothing resembles it", "zookeeper", versions, nil},
		{"a short word may have one slip", "tll", []string{"ttl", "key", "wait"}, []string{"ttl"}},
		{"a single letter resembles nothing", "x", []string{"y", "xy"}, nil},
		{"the empty word resembles nothing", "", versions, nil},
		{"no candidates", "watchdog", nil, nil},
		{"a name that is given twice is offered once", "watchdo", []string{"watchdog", "watchdog"}, []string{"watchdog"}},
		{"letters of more than one byte", "租约期", []string{"租约", "锁"}, []string{"租约"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := nearest.Names(tt.word, tt.from); !slices.Equal(got, tt.want) {
				t.Errorf("Names(%q) = %q, want %q", tt.word, got, tt.want)
			}
		})
	}
}

func TestNamesOffersFew(t *testing.T) {
	got := nearest.Names("client-1x", []string{"client-11", "client-12", "client-13", "client-14", "client-1"})
	if len(got) != nearest.MaxNames || got[0] != "client-1" {
		t.Errorf("Names = %q, want %d of them with client-1 first", got, nearest.MaxNames)
	}
}

func TestNamesOfAHugeWord(t *testing.T) {
	if got := nearest.Names(strings.Repeat("x", 1<<20), versions); got != nil {
		t.Errorf("Names = %q, want none", got)
	}
}

func TestHint(t *testing.T) {
	tests := []struct {
		word, want string
	}{
		{"zookeeper", ""},
		{"watchdgo", `did you mean "watchdog"?`},
		{"redloc", `did you mean "redlock" or "redlock-fenced"?`},
		{"setnx-exp", `did you mean "setnx-ex", "setnx-del" or "setnx-expire"?`},
	}
	for _, tt := range tests {
		if got := nearest.Hint(tt.word, versions); got != tt.want {
			t.Errorf("Hint(%q) = %s, want %s", tt.word, got, tt.want)
		}
	}
}
