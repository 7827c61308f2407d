package checker

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
)

func TestAllIsInOrder(t *testing.T) {
	var got []string
	letters := map[string]bool{}
	for _, c := range All() {
		got = append(got, c.Letter+" "+c.Name)
		if letters[c.Letter] || len(c.Letter) != 1 {
			t.Errorf("the letter %q of %s is taken or is none", c.Letter, c.Name)
		}
		letters[c.Letter] = true
		if c.Promise == "" || c.How == "" || c.judge == nil {
			t.Errorf("%s is not complete", c.Name)
		}
		if found, ok := Lookup(c.Name); !ok || found.Letter != c.Letter {
			t.Errorf("Lookup(%q) = %q, %t", c.Name, found.Letter, ok)
		}
	}
	want := "M mutual-exclusion, S stale-use, Z linearizable, O ownership, H honesty, D no-deadlock, K no-orphan, L no-lost-update, N fencing, Q fairness, R reentrancy, A availability, F footprint"
	if strings.Join(got, ", ") != want {
		t.Errorf("All() = %v", got)
	}
	if _, ok := Lookup("no such check"); ok {
		t.Error("Lookup finds what is not there")
	}
}

func TestJudge(t *testing.T) {
	whole := &history.History{Complete: true, Records: []history.Record{{Who: history.World, Kind: history.Note, Op: history.End}}}
	undecided := &history.History{Complete: true, Records: []history.Record{{Who: history.World, Kind: history.Note, Op: history.End, Text: "the failover never happened"}}}
	cut := &history.History{Records: whole.Records}
	holds := func(*index) Result { return Result{Verdict: Holds} }
	violated := func(*index) Result {
		return Result{Verdict: Violated, Findings: []Finding{{Cause: "because"}}}
	}
	tests := []struct {
		name   string
		judge  func(*index) Result
		h      *history.History
		want   Verdict
		reason string
	}{
		{"a whole history holds", holds, whole, Holds, ""},
		{"a cut one never does", holds, cut, Unknown, "cut short"},
		{"nor does an empty one", holds, &history.History{Complete: true}, Unknown, "empty"},
		{"nor one that the harness could not complete", holds, undecided, Unknown, "failover"},
		{"a violation stays one, cut or not", violated, cut, Violated, ""},
		{"a check that panics has no answer", func(*index) Result { panic("oops") }, whole, Unknown, "oops"},
		{"a check that reads past the end has no answer", func(ix *index) Result {
			return Result{Verdict: Holds, Reason: ix.h.Records[len(ix.h.Records)].Text}
		}, whole, Unknown, "out of range"},
		{"a check that forgets to answer", func(*index) Result { return Result{} }, whole, Unknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := Check{Name: "some", judge: tt.judge}.Judge(tt.h)
			if res.Verdict != tt.want || !strings.Contains(res.Reason, tt.reason) {
				t.Errorf("Judge = %v %q, want %v and %q", res.Verdict, res.Reason, tt.want, tt.reason)
			}
			if res.Check != "some" || len(res.Findings) > 0 && res.Findings[0].Check != "some" {
				t.Errorf("the result does not say whose it is: %+v", res)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name       string
		a, b, want Verdict
	}{
		{"both hold", Holds, Holds, Holds},
		{"violated beats unknown", Violated, Unknown, Violated},
		{"violated beats holds", Holds, Violated, Violated},
		{"the zero value is not a pass", Holds, 0, Unknown},
	} {
		if got := Merge(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if got := Merge(tt.b, tt.a); got != tt.want {
			t.Errorf("%s, the other way round: %v", tt.name, got)
		}
	}
}

func TestVerdictText(t *testing.T) {
	for _, v := range []Verdict{Unknown, Holds, Violated} {
		b, err := json.Marshal(map[string]Verdict{"v": v})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]Verdict
		if err := json.Unmarshal(b, &got); err != nil || got["v"] != v {
			t.Errorf("%s comes back as %v, %v", b, got["v"], err)
		}
	}
	var v Verdict
	if err := v.UnmarshalText([]byte("maybe")); err == nil {
		t.Error("maybe is a verdict")
	}
	if Verdict(9).String() != "Verdict(9)" {
		t.Error("a verdict that is none has a name")
	}
}

// Whatever prefix of whatever history a check is given, it says nothing that the
// whole history takes back.
func TestPrefixes(t *testing.T) {
	for seed := range uint64(100) {
		mustSurvive(t, fmt.Sprint("lock history ", seed), lockHistory(seed))
		mustSurvive(t, fmt.Sprint("used history ", seed), usedHistory(seed))
		if seed < 20 {
			mustSurvive(t, fmt.Sprint("resource history ", seed), resourceHistory(seed))
		}
	}
}

// Records that make no sense together must not make a check panic.
func TestNonsense(t *testing.T) {
	names := []string{"client-1", "redis-1", "store", history.World, history.Probe, "redis-9"}
	ops := []string{
		history.Acquire, history.Release, history.Extend, history.Read, history.Write, history.Lost, history.Done,
		history.Command, history.Apply, history.Keys, history.Granted, history.Replaced, history.Renewed,
		history.Shortened, history.Deleted, history.Expired, history.Quiet, history.Looked, "pause", "crash",
		history.Change, history.Role, history.Load, history.Push, history.Sentry, "cancel",
	}
	kinds := []history.Kind{
		history.Invoke, history.OK, history.Fail, history.Unknown,
		history.Observe, history.Observe, history.Observe, history.Fault, history.Note,
	}
	texts := []string{"", history.Struck, history.Healed, history.AfterLease, history.Primary, history.Replica}
	for seed := range uint64(1_000) {
		s := newScript(seed, "client-1")
		s.h.Header.Topology.Quorum = s.IntN(3)
		s.h.Header.Topology.Nodes = []string{"redis-1", "redis-9"}
		s.h.Header.Topology.Primary = []string{"", "redis-1", "redis-7"}[s.IntN(3)]
		if s.IntN(2) == 0 {
			s.h.Header.Lock.Also = []string{"l"}
		}
		pick := func(list []string) string { return list[s.IntN(len(list))] }
		for range 40 {
			s.tick()
			r := history.Record{
				Who: pick(names), Op: pick(ops), Kind: kinds[s.IntN(len(kinds))], ID: s.IntN(6), Round: s.IntN(2),
				Key: pick([]string{"k", "k", "l", "k:q"}), Owner: pick([]string{"", "a", "b=1", "a=1 b=1"}), Holder: pick(names), Client: pick(names), Target: pick(names),
				TTL: time.Duration(s.IntN(4) - 1), Until: time.Duration(s.IntN(40)), Text: pick(texts),
				Depth: s.IntN(3), Shared: s.IntN(4) == 0, Fence: uint64(s.IntN(3)), Connections: s.IntN(3),
			}
			if s.IntN(2) == 0 {
				r.Value = history.Int(int64(s.IntN(3)))
			}
			s.add(r)
		}
		h := s.end()
		for _, c := range All() {
			if res := c.Judge(h); strings.HasPrefix(res.Reason, "the check failed") {
				t.Errorf("seed %d: %s: %s", seed, c.Name, res.Reason)
			}
		}
	}
}

// Checks that share their work say what they say alone.
func TestJudgeAll(t *testing.T) {
	for seed := range uint64(100) {
		for _, h := range []*history.History{lockHistory(seed), usedHistory(seed), resourceHistory(seed)} {
			all := JudgeAll(h, All())
			for i, c := range All() {
				if alone := c.Judge(h); !reflect.DeepEqual(all[i], alone) {
					t.Fatalf("seed %d: together %+v, alone %+v", seed, all[i], alone)
				}
			}
		}
	}
}

func TestFindingsAreCapped(t *testing.T) {
	s := newScript(1)
	for i := range 30 { // everybody believes from here to the end
		name := fmt.Sprint("client-", i)
		r := s.begin(history.Record{Who: name, Op: history.Acquire})
		s.now++
		s.finish(r, history.OK)
	}
	res := mutualExclusion().Judge(s.end())
	if len(res.Findings) != maxFindings || res.Figures[0].Value != 30*29/2 || res.Figures[1].Value != 30*29/2-maxFindings {
		t.Errorf("%d findings, %v", len(res.Findings), res.Figures)
	}
}
