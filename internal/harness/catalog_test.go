package harness_test

import (
	"slices"
	"testing"

	"lockpick/checker"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/scenarios"
)

// Every version comes out of every scenario as that expects it, whatever the
// seed.
func TestCatalogIsAsExpected(t *testing.T) {
	bubble.Use(t)
	pairs := mustSome(t, 4)
	seeds := upTo(1, 3, 30)
	side(len(pairs)*seeds, func(i int) {
		p, seed := pairs[i/seeds], uint64(i%seeds+1)
		if seed > 1 && p.large() && !*long {
			return
		}
		out := mustRun(t, p, seed)
		if out.Undecided != "" {
			t.Errorf("%v, seed %d is undecided: %s", p, seed, out.Undecided)
			return
		}
		for _, check := range p.scenario.Checks {
			if p.version.Strategy != nil && !scenarios.OfResource(check) {
				continue // it is not asked, as TestStrategyIsJudgedByTheResource has it
			}
			want, ok := p.scenario.Expected(check, p.version.Name)
			got := verdict(out, check)
			if p.scenario.EitherWay(check, p.version.Name) && got.Verdict != checker.Unknown {
				continue
			}
			if !ok || got.Verdict.String() != want {
				t.Errorf("%v, seed %d: %s is %v, want %q%s", p, seed, check, got.Verdict, want, tell(out))
			}
		}
		if foot := verdict(out, "footprint"); len(foot.Figures) == 0 {
			t.Errorf("%v, seed %d: no figures of the footprint", p, seed)
		}
	})
}

// A scenario says what it expects of each version that it is run with, once, and
// names no other.
func TestCatalogCoversEveryVersion(t *testing.T) {
	for _, sc := range mustCatalog(t) {
		run := 0
		for _, v := range catalog.All() {
			skip := harness.Skip(sc, v)
			if skip == "" {
				run++
				if left := sc.Uncovered(v.Name); len(left) > 0 {
					t.Errorf("%s does not say what it expects of %s: %q", sc.Name, v.Name, left)
				}
			}
			for _, check := range sc.Checks {
				e := sc.Expect[check]
				times := 0
				for _, name := range slices.Concat(e.Violated, e.Holds, e.Either) {
					if name == v.Name {
						times++
					}
				}
				_, ok := sc.Expected(check, v.Name)
				switch {
				case skip == "" && (times > 1 || times == 0 && ok && e.Others == ""):
					t.Errorf("%s mentions %s %d times under %s, want once", sc.Name, v.Name, times, check)
				case skip != "" && times != 0:
					t.Errorf("%s expects something of %s under %s, with which it is skipped: %s", sc.Name, v.Name, check, skip)
				}
			}
		}
		if run == 0 {
			t.Errorf("%s is run with no version", sc.Name)
		}
	}
}

// Each check of the catalogue is of use: it finds something in some run and
// nothing in another, so that no verdict is a constant.
func TestCatalogNeedsEveryCheck(t *testing.T) {
	verdicts := map[string]map[string]bool{}
	for _, p := range mustPairs(t) {
		for _, check := range p.scenario.Checks {
			if verdicts[check] == nil {
				verdicts[check] = map[string]bool{}
			}
			if want, ok := p.scenario.Expected(check, p.version.Name); ok {
				verdicts[check][want] = true
			}
		}
	}
	for _, c := range checker.All() {
		if v := verdicts[c.Name]; !v[scenarios.Violated] || !v[scenarios.Holds] {
			t.Errorf("the catalogue expects of %s only %v", c.Name, v)
		}
	}
}
