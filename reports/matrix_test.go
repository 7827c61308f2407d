package reports_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatih/color"
	"github.com/mattn/go-runewidth"

	"lockpick/checker"
	"lockpick/reports"
)

// terminal measures as the reports do, in any locale.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

var paint = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkWidth fails when a line is wider than the page or ends in blanks.
func checkWidth(t *testing.T, text string, limit int) {
	t.Helper()
	for i, line := range strings.Split(paint.ReplaceAllString(text, ""), "\n") {
		if w := terminal.StringWidth(line); w > limit {
			t.Errorf("line %d is %d columns wide, not %d: %q", i+1, w, limit, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line %d ends in blanks: %q", i+1, line)
		}
	}
}

func matrix(t *testing.T, s reports.Summary, o reports.Options) string {
	t.Helper()
	if o.Checks == nil {
		o.Checks = checks
	}
	var b bytes.Buffer
	if err := reports.Matrix(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// small is the matrix of an article's first versions.
func small() reports.Summary {
	s := several()
	s.Runs = s.Runs[:5]
	for _, v := range []string{"setnx-expire", "lua-release", "redlock"} {
		s.Runs = append(s.Runs, run("crash-no-ttl", v, 7, verdicts{"no-deadlock": holds}, verdicts{"no-deadlock": holds}))
	}
	for _, v := range []string{"setnx-del", "setnx-ex", "lua-release", "redlock"} {
		want := verdicts{"mutual-exclusion": violated, "ownership": violated, "no-lost-update": violated}
		if v == "redlock" || v == "lua-release" {
			want["ownership"] = holds
		}
		s.Runs = append(s.Runs, run("delete-other", v, 7, want, want))
	}
	for _, v := range []string{"setnx-del", "setnx-expire", "setnx-ex"} {
		s.Skipped = append(s.Skipped,
			reports.Skip{Scenario: "redlock-clock-jump", Version: v, Reason: "needs quorum: true; this version's is false"},
			reports.Skip{Scenario: "redlock-restart", Version: v, Reason: "needs quorum: true; this version's is false"})
	}
	return s
}

func TestGoldenMatrix(t *testing.T) {
	order := []string{"setnx-del", "setnx-expire", "setnx-ex", "lua-release", "redlock"}
	golden(t, "matrix", []byte(matrix(t, small(), reports.Options{Versions: order, Wall: 8*time.Second + 213*time.Millisecond})))
	golden(t, "matrix-color", []byte(matrix(t, small(), reports.Options{Versions: order, Color: true})))
}

func TestMatrixCountsWhatFailed(t *testing.T) {
	text := matrix(t, several(), reports.Options{})
	for _, want := range []string{
		"\n 7 runs · 2 as expected · 1 drifted · 0 hold · 1 violated · 2 undecided · 1 failed · 1 skipped\n",
		"\n✗ make the lock: no room: redis-1; redis-2 \\x1b[2J; and no more   lockpick run gc-pause --impl otherlock --seed 9\n",
		"\n!gc-pause ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// big is a matrix of n versions by m scenarios in which all but a few pairs come
// out as expected.
func big(dice *rand.Rand, n, m int) reports.Summary {
	var s reports.Summary
	for j := range m {
		scenario := fmt.Sprintf("scenario-%02d%s", j+1, strings.Repeat("-long", j%4))
		for i := range n {
			version := fmt.Sprintf("version-%02d%s", i+1, strings.Repeat("x", i%9))
			if dice.IntN(9) == 0 {
				s.Skipped = append(s.Skipped, reports.Skip{Scenario: scenario, Version: version, Reason: "needs renew: owned"})
				continue
			}
			want, got := verdicts{}, verdicts{}
			for _, c := range checks[:6] {
				want[c.Name], got[c.Name] = holds, holds
				if dice.IntN(20) == 0 {
					want[c.Name], got[c.Name] = violated, violated
				}
				if dice.IntN(600) == 0 {
					got[c.Name] = checker.Verdict(dice.IntN(3))
				}
			}
			s.Runs = append(s.Runs, run(scenario, version, uint64(1+dice.IntN(99)), want, got))
		}
	}
	return s
}

// whole is a matrix of the size and shape that the catalogue is meant to reach: 34
// locks and 6 strategies by 80 scenarios, of which some make sense with few.
func whole(dice *rand.Rand) (s reports.Summary, strategies []string) {
	locks := []string{
		"setnx-del", "setnx-expire", "setnx-ex", "fixed-value", "get-del", "lua-release", "spin-tool", "mismatched-token", "swapped-args",
		"blind-renew", "fragile-watchdog", "watchdog", "distlock", "reentrant", "notify", "notify-naive", "fair", "read-write", "multi",
		"redlock", "redlock-naive", "redlock-no-elapsed", "redlock-no-timeout", "redlock-own-release", "redlock-replicas", "redlock-fenced",
		"fenced", "wait-replicas", "redislock", "redsync", "redsync-v3", "rueidislock", "go-zero", "locker",
	}
	strategies = []string{"lua-decrement", "lua-decrement-guarded", "optimistic-version", "conditional-update", "unique-index", "idempotency-key"}
	kinds := []struct {
		name, needs string
		n           int
		has         func(int) bool // of the locks, which run it
	}{
		{"any", "", 34, func(int) bool { return true }},
		{"failover", "", 14, func(i int) bool { return i < 19 || i >= 26 }},
		{"renewal", "needs renew: blind or owned; this version's is none", 8, func(i int) bool { return i >= 9 && i <= 12 }},
		{"majority", "needs quorum: true; this version's is false", 12, func(i int) bool { return i >= 19 && i <= 25 || i == 29 }},
		{"nested", "needs reentrant: true; this version's is false", 3, func(i int) bool { return i == 13 }},
		{"queue", "needs fair: true; this version's is false", 3, func(i int) bool { return i == 16 }},
		{"stock", "", 6, func(int) bool { return true }},
	}
	for _, k := range kinds {
		for n := range k.n {
			scenario := fmt.Sprintf("%s-%s-%d", k.name, []string{"pause", "crash-between", "clock-jump", "lost-reply"}[n%4], n+1)
			for i, v := range locks {
				if !k.has(i) {
					s.Skipped = append(s.Skipped, reports.Skip{Scenario: scenario, Version: v, Reason: cmp.Or(k.needs, "a step strikes sentinel-1, and this version runs on redis-1 alone")})
					continue
				}
				want := verdicts{}
				for _, c := range checks[:3] {
					want[c.Name] = holds
					if dice.IntN(8) < 3 {
						want[c.Name] = violated
					}
				}
				s.Runs = append(s.Runs, run(scenario, v, 1, want, want))
			}
			for _, v := range strategies {
				if k.name != "stock" {
					s.Skipped = append(s.Skipped, reports.Skip{Scenario: scenario, Version: v, Reason: "it is not for strategies of the resource"})
					continue
				}
				s.Runs = append(s.Runs, run(scenario, v, 1, verdicts{"no-lost-update": holds}, verdicts{"no-lost-update": holds}))
			}
		}
	}
	return s, strategies
}

func TestGoldenBigMatrix(t *testing.T) {
	s, strategies := whole(rand.New(rand.NewPCG(1, 1)))
	for _, w := range []int{120, 160} {
		text := matrix(t, s, reports.Options{Width: w, Strategies: strategies})
		checkWidth(t, text, w)
		golden(t, fmt.Sprintf("matrix-80x40-%d", w), []byte(text))
	}
}

func TestMatrixIsNeverTooWide(t *testing.T) {
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 7))
		s := big(dice, 1+dice.IntN(40), 1+dice.IntN(12))
		for i := range s.Runs {
			if dice.IntN(50) == 0 {
				s.Runs[i].Undecided = "this step never happened: pause client-1, " + strings.Repeat("很长的理由", dice.IntN(30))
			}
			if dice.IntN(50) == 0 {
				s.Runs[i].Failed = strings.Repeat("make the lock:\n\t", dice.IntN(30)) + "no"
			}
			if dice.IntN(200) == 0 {
				s.Runs[i].Scenario = strings.Repeat("a-very-long-name", 1+dice.IntN(12))
			}
			if dice.IntN(200) == 0 {
				s.Runs[i].Version = strings.Repeat("锁", 1+dice.IntN(90))
			}
		}
		o := reports.Options{Width: reports.MinWidth + dice.IntN(161), Color: dice.IntN(2) == 0, Full: dice.IntN(2) == 0, Wall: time.Second}
		checkWidth(t, matrix(t, s, o), o.Width)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestMatrixMarks(t *testing.T) {
	mixed := run("s", "v", 2, verdicts{"mutual-exclusion": violated}, verdicts{"mutual-exclusion": violated})
	cut := run("s", "v", 1, verdicts{"ownership": holds}, verdicts{"ownership": unknown})
	cut.AsExpected, cut.Undecided = false, "the history is cut short"
	failed := reports.Run{Scenario: "s", Version: "v", Failed: "the lock cannot be made"}
	tests := []struct {
		name string
		runs []reports.Run
		want string
	}{
		{"it could not be carried out", []reports.Run{failed}, "✗"},
		{"one seed could not be carried out", []reports.Run{mixed, failed}, "M✗"},
		{"all hold", []reports.Run{run("s", "v", 1, verdicts{"ownership": holds}, verdicts{"ownership": holds})}, "·"},
		{"violated as expected", []reports.Run{mixed}, "M"},
		{"violated and not expected", []reports.Run{run("s", "v", 1, verdicts{"ownership": holds}, verdicts{"ownership": violated})}, "!O"},
		{"holds and violation expected", []reports.Run{run("s", "v", 1, verdicts{"ownership": violated}, verdicts{"ownership": holds})}, "¬O"},
		{"unknown is not a pass", []reports.Run{run("s", "v", 1, verdicts{"ownership": holds, "honesty": holds}, verdicts{"ownership": unknown, "honesty": holds})}, "?O"},
		{"nothing is known", []reports.Run{cut}, "?"},
		{"expected first, then what is not", []reports.Run{run("s", "v", 1,
			verdicts{"mutual-exclusion": violated, "stale-use": holds, "ownership": holds, "honesty": violated, "no-orphan": holds},
			verdicts{"mutual-exclusion": violated, "stale-use": violated, "ownership": violated, "honesty": holds, "no-orphan": unknown})}, "M!SO¬H?K"},
		{"a cell is as bad as its worst seed", []reports.Run{mixed, cut}, "M?"},
		{"a verdict without expectation", []reports.Run{run("s", "v", 1, verdicts{"ownership": holds}, verdicts{"ownership": holds, "footprint": violated})}, "F"},
		{"unknown without expectation", []reports.Run{{Scenario: "s", Version: "v", Verdicts: verdicts{"ownership": unknown, "honesty": holds}}}, "?O"},
		{"unknown, and nobody minds", []reports.Run{{Scenario: "s", Version: "v", AsExpected: true, Verdicts: verdicts{"ownership": unknown, "honesty": holds}}}, "·"},
		{"not as expected for no visible reason", []reports.Run{{Scenario: "s", Version: "v"}}, "!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := matrix(t, reports.Summary{Runs: tt.runs}, reports.Options{})
			if said := strings.Contains(text, "✗ failed"); said != slices.ContainsFunc(tt.runs, func(r reports.Run) bool { return r.Failed != "" }) {
				t.Errorf("the legend has failed runs: %v", said)
			}
			row := strings.Split(text, "\n")[1]
			if got := strings.Fields(row[1:])[1]; got != tt.want {
				t.Errorf("the cell is %q, want %q, in\n%s", got, tt.want, text)
			}
		})
	}
}

func TestColorIsLocal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	before := color.NoColor
	painted := matrix(t, small(), reports.Options{Color: true})
	if color.NoColor != before {
		t.Error("the global switch was changed")
	}
	if !paint.MatchString(painted) {
		t.Error("no colour although Options.Color")
	}
	bare := matrix(t, small(), reports.Options{})
	if paint.MatchString(bare) {
		t.Error("colour without Options.Color")
	}
	if paint.ReplaceAllString(painted, "") != bare {
		t.Error("colour changes the text")
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	for name, err := range map[string]error{
		"matrix": reports.Matrix(full{}, several(), reports.Options{}),
		"text":   reports.Text(full{}, several(), reports.Options{}),
		"story":  reports.Story(full{}, several().Runs[0], nil, reports.Options{}),
		"json":   reports.JSON(full{}, several()),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want %v", name, err, errFull)
		}
	}
}
