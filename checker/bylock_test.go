package checker

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lockpick/checker/history"
)

// lockOf makes of a random history one of lock n of two, with names and numbers
// that the other's has not.
func lockOf(h *history.History, n int) *history.History {
	out := &history.History{Header: h.Header, Complete: true}
	rename := func(text string) string {
		for i := 3; i > 0; i-- {
			text = strings.ReplaceAll(text, fmt.Sprintf("client-%d", i), fmt.Sprintf("agent-%d", 2*(i-1)+n))
		}
		return text
	}
	out.Header.Lock.Key = fmt.Sprintf("k:%d", n)
	out.Header.Workload.Clients = nil
	for i := range 3 {
		out.Header.Workload.Clients = append(out.Header.Workload.Clients, rename(fmt.Sprintf("client-%d", i+1)))
	}
	for _, r := range h.Records {
		r.Who, r.Client, r.Holder, r.Target = rename(r.Who), rename(r.Client), rename(r.Holder), rename(r.Target)
		if r.Owner != "" {
			r.Owner = fmt.Sprintf("%s/%d", r.Owner, n)
		}
		if r.ID > 0 {
			r.ID = 2*r.ID - n%2
		}
		if r.Kind == history.Observe && (r.Who == "redis-1" || r.Who == "store") {
			r.Key = out.Header.Lock.Key
		}
		out.Records = append(out.Records, r)
	}
	return out
}

// together makes one history of those of two locks, and lets both end when it does.
func together(one, two *history.History) *history.History {
	end := max(lastInstant(one), lastInstant(two))
	h := &history.History{Header: one.Header, Complete: true}
	h.Header.Lock.Key, h.Header.Lock.Count = "k", 2
	h.Header.Workload.Clients = nil
	for i := range one.Header.Workload.Clients {
		h.Header.Workload.Clients = append(h.Header.Workload.Clients, one.Header.Workload.Clients[i], two.Header.Workload.Clients[i])
	}
	for _, part := range []*history.History{one, two} {
		last := len(part.Records) - 1
		part.Records[last].T = end
		h.Records = append(h.Records, part.Records[:last]...)
	}
	slices.SortStableFunc(h.Records, func(a, b history.Record) int { return cmp.Compare(a.T, b.T) })
	h.Records = append(h.Records, one.Records[len(one.Records)-1])
	return h
}

// TestSeveralLocksAreJudgedAsEachAlone puts random histories of two locks together
// and compares what is said of them with what is said of each.
func TestSeveralLocksAreJudgedAsEachAlone(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(200) {
		for kind, random := range []func(uint64) *history.History{lockHistory, usedHistory, resourceHistory} {
			parts := []*history.History{lockOf(random(2*seed), 1), lockOf(random(2*seed+1), 2)}
			parts[0].Header.Workload.Resource, parts[1].Header.Workload.Resource = "register", "register"
			h := together(parts[0], parts[1])
			for _, c := range All() {
				if c.whole {
					continue
				}
				got := c.Judge(h)
				counts[got.Verdict]++
				a, b := c.Judge(parts[0]), c.Judge(parts[1])
				want := Merge(a.Verdict, b.Verdict)
				switch {
				case a.Idle:
					want = b.Verdict
				case b.Idle:
					want = a.Verdict
				}
				if got.Verdict != want || got.Idle != (a.Idle && b.Idle) {
					t.Fatalf("seed %d, kind %d, %s: %v (idle: %v), want %v: alone %+v and %+v", seed, kind, c.Name, got.Verdict, got.Idle, want, a, b)
				}
				mustHaveFindings(t, h, got, parts, []Result{a, b})
			}
		}
	}
	mustBoth(t, counts)
}

