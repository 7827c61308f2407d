package reports_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/reports"
	"lockpick/scenarios"
)

func story(t *testing.T, r reports.Run, sc *scenarios.Scenario, o reports.Options) string {
	t.Helper()
	if o.Checks == nil {
		o.Checks = checks
	}
	var b bytes.Buffer
	if err := reports.Story(&b, r, sc, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var summaries = map[string]string{
	"setnx-ex": "SET NX EX with a unique token, plain DEL", "redlock": "N independent primaries, majority, elapsed time < TTL",
	"setnx-expire": "SETNX, then EXPIRE as a second round trip, plain DEL",
}

// deleteOther is a run that breaks two promises, one of them unexpectedly.
func deleteOther(t *testing.T) (reports.Run, *scenarios.Scenario) {
	t.Helper()
	r := run("delete-other", "setnx-ex", 7,
		verdicts{"mutual-exclusion": violated, "stale-use": violated, "ownership": violated, "no-deadlock": holds, "no-lost-update": holds},
		verdicts{"mutual-exclusion": violated, "stale-use": violated, "ownership": violated, "no-deadlock": holds, "no-lost-update": violated, "footprint": holds})
	r.Findings = []checker.Finding{
		{Check: "mutual-exclusion", At: 35017500 * time.Microsecond, Who: []string{"client-3", "client-2"},
			Cause: "client-3 was granted the lock while client-2, whose lease lasts until 60.052s, still held it", Lines: []int{298, 321, 327}},
		{Check: "stale-use", At: 35001500 * time.Microsecond, Who: []string{"client-1"},
			Cause: "client-1 wrote 5.001s after its lease had ended", Lines: []int{5, 312}},
		{Check: "ownership", At: 35004300 * time.Microsecond, Who: []string{"client-1", "client-2"},
			Cause: "DEL of client-1 removed the lease of client-2", Lines: []int{316, 317}},
		{Check: "ownership", At: 40057700 * time.Microsecond, Who: []string{"client-2", "client-3"},
			Cause: "DEL of client-2 removed the lease of client-3", Lines: []int{328, 329}},
		{Check: "no-lost-update", At: 40054900 * time.Microsecond, Who: []string{"client-2"},
			Cause: "client-2 wrote 1 over the 1 of client-1, which it had not read", Lines: []int{300, 313, 325}},
	}
	r.Figures = []checker.Figure{
		{Name: "commands per acquire", Value: 77.25}, {Name: "longest hold", Value: 35.0021, Unit: "s"},
		{Name: "waits that gave up", Value: 0, Unit: "%"}, {Name: "releases that returned 0", Value: 1}, {Name: "scripts", Value: 0.5, Unit: "per second"},
	}
	r.Records = mustRead(t, "delete-other.jsonl")
	return r, &scenarios.Scenario{
		Name:      "delete-other",
		Title:     scenarios.Text{EN: "The late holder deletes the lock of another", ZH: "迟到的持有者删掉了别人的锁"},
		Lesson:    scenarios.Text{EN: "DEL does not ask whose key it deletes. Store a value of your own with every grant, and compare and delete in one script.", ZH: "DEL 不会问它删的是谁的键。每次加锁都写入唯一的值，并在一个 Lua 脚本里先比较、再删除；否则业务超过租约之后，第一个客户端会删掉第二个客户端的锁，第三个客户端随之进入临界区。"},
		Documents: []scenarios.Source{{File: "000_b342c447b9411623.txt", Section: "v3"}, {File: "002_67aeb5863cd37098.txt", Section: "2.2"}},
	}
}

func TestGoldenStoryDrifted(t *testing.T) {
	r, sc := deleteOther(t)
	text := story(t, r, sc, reports.Options{Summaries: summaries})
	checkWidth(t, text, reports.DefaultWidth)
	golden(t, "story-delete-other", []byte(text))
	golden(t, "story-delete-other-color", []byte(story(t, r, sc, reports.Options{Summaries: summaries, Color: true})))
}

func TestGoldenStoryChinese(t *testing.T) {
	r, sc := deleteOther(t)
	r.SHA256 = r.SHA256[:32]
	text := story(t, r, sc, reports.Options{Summaries: summaries, Lang: "zh", Width: 72})
	checkWidth(t, text, 72)
	golden(t, "story-delete-other-zh", []byte(text))
}

func TestGoldenStoryOfFiveNodes(t *testing.T) {
	r := run("redlock-clock-jump", "redlock", 41, verdicts{"mutual-exclusion": violated, "ownership": holds}, verdicts{"mutual-exclusion": violated, "ownership": holds})
	r.Findings = []checker.Finding{{Check: "mutual-exclusion", At: 6002400 * time.Microsecond, Who: []string{"client-2", "client-1"},
		Cause: "client-2 was granted the lock while client-1, whose lease lasts until 29.700s, still held it", Lines: []int{16, 32, 38}}}
	r.Records = mustRead(t, "redlock-clock-jump.jsonl")
	link := func(node string) faults.Step {
		return faults.Step{Fault: faults.Cut{Link: faults.Link{Client: "client-1", Node: node}, Direction: faults.Both}, For: 3 * time.Millisecond}
	}
	sc := &scenarios.Scenario{
		Name: "redlock-clock-jump", Title: scenarios.Text{EN: "One node's clock jumps and a second majority forms"},
		Steps: []faults.Step{link("redis-4"), link("redis-5"),
			{Fault: faults.Clock{Node: "redis-3", Jump: time.Minute}, When: faults.Trigger{At: 5 * time.Second}}},
		Lesson: scenarios.Text{EN: "Redlock counts on clocks that run alike."},
	}
	golden(t, "story-redlock-clock-jump", []byte(story(t, r, sc, reports.Options{Summaries: summaries})))
}

func TestGoldenStoryOfRenewals(t *testing.T) {
	want := verdicts{"mutual-exclusion": holds, "no-lost-update": holds, "no-orphan": violated}
	r := run("gc-pause-tells", "watchdog", 12, want, want)
	r.Findings = []checker.Finding{{Check: "no-orphan", At: 301 * time.Second, Cause: "order:123:queue is left over and never expires", Lines: []int{39}}}
	r.Records = mustRead(t, "gc-pause-tells.jsonl")
	golden(t, "story-gc-pause-tells", []byte(story(t, r, nil, reports.Options{})))
}

// A run that could not be carried out is told as far as it went.
func TestGoldenStoryFailed(t *testing.T) {
	r, sc := deleteOther(t)
	r.AsExpected, r.Verdicts, r.Expected, r.Findings = false, nil, nil, nil
	r.Failed = "the lock panicked: assignment to entry\nin nil map\ngoroutine 7 [running]:\nruntime/debug.Stack()\n\t/go/src/runtime/debug/stack.go:26 +0x5e\nmylock.New(...)\n\t/src/mylock.go:12\n"
	golden(t, "story-failed", []byte(story(t, r, sc, reports.Options{Summaries: summaries, Width: 100})))
}

// What a lock says in its errors may be anything, and is told in one line.
func TestErrorsOfALockAreToldInOneLine(t *testing.T) {
	const text = "lost\nleaving the queue: \x1b[2Jlost"
	r, _ := deleteOther(t)
	h := *r.Records
	h.Records = slices.Clone(h.Records)
	told := false
	for i, rec := range h.Records {
		if rec.Op == history.Acquire && rec.Kind == history.OK && !told {
			h.Records[i] = history.Record{T: rec.T, Who: rec.Who, Kind: history.Unknown, Op: rec.Op, ID: rec.ID, Key: rec.Key, Round: rec.Round, Error: text}
			told = true
		}
	}
	r.Records = &h
	r.Findings = []checker.Finding{{Check: "ownership", Cause: "client-1 was told " + text, Lines: []int{3}}}
	r.Verdicts["ownership"] = violated
	r.Verdicts["honesty"], r.Reasons = unknown, map[string]string{"honesty": "as " + text}
	r.Undecided = text
	got := story(t, r, nil, reports.Options{Width: 400})
	if n := strings.Count(got, `lost; leaving the queue: \x1b[2Jlost`); n < 4 || strings.Contains(got, "\x1b") || strings.Contains(got, "\nleaving") {
		t.Errorf("%d of at least 4 are one line in\n%s", n, got)
	}
	var b bytes.Buffer
	if err := reports.Text(&b, reports.Summary{Runs: []reports.Run{r}}, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\n") != 1 || strings.Contains(b.String(), "\x1b") {
		t.Errorf("a run is not one line:\n%s", b.String())
	}
}

func TestGoldenStoryUndecided(t *testing.T) {
	r := run("crash-between", "setnx-expire", 3, verdicts{"no-deadlock": violated, "ownership": holds}, verdicts{"no-deadlock": unknown, "ownership": unknown})
	r.Undecided = "the history is cut short"
	r.Reasons = map[string]string{"no-deadlock": "no probe tried the lock", "ownership": "the history is cut short"}
	r.Records = mustRead(t, "crash-between-cut.jsonl")
	golden(t, "story-crash-between-cut", []byte(story(t, r, nil, reports.Options{Summaries: summaries})))
}

// A failover: the roles of the nodes, what Sentinels say, and what replicas have.
func TestGoldenStoryOfFailover(t *testing.T) {
	want := verdicts{"mutual-exclusion": violated, "honesty": holds}
	r := run("failover", "lua-release", 5, want, want)
	r.Findings = []checker.Finding{{Check: "mutual-exclusion", At: 6001100 * time.Microsecond, Who: []string{"client-2", "client-1"},
		Cause: "client-2 was granted the lock while client-1 still held it", Lines: []int{8, 19, 29}}}
	r.Records = mustRead(t, "failover.jsonl")
	text := story(t, r, nil, reports.Options{})
	checkWidth(t, text, reports.DefaultWidth)
	golden(t, "story-failover", []byte(text))
}

// Several locks, and threads that are struck with their process.
func TestGoldenStoryOfSeveralLocks(t *testing.T) {
	want := verdicts{"mutual-exclusion": violated}
	r := run("several-locks", "notify", 1, want, want)
	r.Findings = []checker.Finding{{Check: "mutual-exclusion", At: 5006849 * time.Microsecond, Who: []string{"client-2", "client-4"},
		Cause: "order:2: client-4 got the lock while client-2 still believed in it", Lines: []int{14, 62, 70, 83}}}
	r.Records = mustRead(t, "several-locks.jsonl")
	text := story(t, r, nil, reports.Options{})
	checkWidth(t, text, reports.DefaultWidth)
	golden(t, "story-several-locks", []byte(text))
}

// Several keys, a lock in a lock, shared mode, a message, and every new fault.
func TestGoldenStoryOfNested(t *testing.T) {
	want := verdicts{"mutual-exclusion": holds}
	r := run("nested", "reentrant", 6, want, want)
	r.Records = mustRead(t, "nested.jsonl")
	text := story(t, r, nil, reports.Options{})
	checkWidth(t, text, reports.DefaultWidth)
	golden(t, "story-nested", []byte(text))
}

// No lock at all: a change that is applied twice.
func TestGoldenStoryOfChanges(t *testing.T) {
	want := verdicts{"no-lost-update": violated}
	r := run("oversell", "optimistic-version", 7, want, want)
	r.Findings = []checker.Finding{{Check: "no-lost-update", At: 2001100 * time.Microsecond, Who: []string{"client-2"},
		Cause: "the change of client-2 was applied twice", Lines: []int{6, 8}}}
	r.Records = mustRead(t, "changes.jsonl")
	golden(t, "story-changes", []byte(story(t, r, nil, reports.Options{})))
}

// Many clients without a lock are summed up by what they did.
func TestManyWithoutALock(t *testing.T) {
	h := mustRead(t, "changes.jsonl")
	h.Records = nil
	for i := range 20 {
		name := scenarios.ClientName(i + 1)
		if i > 2 {
			h.Header.Workload.Clients = append(h.Header.Workload.Clients, name)
		}
		end := history.OK
		if i > 15 {
			end = history.Fail
		}
		h.Records = append(h.Records,
			history.Record{T: time.Duration(i), Who: name, Kind: history.Invoke, Op: history.Change, ID: i + 1, Value: history.Int(-1)},
			history.Record{T: time.Duration(i + 1), Who: name, Kind: end, Op: history.Change, ID: i + 1, Value: history.Int(-1)})
	}
	r := run("oversell", "optimistic-version", 7, nil, verdicts{"no-lost-update": holds})
	r.Records = h
	text := story(t, r, nil, reports.Options{})
	for _, want := range []string{"14 more clients: changed the resource once each", "4 more clients: changed nothing once each"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestStoryWithoutRecords(t *testing.T) {
	text := story(t, run("a", "b", 1, nil, verdicts{"ownership": holds}), nil, reports.Options{})
	for _, want := range []string{"seed 1  a × b on sim", "ownership  holds", "lockpick run a --impl b --seed 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// crowd is a run of n clients that each increment a counter once; every one of
// them polls until it is its turn, and the last two do not live to see it.
func crowd(t *testing.T, n int) *history.History {
	t.Helper()
	const key, ms = "counter", time.Millisecond
	h := history.Header{Lockpick: history.Format, Scenario: "counter-200", Version: "lua-release", Testbed: "sim", Seed: 1, TimeScale: 1,
		Topology: history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1},
		Lock:     history.Lock{Key: key, TTL: 30 * time.Second, Wait: 60 * time.Second},
		Workload: history.Workload{Resource: "counter", Rounds: 1}}
	for i := range n {
		h.Workload.Clients = append(h.Workload.Clients, scenarios.ClientName(i+1))
	}
	rec, err := history.NewRecorder(io.Discard, h)
	if err != nil {
		t.Fatal(err)
	}
	add := func(at time.Duration, who string, kind history.Kind, op string, r history.Record) {
		r.T, r.Who, r.Kind, r.Op = at, who, kind, op
		rec.Add(who, r)
	}
	for i, name := range h.Workload.Clients {
		add(time.Duration(i), name, history.Invoke, history.Acquire, history.Record{ID: 4*i + 1, Key: key, Round: 1})
	}
	set := func(name string) []string { return []string{"SET", key, name + "#1", "PX", "30000", "NX"} }
	for i, name := range h.Workload.Clients[:n-2] {
		at, owner := time.Duration(i+1)*100*ms, name+"#1"
		for j := i + 1; j < n; j++ {
			waiter := h.Workload.Clients[j]
			add(at-50*ms+time.Duration(j), "redis-1", history.Observe, history.Command,
				history.Record{Client: waiter, Command: set(waiter), Reply: "nil", Sent: at - 51*ms})
		}
		add(at, "redis-1", history.Observe, history.Command, history.Record{Client: name, Command: set(name), Reply: "OK", Sent: at - ms})
		add(at, "redis-1", history.Observe, history.Granted, history.Record{Key: key, Owner: owner, Holder: name, Client: name, TTL: 30 * time.Second})
		add(at+ms, name, history.OK, history.Acquire, history.Record{ID: 4*i + 1, Key: key, Owner: owner, Round: 1})
		add(at+2*ms, name, history.Invoke, history.Read, history.Record{ID: 4*i + 2})
		add(at+3*ms, name, history.OK, history.Read, history.Record{ID: 4*i + 2, Value: history.Int(int64(i))})
		add(at+4*ms, name, history.Invoke, history.Write, history.Record{ID: 4*i + 3, Value: history.Int(int64(i + 1))})
		add(at+5*ms, "store", history.Observe, history.Apply, history.Record{Client: name, Value: history.Int(int64(i + 1)), Was: fmt.Sprint(i)})
		add(at+6*ms, name, history.OK, history.Write, history.Record{ID: 4*i + 3, Value: history.Int(int64(i + 1))})
		add(at+7*ms, name, history.Invoke, history.Release, history.Record{ID: 4*i + 4, Key: key, Owner: owner})
		add(at+8*ms, "redis-1", history.Observe, history.Command,
			history.Record{Client: name, Command: []string{"EVAL", "if redis.call('get', KEYS[1]) == ARGV[1] then\n return 1 end", "1", key, owner}, Reply: "1", Sent: at + 7*ms})
		add(at+8*ms, "redis-1", history.Observe, history.Deleted, history.Record{Key: key, Owner: owner, Holder: name, Client: name})
		add(at+9*ms, name, history.OK, history.Release, history.Record{ID: 4*i + 4, Key: key, Owner: owner})
	}
	end := time.Duration(n+1) * 100 * ms
	for i := n - 2; i < n; i++ {
		add(end, h.Workload.Clients[i], history.Fail, history.Acquire, history.Record{ID: 4*i + 1, Key: key, Error: "impls: not acquired"})
	}
	add(end+ms, history.World, history.Note, history.Quiet, history.Record{})
	all, _, err := rec.Close(end+2*ms, "")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestGoldenStoryOfTwoHundred(t *testing.T) {
	r := run("counter-200", "lua-release", 1, verdicts{"no-lost-update": holds}, verdicts{"no-lost-update": holds})
	r.Records = crowd(t, 200)
	text := story(t, r, nil, reports.Options{})
	if n := strings.Count(text, "\n"); n > 80 {
		t.Errorf("%d lines are more than anybody reads", n)
	}
	golden(t, "story-counter-200", []byte(text))
}

func TestCitedLinesAreNeverLeftOut(t *testing.T) {
	r := run("counter-200", "lua-release", 1, verdicts{"no-lost-update": holds}, verdicts{"no-lost-update": violated})
	r.Records = crowd(t, 200)
	var cited []int
	for i, rec := range r.Records.Records {
		if rec.Who == "client-150" || rec.Client == "client-150" && len(cited)%3 == 0 && rec.Op != history.Apply {
			cited = append(cited, history.Line(i))
		}
	}
	r.Findings = []checker.Finding{{Check: "no-lost-update", Who: []string{"client-150"}, Lines: cited, Cause: "this is why"}}
	text := story(t, r, nil, reports.Options{})
	for _, line := range cited {
		if !strings.Contains(text, fmt.Sprintf("[line %d]", line)) && !citedTogether(text, line) {
			t.Errorf("line %d, a %v, is not in the story", line, r.Records.Records[line-2])
		}
	}
	golden(t, "story-counter-200-lost", []byte(text))
}

// citedTogether looks for a line that shares its mark with others, outside of the verdict.
func citedTogether(text string, line int) bool {
	for _, l := range strings.Split(text[:strings.Index(text, "The verdict")], "\n") {
		if _, list, ok := strings.Cut(l, "[lines "); ok {
			for _, n := range strings.Split(strings.TrimSuffix(list, "]"), ", ") {
				var lo, hi int
				if c, _ := fmt.Sscanf(n, "%d–%d", &lo, &hi); c == 1 {
					hi = lo
				}
				if lo <= line && line <= hi {
					return true
				}
			}
		}
	}
	return false
}

func TestGoldenStoryOfManyFindings(t *testing.T) {
	r := run("counter-200", "lua-release", 1, nil, verdicts{"stale-use": violated})
	r.AsExpected, r.Records = false, crowd(t, 200)
	for i, rec := range r.Records.Records {
		if rec.Op == history.Write && rec.Kind == history.OK && *rec.Value%15 == 0 {
			r.Findings = append(r.Findings, checker.Finding{Check: "stale-use", At: rec.T, Who: []string{rec.Who},
				Cause: rec.Who + " wrote after its lease had ended", Lines: []int{history.Line(i)}})
		}
	}
	text := story(t, r, nil, reports.Options{})
	if n := strings.Count(text, "\n"); n > 160 {
		t.Errorf("%d lines are more than anybody reads", n)
	}
	golden(t, "story-counter-200-many", []byte(text))
}

func TestFullLeavesNothingOut(t *testing.T) {
	r := run("counter-200", "lua-release", 1, nil, verdicts{"no-lost-update": holds})
	r.Records = crowd(t, 60)
	text := story(t, r, nil, reports.Options{Full: true})
	if strings.Contains(text, "more") {
		t.Error("something is left out")
	}
	for _, rec := range r.Records.Records {
		if rec.Op == history.Granted && !strings.Contains(text, "granted to "+rec.Holder+" as "+rec.Owner) {
			t.Errorf("no word of the grant to %s", rec.Holder)
		}
	}
	if got, want := strings.Count(text, "SET counter"), 58+59*58-58*57/2; got != want {
		t.Errorf("%d commands are told, not %d", got, want)
	}
}

func TestStoryIsNeverTooWide(t *testing.T) {
	r, sc := deleteOther(t)
	for _, file := range []string{"delete-other", "failover", "nested", "changes"} {
		r.History, r.SHA256 = "", ""
		r.Records = mustRead(t, file+".jsonl")
		for limit := reports.MinWidth; limit < 160; limit += 3 {
			for _, lang := range []string{"en", "zh"} {
				text := story(t, r, sc, reports.Options{Width: limit, Lang: lang, Summaries: summaries})
				text = text[:strings.LastIndex(strings.TrimSpace(text), "\n")] // the command is to be copied
				checkWidth(t, text, limit)
			}
		}
	}
}
