package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cheggaaa/pb/v3"
	"golang.org/x/term"

	"lockpick/impls"
	"lockpick/internal/harness"
	"lockpick/internal/testbed"
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
	app       *app
	dir       string
	testbed   testbed.Testbed
	scenarios []*scenarios.Scenario
	keep      bool // keep the histories in memory, for stories
	twice     bool // run everything a second time and compare
}

// plan pairs scenarios with versions; a pair that makes no sense is skipped.
func (b *batch) plan(vs []impls.Version, seed uint64, seeds int) (jobs []job, skipped []reports.Skip) {
	for _, sc := range b.scenarios {
		for _, v := range vs {
			if reason := b.skip(sc, v); reason != "" {
				skipped = append(skipped, reports.Skip{Scenario: sc.Name, Version: v.Name, Reason: reason})
				continue
			}
			for i := range seeds {
				jobs = append(jobs, job{sc, v, seed + uint64(i)})
			}
		}
	}
	return jobs, skipped
}

// run carries out the jobs and returns what came out, in their order. One that
// could not be carried out is among them. The error is the first one that concerns
// all of them; what was recorded by then stays.
func (b *batch) run(ctx context.Context, jobs []job, skipped []reports.Skip) (reports.Summary, error) {
	runs := make([]reports.Run, len(jobs))
	errs := make([]error, len(jobs))
	next := make(chan int)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	bar := b.app.progress(len(jobs))
	var workers sync.WaitGroup
	for range min(b.workers(), len(jobs)) {
		workers.Go(func() {
			for i := range next {
				if runs[i], errs[i] = b.one(ctx, jobs[i]); errs[i] != nil {
					stop()
				}
				bar.Increment()
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
	bar.Finish()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return reports.Summary{}, err
		}
	}
	if ctx.Err() != nil {
		ended := slices.DeleteFunc(runs, func(r reports.Run) bool { return r.History == "" })
		return reports.Summary{}, fmt.Errorf("interrupted after %d of %d runs; their histories are in %s", len(ended), len(jobs), b.dir)
	}
	s := reports.Summary{Runs: runs, Skipped: skipped, AsExpected: len(runs) > 0} // what was skipped is no pass
	for _, r := range runs {
		s.AsExpected = s.AsExpected && r.AsExpected
	}
	return s, b.save(s)
}

// one carries out one job and writes its history.
func (b *batch) one(ctx context.Context, j job) (reports.Run, error) {
	if err := ctx.Err(); err != nil {
		return reports.Run{}, err // a run that does not begin leaves no file
	}
	path := filepath.Join(b.dir, reports.HistoryFile(j.scenario.Name, j.version.Name, j.seed))
	f, err := os.Create(path)
	if err != nil {
		return reports.Run{}, err
	}
	w := &watched{Writer: f}
	out, failure := b.do(ctx, j, w)
	for try := 1; try < disturbances && failure == nil && out.Disturbed; try++ {
		if err := rewind(f); err != nil {
			return reports.Run{}, errors.Join(err, f.Close())
		}
		out, failure = b.do(ctx, j, w)
	}
	if err := errors.Join(w.err, f.Close()); err != nil {
		return reports.Run{}, err // the next history could not be written either
	}
	if ctx.Err() != nil && errors.Is(failure, context.Canceled) {
		if b.simulates() {
			_ = os.Remove(path) // there a run is not cancelled once it has begun, so it holds nothing
		}
		return reports.Run{}, failure
	}
	var r reports.Run
	if failure == nil {
		r = judged(j, out)
		if b.twice {
			var again *harness.Outcome
			again, failure = b.do(ctx, j, io.Discard)
			same := failure == nil && again.SHA256 == out.SHA256
			r.Deterministic = &same
		}
	}
	if failure != nil {
		if r, err = failed(j, failure, path, r.Deterministic); err != nil {
			return reports.Run{}, err
		}
	}
	r.Testbed, r.History = b.testbed.Name(), path
	r.Again = b.again(r)
	if !b.keep {
		r.Records = nil
	}
	return r, nil
}

// disturbances is how often a run is tried that shows nothing since it was disturbed.
const disturbances = 4

// rewind empties a file.
func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return errors.Join(err, f.Truncate(0))
}

func (b *batch) do(ctx context.Context, j job, history io.Writer) (*harness.Outcome, error) {
	return harness.Do(ctx, harness.Setup{Scenario: j.scenario, Version: j.version, Testbed: b.testbed, Seed: j.seed, Scale: b.scaleOf(j.scenario), History: history})
}

// watched remembers the first error of its Writer.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// progress is drawn on a terminal only, for work that takes long enough.
func (a *app) progress(n int) *pb.ProgressBar {
	bar := pb.Simple.New(n).SetWriter(a.err).Set(pb.CleanOnFinish, true)
	if f, ok := a.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && n > 20 {
		bar.Start()
	}
	return bar
}

// newBatch prepares the output directory, before anything runs.
func (a *app) newBatch(ctx context.Context, scs []*scenarios.Scenario) (*batch, error) {
	dir, err := outputDir(a.dir)
	if err != nil {
		return nil, err
	}
	for _, s := range scs {
		if err := a.keepScenario(dir, s.Name); err != nil {
			return nil, err
		}
	}
	if err := forgetSummary(dir); err != nil {
		return nil, err
	}
	bed, err := a.newTestbed(ctx, a.testbed, dir)
	if err != nil {
		return nil, err
	}
	return &batch{app: a, dir: dir, scenarios: scs, testbed: bed}, nil
}