// mustHaveFindings checks that the findings are those of the parts, with the same
// records.
func mustHaveFindings(t *testing.T, h *history.History, got Result, parts []*history.History, alone []Result) {
	t.Helper()
	told := func(h *history.History, f Finding, prefix string) string {
		text := fmt.Sprintf("%v %v %s%s", f.At, f.Who, prefix, f.Cause)
		var records []string
		for _, line := range f.Lines {
			records = append(records, fmt.Sprintf("%+v", h.Records[line-history.Line(0)]))
		}
		slices.Sort(records) // of one instant, either may come first
		return text + "\n  " + strings.Join(records, "\n  ")
	}
	var want, have []string
	for i, res := range alone {
		for _, f := range res.Findings {
			want = append(want, told(parts[i], f, parts[i].Header.Lock.Key+": "))
		}
	}
	for _, f := range got.Findings {
		have = append(have, told(h, f, ""))
	}
	if len(want) > maxFindings {
		return
	}
	slices.Sort(want)
	slices.Sort(have)
	if !reflect.DeepEqual(have, want) {
		t.Fatalf("%s says\n%s\nand of each alone\n%s", got.Check, strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

func TestMergedResults(t *testing.T) {
	lock := history.Lock{Key: "order", Count: 3}
	holds, idle := Result{Verdict: Holds}, Result{Idle: true, Reason: "nobody nests"}
	unsure := Result{Reason: "cut short"}
	broken := func(n int) Result {
		r := Result{Verdict: Violated}
		for i := range n {
			r.Findings = append(r.Findings, Finding{Cause: fmt.Sprint(i)})
		}
		return r
	}
	tests := []struct {
		name     string
		parts    []Result
		want     Verdict
		idle     bool
		reason   string
		findings int
	}{
		{"all hold", []Result{holds, holds, holds}, Holds, false, "", 0},
		{"one is violated", []Result{holds, broken(1), unsure}, Violated, false, "", 1},
		{"one is unknown, and is named", []Result{holds, unsure, holds}, Unknown, false, "order:2: cut short", 0},
		{"all are unknown for the same reason", []Result{unsure, unsure, unsure}, Unknown, false, "cut short", 0},
		{"a lock that tests nothing has no say", []Result{idle, holds, idle}, Holds, false, "", 0},
		{"nor does it hide a violation", []Result{idle, holds, broken(2)}, Violated, false, "", 2},
		{"unless none tests anything", []Result{idle, idle, idle}, Unknown, true, "nobody nests", 0},
		{"an answer that was forgotten is no pass", []Result{holds, {}, holds}, Unknown, false, "order:2: ", 0},
		{"more findings than are told", []Result{broken(6), broken(3), broken(3)}, Violated, false, "", maxFindings},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := merged(lock, tt.parts)
			if got.Verdict != tt.want || got.Idle != tt.idle || got.Reason != tt.reason || len(got.Findings) != tt.findings {
				t.Errorf("merged = %+v", got)
			}
		})
	}
}

func TestMergedFigures(t *testing.T) {
	part := func(count, worst float64, more ...Figure) Result {
		return Result{Verdict: Violated, Findings: make([]Finding, 4), Figures: append([]Figure{
			{Name: "acquires", Value: count}, {Name: "longest gap", Value: worst, Unit: "s"},
		}, more...)}
	}
	got := merged(history.Lock{Key: "order", Count: 3}, []Result{part(1, 5), part(2, 9, Figure{Name: NotShown, Value: 7}), part(4, 3)}).Figures
	want := []Figure{{Name: "acquires", Value: 7}, {Name: "longest gap", Value: 9, Unit: "s"}, {Name: NotShown, Value: 9}}
	if !slices.Equal(got, want) {
		t.Errorf("merged figures are %v, want %v", got, want)
	}
}

// The checks that are judged lock by lock have no figure that is neither a count
// nor known to be the worst of all.
func TestFiguresCanBeMerged(t *testing.T) {
	h := mustTell(t, `
client-1 acquire 1ms..2ms ok a fence=7
client-2 acquire 1ms..90s ok b fence=8
client-1 change 3ms..4ms ok 1
end 91s`).h
	seen := map[string]bool{}
	for _, c := range All() {
		if c.whole {
			continue
		}
		for _, f := range c.Judge(h).Figures {
			seen[f.Name] = true
			if f.Unit != "" && !ofTheWorst[f.Name] {
				t.Errorf("%s of %s is in %s: should locks be added up?", f.Name, c.Name, f.Unit)
			}
		}
	}
	for name := range ofTheWorst {
		if !seen[name] {
			t.Errorf("no check has the figure %q", name)
		}
	}
}

func TestNumbersOfLocks(t *testing.T) {
	d := newDealer(history.Header{Lock: history.Lock{Key: "order", Count: 12}, Workload: history.Workload{Clients: make([]string, 12)}})
	for _, tt := range []struct {
		text string
		want []int
	}{
		{"order:1", []int{1}},
		{"order:12", []int{12}},
		{"order:13", nil},
		{"order:0", nil},
		{"order:01", nil},
		{"order:", nil},
		{"order", nil},
		{"order:x", nil},
		{"order:99999999999999999999", nil},
		{"lock:{order:7}:queue", []int{7}},
		{"order:1,order:2,order:1", []int{1, 2}},
		{"order:order:3", []int{3}},
		{"if redis.call('get', KEYS[1])", nil},
	} {
		if got := d.named(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q names %v, want %v", tt.text, got, tt.want)
		}
		exact := len(tt.want) == 1 && tt.text == d.head.Lock.KeyOf(tt.want[0])
		if got := called(&d.head.Lock, tt.text); got != exact {
			t.Errorf("%q is the name of a lock: %v, want %v", tt.text, got, exact)
		}
	}
}
