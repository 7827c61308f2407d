package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"lockpick/checker/history"
	"lockpick/impls"
	"lockpick/internal/testbed/sim"
	"lockpick/internal/testbed/sim/bubble"
	"lockpick/reports"
	"lockpick/scenarios"
)

// mustBatch prepares runs of one scenario in a directory of its own.
func mustBatch(t *testing.T, scenario string) *batch {
	t.Helper()
	bubble.Use(t)
	sc, err := scenarios.Lookup(scenario, known())
	if err != nil {
		t.Fatal(err)
	}
	a := &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}, jobs: 1}
	return &batch{app: a, dir: t.TempDir(), scenarios: []*scenarios.Scenario{sc}, testbed: sim.New(), keep: true, twice: true}
}

// mustVersion is a version of the catalogue under another name, made by make.
func mustVersion(t *testing.T, of, name string, make func(impls.Version, impls.Env, impls.Config) (impls.Lock, error)) impls.Version {
	t.Helper()
	vs, err := versions([]string{of})
	if err != nil {
		t.Fatal(err)
	}
	v := vs[0]
	if make != nil {
		v.New = func(e impls.Env, c impls.Config) (impls.Lock, error) { return make(vs[0], e, c) }
	}
	v.Name = name
	return v
}

func TestRunsThatFailAreRowsOfTheirOwn(t *testing.T) {
	b := mustBatch(t, "delete-other")
	made := atomic.Int32{}
	vs := []impls.Version{
		mustVersion(t, "setnx-ex", "setnx-ex", nil),
		mustVersion(t, "setnx-ex", "refuses", func(impls.Version, impls.Env, impls.Config) (impls.Lock, error) {
			return nil, errors.Join(errors.New("one"), errors.New("two"))
		}),
		mustVersion(t, "setnx-ex", "gives-up", func(impls.Version, impls.Env, impls.Config) (impls.Lock, error) {
			return nil, context.Canceled // nobody has interrupted anything
		}),
		mustVersion(t, "setnx-ex", "panics", func(impls.Version, impls.Env, impls.Config) (impls.Lock, error) {
			panic("boom")
		}),
		mustVersion(t, "setnx-ex", "once", func(v impls.Version, e impls.Env, c impls.Config) (impls.Lock, error) {
			if int(made.Add(1)) > b.scenarios[0].Workload.Clients+1 { // and the probe
				return nil, errors.New("worn out")
			}
			return v.New(e, c)
		}),
		mustVersion(t, "watchdog", "watchdog", nil),
	}
	jobs, skipped := b.plan(vs, 1, 1)
	s, err := b.run(context.Background(), jobs, skipped)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "make the lock: one\ntwo", "make the lock: context canceled", "boom", "when it was repeated: make the lock: worn out", ""}
	if len(s.Runs) != len(want) {
		t.Fatalf("%d runs, want %d", len(s.Runs), len(want))
	}
	for i, r := range s.Runs {
		if r.Version != vs[i].Name || !strings.Contains(r.Failed, want[i]) || (r.Failed == "") != (want[i] == "") {
			t.Errorf("run %d is of %s and failed with %q, want %s and %q", i, r.Version, r.Failed, vs[i].Name, want[i])
		}
		if r.AsExpected != (want[i] == "") || len(r.Verdicts) > 0 != (want[i] == "") {
			t.Errorf("%s: as expected: %v, verdicts %v, failed with %q", r.Version, r.AsExpected, r.Verdicts, r.Failed)
		}
		mustBeWritten(t, r)
	}
	if s.AsExpected || status(s) != statusFailed {
		t.Errorf("as expected: %v, status %d", s.AsExpected, status(s))
	}
	if d := s.Runs[4].Deterministic; d == nil || *d {
		t.Error("a run that fails when it is repeated counts as deterministic")
	}
	saved, err := os.ReadFile(filepath.Join(b.dir, reports.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var again reports.Summary
	if err := json.Unmarshal(saved, &again); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(again.Runs, s.Runs, func(a, b reports.Run) bool { return a.Version == b.Version && a.Failed == b.Failed }) {
		t.Errorf("the summary that was saved has other runs: %s", saved)
	}
}

// mustBeWritten compares a run with its history file.
func mustBeWritten(t *testing.T, r reports.Run) {
	t.Helper()
	f, err := os.Open(r.History)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, sum, _ := history.DecodeSum(f)
	if sum != r.SHA256 || r.Records == nil {
		t.Errorf("%s: the history has the sum %s, and the run says %s, with records: %v", r.Version, sum, r.SHA256, r.Records != nil)
	}
}

func TestWhatConcernsEveryRunEndsThemAll(t *testing.T) {
	full := func(t *testing.T, path string) {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("there is no /dev/full")
		}
		if err := os.Symlink("/dev/full", path); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		prepare func(*testing.T, string)
		want    error
	}{
		{"a history cannot be created", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, syscall.EISDIR},
		{"the disk is full", full, syscall.ENOSPC},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := mustBatch(t, "delete-other")
			v := mustVersion(t, "setnx-ex", "setnx-ex", nil)
			tt.prepare(t, filepath.Join(b.dir, reports.HistoryFile("delete-other", v.Name, 1)))
			jobs, skipped := b.plan([]impls.Version{v}, 1, 50)
			if _, err := b.run(context.Background(), jobs, skipped); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if files, err := histories(b.dir); err != nil || len(files) > 3 {
				t.Errorf("it went on: %v, %v", files, err)
			}
		})
	}
}
