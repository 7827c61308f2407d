package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/faults"
	"lockpick/internal/keyspace"
	"lockpick/internal/resource"
	"lockpick/internal/tap"
	"lockpick/internal/testbed"
)

// bare is a world without servers and processes, whose clients have a store.
func bare(t *testing.T, clients ...string) *world {
	t.Helper()
	rec, err := history.NewRecorder(io.Discard, history.Header{
		Lockpick: history.Format, Scenario: "bare", Version: "none", Testbed: "live",
		Topology: history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1}, Workload: history.Workload{Clients: clients},
	}, history.Late(Lag))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	w := &world{
		spec: testbed.Spec{Clients: clients, Store: "store", Recorder: rec, Scale: 0.05}, labels: keyspace.NewLabels(), ctx: ctx, stop: stop, start: time.Now(),
		command: func() *exec.Cmd { return exec.Command("lockpick-no-such-program") },
		clients: map[string]*client{}, nodes: map[string]*node{}, wires: map[string]*wire{},
	}
	w.ended.Store(never)
	w.store = resource.NewStore("store", true, w.record)
	w.enlist()
	return w
}

var link = faults.Link{Client: "client-1", Node: "store"}

// A request to the store is lost over a cut link, comes late over a held one, and
// has no answer while that is lost.
func TestStoreOverTheLink(t *testing.T) {
	ctx := t.Context()
	w := bare(t, "client-1", "client-2")
	one, two := w.Client("client-1"), w.Client("client-2")
	value := func() int64 {
		t.Helper()
		v, err := two.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(one.Write(ctx, 1, 0))
	if got := value(); got != 1 {
		t.Fatalf("it is %d", got)
	}

	must(w.Cut(link, faults.ToNode))
	if err := one.Write(ctx, 2, 0); !errors.Is(err, os.ErrDeadlineExceeded) || value() != 1 {
		t.Errorf("over a cut link: %v, and it is %d", err, value())
	}
	if !w.troubled() {
		t.Error("a cut is no trouble")
	}
	must(w.Mend(link, faults.ToNode))
	if w.troubled() {
		t.Error("a cut that was mended is trouble")
	}

	must(w.Cut(link, faults.ToClient))
	if err := one.Write(ctx, 3, 0); !errors.Is(err, os.ErrDeadlineExceeded) || value() != 3 {
		t.Errorf("when the answer is lost: %v, and it is %d", err, value())
	}
	must(w.Mend(link, faults.ToClient))

	must(w.Hold(link, faults.ToNode))
	held := make(chan error)
	go func() { held <- one.Write(ctx, 4, 0) }()
	if err := <-held; !errors.Is(err, os.ErrDeadlineExceeded) || value() != 3 {
		t.Errorf("over a held link: %v, and it is %d", err, value())
	}
	must(two.Write(ctx, 5, 0))
	must(w.Release(link, faults.ToNode))
	if got := value(); got != 4 {
		t.Errorf("after the release it is %d, want what came late", got)
	}

	must(w.Slow(link, faults.Both, 20*time.Millisecond))
	before := time.Now()
	must(one.Write(ctx, 6, 0))
	if took := time.Since(before); took < 40*time.Millisecond {
		t.Errorf("over a slow link it takes %v", took)
	}
	if err := w.Cut(faults.Link{Client: "client-9", Node: "store"}, faults.Both); err == nil {
		t.Error("a link that is not there can be cut")
	}
}

// Whoever works for a paused client stands still, and goes on when the last pause
// is over; whoever works for one that has crashed is told.
func TestGate(t *testing.T) {
	w := bare(t, "client-1")
	c := w.clients["client-1"]
	pass := func() chan struct{} {
		passed := make(chan struct{})
		go func() {
			c.Checkpoint()
			close(passed)
		}()
		return passed
	}
	blocked := func(what string, passed chan struct{}) {
		t.Helper()
		select {
		case <-passed:
			t.Fatal(what)
		case <-time.After(3 * waking):
		}
	}
	open := func(what string, passed chan struct{}) {
		t.Helper()
		select {
		case <-passed:
		case <-time.After(10 * time.Second):
			t.Fatal(what)
		}
	}
	open("it does not run", pass())
	if err := errors.Join(w.Pause("client-1"), w.Pause("client-1")); err != nil {
		t.Fatal(err)
	}
	passed := pass()
	blocked("a paused client goes on", passed)
	if err := w.Resume("client-1"); err != nil {
		t.Fatal(err)
	}
	blocked("it goes on after one pause of two", passed)
	if err := errors.Join(w.Resume("client-1"), w.Pause("client-1")); err != nil { // before it has gone on
		t.Fatal(err)
	}
	blocked("it goes on in the midst of the next pause", passed)
	if err := w.Resume("client-1"); err != nil {
		t.Fatal(err)
	}
	open("it does not go on", passed)

	if err := w.Pause("client-1"); err != nil {
		t.Fatal(err)
	}
	passed = pass()
	if err := w.Crash("client-1"); err != nil {
		t.Fatal(err)
	}
	open("whoever waited for a client that is dead waits for ever", passed)
	if c.Alive() || c.Context().Err() == nil {
		t.Errorf("it is alive: %t, %v", c.Alive(), c.Context().Err())
	}
	if _, err := c.Read(t.Context()); err == nil {
		t.Error("a client that has crashed reads")
	}
}

// Threads of a process pause, crash and count together.
func TestThreads(t *testing.T) {
	w := bare(t, "client-1")
	w.spec.Clients, w.spec.Processes = []string{"client-1", "client-2", "client-3"}, map[string]int{"client-1": 1, "client-2": 1, "client-3": 2}
	w.enlist()
	if one, two, three := w.clients["client-1"], w.clients["client-2"], w.clients["client-3"]; one.process != two.process || one.process == three.process {
		t.Fatal("they are not the threads that they should be")
	}
	if err := w.Crash("client-1"); err != nil {
		t.Fatal(err)
	}
	if w.clients["client-2"].Alive() || !w.clients["client-3"].Alive() {
		t.Error("a crash strikes others than the threads of the process")
	}
}

// While a fault is at work, nobody can be sure of all answers.
func TestAnswersInTrouble(t *testing.T) {
	w := bare(t, "client-1")
	c := w.clients["client-1"]
	c.process.change(func(a *testbed.Answers) { a.Sent++ })
	if a, b := c.Answers(), c.Answers(); a != b || a.Missed > 0 {
		t.Errorf("without a fault: %+v, then %+v", a, b)
	}
	w.trouble(1)
	if a, b := c.Answers(), c.Answers(); a.Missed == b.Missed {
		t.Errorf("with a fault: %+v, then %+v", a, b)
	}
	c.process.change(func(a *testbed.Answers) { a.Waiting++ })
	go c.process.change(func(a *testbed.Answers) { a.Waiting-- })
	if got := c.Answers(); got.Waiting > 0 {
		t.Errorf("an answer that is on its way to be counted: %+v", got)
	}
}

// Commands are numbered over the run, and within each phase.
func TestCommandNumbers(t *testing.T) {
	w := bare(t, "client-1")
	c := w.clients["client-1"]
	var got [][2]int
	count := func() {
		p := c.count("redis-1", "SET")
		got = append(got, [2]int{p.Number, p.PhaseNumber})
	}
	c.Enter(faults.InAcquire)
	count()
	count()
	c.Enter(faults.InHold)
	c.Enter(faults.InRelease)
	count()
	c.Enter(faults.InAcquire)
	count()
	if want := [][2]int{{1, 1}, {2, 2}, {3, 1}, {4, 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The shadow is corrected by an answer about the end that it had when the question
// came by, and by no other.
func TestCorrector(t *testing.T) {
	at := time.Now().Truncate(time.Millisecond)
	set := func(s *tap.Shadow, ms string) {
		s.Apply(tap.Line{At: at, From: "a", Args: []string{"SET", "k", "v", "PX", ms}}, "client-1")
	}
	later := at.Add(1001 * time.Millisecond)
	answer := fmt.Appendf(nil, ":%d\r\n", later.UnixMilli())
	tests := []struct {
		name string
		do   func(c *corrector, s *tap.Shadow)
		want time.Time
	}{
		{"heard and answered", func(c *corrector, s *tap.Shadow) { c.heard(s, "k"); c.answer("k", answer) }, later},
		{"answered and heard", func(c *corrector, s *tap.Shadow) { c.answer("k", answer); c.heard(s, "k") }, later},
		{"heard alone", func(c *corrector, s *tap.Shadow) { c.heard(s, "k") }, at.Add(time.Second)},
		{"the key has another end by now", func(c *corrector, s *tap.Shadow) { c.heard(s, "k"); set(s, "2000"); c.answer("k", answer) }, at.Add(2 * time.Second)},
		{"of another key", func(c *corrector, s *tap.Shadow) { c.heard(s, "k"); c.answer("other", answer) }, at.Add(time.Second)},
		{"no number", func(c *corrector, s *tap.Shadow) { c.heard(s, "k"); c.answer("k", []byte("-LOADING\r\n")) }, at.Add(time.Second)},
		{"the key is gone", func(c *corrector, s *tap.Shadow) { c.heard(s, "k"); c.answer("k", []byte(":-2\r\n")) }, at.Add(time.Second)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := tap.NewShadow(keyspace.NewLabels(), func(time.Time, history.Record) {})
			if err != nil {
				t.Fatal(err)
			}
			set(s, "1000")
			tt.do(newCorrector(&node{shadow: s}), s)
			if got := s.End("k"); !got.Equal(tt.want) {
				t.Errorf("it ends at %v, want %v", got, tt.want)
			}
		})
	}
}

// A process that got no time to run is noticed.
func TestWatch(t *testing.T) {
	at := func(ms ...int) (all []time.Time) {
		for _, one := range ms {
			all = append(all, time.Unix(0, 0).Add(time.Duration(one)*time.Millisecond))
		}
		return all
	}
	if err := disturbed(at(0, 5, 10, 60, 65)); err != nil {
		t.Errorf("a little late: %v", err)
	}
	if err := disturbed(at(0, 5, 505, 510)); !errors.Is(err, testbed.ErrDisturbed) || !strings.Contains(err.Error(), "495ms") {
		t.Errorf("half a second late: %v", err)
	}
	stop := watch()
	if err := stop(); err != nil && !errors.Is(err, testbed.ErrDisturbed) {
		t.Error(err)
	}
}
