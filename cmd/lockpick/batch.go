package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"lockpick/checker"
	"lockpick/impls"
	"lockpick/internal/harness"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim"
	"lockpick/reports"
	"lockpick/scenarios"
)

// job is one run to be carried out.
type job struct {
	scenario *scenarios.Scenario
	version  impls.Version
	seed     uint64
}

// batch carries out runs, several at a time, into one directory.
type batch struct {
	app     *app
	dir     string
	testbed testbed.Testbed
	keep    bool // keep the histories in memory, for stories
	twice   bool // run everything a second time and compare
}

// plan pairs scenarios with versions; a pair that makes no sense is skipped.
func plan(scs []*scenarios.Scenario, vs []impls.Version, seed uint64, seeds int) (jobs []job, skipped []reports.Skip) {
	for _, sc := range scs {
		for _, v := range vs {
			if reason := harness.Skip(sc, v); reason != "" {
				skipped = append(skipped, reports.Skip{Scenario: sc.Name, Version: v.Name, Reason: reason})
				continue
			}
			for i := range max(seeds, 1) {
				jobs = append(jobs, job{sc, v, seed + uint64(i)})
			}
		}
	}
	return jobs, skipped
}

// run carries out the jobs and returns what came out, in their order. It fails
// with the first error of the harness; what was recorded by then stays.
func (b *batch) run(ctx context.Context, jobs []job, skipped []reports.Skip) (reports.Summary, error) {
	runs := make([]reports.Run, len(jobs))
	errs := make([]error, len(jobs))
	next := make(chan int)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	bar := b.app.progress(len(jobs))
	var workers sync.WaitGroup
	for range min(b.app.workers(), len(jobs)) {
		workers.Go(func() {
			for i := range next {
				if runs[i], errs[i] = b.one(ctx, jobs[i]); errs[i] != nil {
					stop()
				}
				_ = bar.Add(1) // a bar that cannot be drawn is not worth a word
			}
		})
	}
feed:
	for i := range jobs {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	_ = bar.Finish()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return reports.Summary{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return reports.Summary{}, fmt.Errorf("interrupted; the histories of the runs that ended are in %s", b.dir)
	}
	s := reports.Summary{Runs: runs, Skipped: skipped, AsExpected: true}
	for _, r := range runs {
		s.AsExpected = s.AsExpected && r.AsExpected
	}
	return s, b.save(s)
}

// one carries out one job and writes its history.
func (b *batch) one(ctx context.Context, j job) (reports.Run, error) {
	path := filepath.Join(b.dir, reports.HistoryFile(j.scenario.Name, j.version.Name, j.seed))
	f, err := os.Create(path)
	if err != nil {
		return reports.Run{}, err
	}
	out, err := harness.Do(ctx, harness.Setup{Scenario: j.scenario, Version: j.version, Testbed: b.testbed, Seed: j.seed, History: f})
	if err := errors.Join(err, f.Close()); err != nil {
		return reports.Run{}, err
	}
	r := judged(j, out)
	r.Testbed, r.History = b.testbed.Name(), path
	if !b.keep {
		r.Records = nil
	}
	if b.twice {
		again, err := harness.Do(ctx, harness.Setup{Scenario: j.scenario, Version: j.version, Testbed: b.testbed, Seed: j.seed, History: discard{}})
		if err != nil {
			return r, err
		}
		same := again.SHA256 == out.SHA256
		r.Deterministic = &same
	}
	return r, nil
}

// discard is io.Discard for a history that is only hashed.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// judged compares an outcome with what the scenario expects. A version that the
// scenario says nothing of is judged by the checks alone.
func judged(j job, out *harness.Outcome) reports.Run {
	r := reports.Run{
		Scenario: j.scenario.Name, Version: j.version.Name, Seed: j.seed,
		Undecided: out.Undecided, SHA256: out.SHA256, Records: out.History,
		Verdicts: map[string]checker.Verdict{}, Expected: map[string]checker.Verdict{}, Reasons: map[string]string{},
		AsExpected: out.Undecided == "",
	}
	listed := map[string]bool{}
	for _, name := range j.scenario.Checks {
		listed[name] = true
	}
	for _, res := range out.Results {
		r.Figures = append(r.Figures, res.Figures...)
		if !listed[res.Check] {
			continue // there for its figures
		}
		r.Verdicts[res.Check] = res.Verdict
		if res.Reason != "" {
			r.Reasons[res.Check] = res.Reason
		}
		r.Findings = append(r.Findings, res.Findings...)
		want := checker.Holds
		if text, ok := j.scenario.Expected(res.Check, j.version.Name); ok {
			if err := want.UnmarshalText([]byte(text)); err != nil {
				panic(err) // the loader lets no other word through
			}
			r.Expected[res.Check] = want
		}
		r.AsExpected = r.AsExpected && res.Verdict == want
	}
	return r
}

// status is the exit status that a summary asks for.
func status(s reports.Summary) int {
	code := statusOK
	for _, r := range s.Runs {
		switch {
		case r.AsExpected:
		case r.Undecided != "" || onlyUnknown(r):
			if code == statusOK {
				code = statusUndecided
			}
		default:
			code = statusViolated
		}
	}
	return code
}

// onlyUnknown reports whether nothing is wrong with a run but that some check
// could not say.
func onlyUnknown(r reports.Run) bool {
	for name, v := range r.Verdicts {
		want, ok := r.Expected[name]
		if !ok {
			want = checker.Holds
		}
		if v != checker.Unknown && v != want {
			return false
		}
	}
	return true
}

// save writes the summary next to the histories, whole or not at all.
func (b *batch) save(s reports.Summary) error {
	path := filepath.Join(b.dir, reports.SummaryFile)
	f, err := os.CreateTemp(b.dir, ".summary-*")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = errors.Join(reports.JSON(w, s), w.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// workers is how many runs go on at a time.
func (a *app) workers() int {
	if a.jobs > 0 {
		return a.jobs
	}
	return runtime.GOMAXPROCS(0)
}

// progress is drawn on a terminal only, for work that takes long enough.
func (a *app) progress(n int) *progressbar.ProgressBar {
	f, ok := a.err.(*os.File)
	visible := ok && term.IsTerminal(int(f.Fd())) && n > 20
	return progressbar.NewOptions(n, progressbar.OptionSetWriter(a.err), progressbar.OptionSetVisibility(visible),
		progressbar.OptionSetDescription("runs"), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
}

// newBatch prepares the output directory, before anything runs.
func (a *app) newBatch() (*batch, error) {
	dir, err := outputDir(a.dir)
	if err != nil {
		return nil, err
	}
	// virtual time that stands still cannot be stopped from within the process
	spins := func(err error) {
		fmt.Fprintf(a.err, "lockpick: %v; the history so far is in %s\n", err, dir)
		os.Exit(statusFailed)
	}
	return &batch{app: a, dir: dir, testbed: sim.New(sim.WithGuard(a.guard, spins))}, nil
}
