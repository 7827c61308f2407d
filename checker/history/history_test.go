package history_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/checker/history"
)

func header() history.Header {
	return history.Header{
		Lockpick: history.Format, Scenario: "gc-pause", Version: "lua-release", Testbed: "sim", Seed: 7,
		Topology:  history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1},
		Lock:      history.Lock{Key: "order:123", TTL: 30 * time.Second, Wait: time.Minute},
		Workload:  history.Workload{Resource: "stock", Initial: 200, Clients: []string{"client-1"}, Rounds: 1, Heed: true},
		Bounds:    history.Bounds{Availability: time.Second, CommandsPerAcquire: 2.5, RenewalsPerTTL: 4},
		TimeScale: 1, Software: map[string]string{"go": "go1.26"}, Labels: []string{"owners are not unique"},
	}
}

// several is the header of a run with several locks and threads.
func several() history.Header {
	h := header()
	h.Lock.Key, h.Lock.Count = "order", 2
	h.Workload.Clients, h.Workload.Threads = []string{"client-1", "client-2", "client-3", "client-4"}, 2
	h.Bounds.Throughput = 0.5
	return h
}

func mustRecorder(tb testing.TB, w *bytes.Buffer) *history.Recorder {
	tb.Helper()
	r, err := history.NewRecorder(w, header())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// records has every field in use somewhere.
func records() []history.Record {
	return []history.Record{
		{T: 1, Who: "client-1", Kind: history.Invoke, Op: history.Acquire, ID: 1, Round: 1, Key: "order:123"},
		{T: 2, Who: "redis-1", Kind: history.Observe, Op: history.Command, Client: "client-1", Command: []string{"SET", "order:123", "<a>&\n"}, Reply: "OK", Sent: 1},
		{T: 2, Who: "redis-1", Kind: history.Observe, Op: history.Granted, Key: "order:123", Owner: "a", Holder: "client-1", Client: "client-1", TTL: history.NoTTL},
		{T: 3, Who: "client-1", Kind: history.OK, Op: history.Acquire, ID: 1, Round: 1, Owner: "a", Fence: 9, Until: 30},
		{T: 4, Who: history.World, Kind: history.Fault, Op: "pause", Target: "client-1", For: 5, Text: history.Struck, Error: "x"},
		{T: 5, Who: "client-1", Kind: history.Invoke, Op: history.Write, ID: 2, Value: history.Int(0), Was: "1"},
		{T: 6, Who: "client-1", Kind: history.Unknown, Op: history.Write, ID: 2},
	}
}

func TestRoundTrip(t *testing.T) {
	var file bytes.Buffer
	r := mustRecorder(t, &file)
	for _, rec := range records() {
		r.Add("one", rec)
	}
	h, sum, err := r.Close(9, "undecided: why")
	if err != nil || len(sum) != 64 {
		t.Fatalf("Close = %q, %v", sum, err)
	}
	got, err := history.Decode(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, h) {
		t.Errorf("decoded\n%+v\nrecorded\n%+v", got, h)
	}
	if !got.Complete || len(got.Records) != len(records())+1 {
		t.Errorf("complete %t with %d records", got.Complete, len(got.Records))
	}
}

// A header says of locks and threads only that there are several, so that what was
// recorded before there could be is still what is recorded.
func TestHeaderOfOneLockSaysNothingOfSeveral(t *testing.T) {
	for name, h := range map[string]history.Header{"one": header(), "several": several()} {
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{`"count"`, `"threads"`, `"throughput"`} {
			if got := strings.Contains(string(text), field); got != (name == "several") {
				t.Errorf("%s: the header has %s: %v: %s", name, field, got, text)
			}
		}
		var file bytes.Buffer
		r, err := history.NewRecorder(&file, h)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Close(1, ""); err != nil {
			t.Fatal(err)
		}
		if got, err := history.Decode(&file); err != nil || !reflect.DeepEqual(got.Header, h) {
			t.Errorf("%s: read back as %+v, %v", name, got.Header, err)
		}
	}
}

func TestNamesOfLocks(t *testing.T) {
	for _, tt := range []struct {
		lock history.Lock
		n    int
		want string
	}{
		{history.Lock{Key: "order:123"}, 1, "order:123"},
		{history.Lock{Key: "order:123", Count: 1}, 1, "order:123"},
		{history.Lock{Key: "order", Count: 20}, 1, "order:1"},
		{history.Lock{Key: "order", Count: 20}, 20, "order:20"},
	} {
		if got := tt.lock.KeyOf(tt.n); got != tt.want {
			t.Errorf("lock %d of %+v is %q, want %q", tt.n, tt.lock, got, tt.want)
		}
	}
}

func TestProcessOfAThread(t *testing.T) {
	clients := []string{"a", "b", "c", "d", "e"}
	for _, tt := range []struct {
		threads int
		client  string
		want    string
	}{
		{0, "b", "b"}, {1, "b", "b"}, {2, "a", "a b"}, {2, "b", "a b"}, {2, "c", "c d"}, {2, "e", "e"}, {5, "d", "a b c d e"}, {2, "probe", "probe"},
	} {
		w := history.Workload{Clients: clients, Threads: tt.threads}
		if got := strings.Join(w.Process(tt.client), " "); got != tt.want {
			t.Errorf("with %d threads, the process of %s is %q, want %q", tt.threads, tt.client, got, tt.want)
		}
	}
}

// Every prefix of a file is a history of the records whose lines are whole.
func TestDecodeTruncated(t *testing.T) {
	var file bytes.Buffer
	r := mustRecorder(t, &file)
	for _, rec := range records() {
		r.Add("one", rec)
	}
	if _, _, err := r.Close(9, ""); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	first := bytes.IndexByte(whole, '\n') + 1
	for n := first; n < len(whole)-1; n++ {
		h, err := history.Decode(bytes.NewReader(whole[:n]))
		if h == nil || h.Complete {
			t.Fatalf("cut after %d bytes: %+v, %v", n, h, err)
		}
		lines := bytes.Count(whole[:n], []byte("\n")) - 1
		inside := whole[n-1] != '\n'
		var at *history.LineError
		switch {
		case !inside && err != nil:
			t.Errorf("cut after %d bytes, between lines: %v", n, err)
		case !inside && len(h.Records) != lines:
			t.Errorf("cut after %d bytes: %d records, want %d", n, len(h.Records), lines)
		case inside && whole[n] == '\n': // the line is whole but for its end
		case inside && (!errors.As(err, &at) || at.Line != lines+2):
			t.Errorf("cut after %d bytes, in line %d: %v", n, lines+2, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	head, err := json.Marshal(header())
	if err != nil {
		t.Fatal(err)
	}
	const invoke = `{"t":5,"who":"c","kind":"invoke","op":"acquire","id":1}`
	const note = `{"t":5,"who":"world","kind":"note","op":"end"}`
	with := func(change func(*history.Header)) string {
		h := several()
		change(&h)
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	older := strings.Replace(string(head), `"lockpick":1`, `"lockpick":2`, 1)
	tests := []struct {
		name, text string
		line       int
		want       string
	}{
		{"nothing", "", 1, "empty"},
		{"a foreign file", "hello\nworld\n", 1, "not a lockpick history"},
		{"foreign JSON", `{"type":"invoke"}`, 1, "not a lockpick history"},
		{"another format", older, 1, "format 2"},
		{"an unknown field in the header", strings.Replace(string(head), `"seed"`, `"sead"`, 1), 1, "sead"},
		{"a negative number of locks", with(func(h *history.Header) { h.Lock.Count = -1 }), 1, "-1 locks do not fit 4 clients"},
		{"more locks than clients", with(func(h *history.Header) { h.Lock.Count = 5 }), 1, "5 locks do not fit 4 clients"},
		{"several locks of several keys", with(func(h *history.Header) { h.Lock.Also = []string{"order:9"} }), 1, "one of several keys"},
		{"negative threads", with(func(h *history.Header) { h.Workload.Threads = -2 }), 1, "-2 threads do not fit 4 clients"},
		{"more threads than clients", with(func(h *history.Header) { h.Workload.Threads = 5 }), 1, "5 threads do not fit 4 clients"},
		{"a header without nodes", `{"lockpick":1,"scenario":"s","version":"v","testbed":"t"}`, 1, "no nodes"},
		{"an unknown field", string(head) + "\n" + invoke + "\n" + `{"t":6,"who":"c","kind":"ok","op":"acquire","id":1,"token":"x"}`, 3, "token"},
		{"time that runs backwards", string(head) + "\n" + invoke + "\n" + `{"t":4,"who":"c","kind":"ok","op":"acquire","id":1}`, 3, "backwards"},
		{"negative time", string(head) + "\n" + `{"t":-1,"who":"c","kind":"note","op":"x"}`, 2, "backwards"},
		{"an end without a begin", string(head) + "\n" + `{"t":4,"who":"c","kind":"ok","op":"acquire","id":1}`, 2, "without having begun"},
		{"a second begin", string(head) + "\n" + invoke + "\n" + invoke, 3, "begins twice"},
		{"a second end", string(head) + "\n" + invoke + strings.Repeat("\n"+`{"t":6,"who":"c","kind":"ok","op":"acquire","id":1}`, 2), 4, "without having begun"},
		{"an end of another's operation", string(head) + "\n" + invoke + "\n" + `{"t":6,"who":"d","kind":"ok","op":"acquire","id":1}`, 3, "began as"},
		{"no id", string(head) + "\n" + `{"t":6,"who":"d","kind":"ok","op":"acquire"}`, 2, "no id"},
		{"a kind that is none", string(head) + "\n" + `{"t":6,"who":"d","kind":"info","op":"acquire"}`, 2, "not a kind"},
		{"nobody", string(head) + "\n" + `{"t":6,"kind":"note","op":"x"}`, 2, "needs"},
		{"something after the end", string(head) + "\n" + note + "\n" + invoke, 3, "after the end"},
		{"an empty line", string(head) + "\n\n" + invoke, 2, "middle"},
		{"two records on a line", string(head) + "\n" + invoke + note, 2, "more than one"},
		{"a line without end", string(head) + "\n" + strings.Repeat("x", history.MaxLine+1), 2, "too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := history.Decode(strings.NewReader(tt.text))
			var at *history.LineError
			if !errors.As(err, &at) {
				t.Fatalf("Decode = %v, %v", h, err)
			}
			if at.Line != tt.line || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want line %d and %q", err, tt.line, tt.want)
			}
			if h != nil && h.Complete {
				t.Error("the history counts as complete")
			}
		})
	}
}

// Records of one instant are ordered by source, whatever order they come in.
func TestRecorderOrder(t *testing.T) {
	want := ""
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		var file bytes.Buffer
		r := mustRecorder(t, &file)
		var wg sync.WaitGroup
		for _, source := range order {
			wg.Add(1)
			func() {
				defer wg.Done()
				for i := range 3 {
					r.Add(source, history.Record{T: 5, Who: source, Kind: history.Note, Op: fmt.Sprint(i)})
				}
			}()
		}
		wg.Wait()
		// a source that sorts after the recorder's own must still come before the end
		r.Add("列", history.Record{T: 6, Who: "列", Kind: history.Note, Op: "last"})
		_, sum, err := r.Close(6, "")
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = sum
		}
		if sum != want {
			t.Errorf("order %v gives another file:\n%s", order, file.String())
		}
		if h, err := history.Decode(&file); err != nil || !h.Complete {
			t.Errorf("Decode: %v", err)
		}
	}
}

func TestRecorderConcurrent(t *testing.T) {
	var file bytes.Buffer
	r := mustRecorder(t, &file)
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 100 {
				r.Add(fmt.Sprint("source ", c), history.Record{T: 5, Who: "w", Kind: history.Note, Op: fmt.Sprint(i)})
			}
		}()
	}
	wg.Wait()
	h, _, err := r.Close(6, "")
	if err != nil || len(h.Records) != 801 {
		t.Fatalf("%d records, %v", len(h.Records), err)
	}
	for i, rec := range h.Records[:800] {
		if rec.Op != fmt.Sprint(i%100) {
			t.Fatalf("record %d is %q", i, rec.Op)
		}
	}
}

func TestRecorderRefusesThePast(t *testing.T) {
	tests := []struct {
		name  string
		flush bool
	}{
		{"while the later record is held back", false},
		{"after the later record was written", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var file bytes.Buffer
			r := mustRecorder(t, &file)
			r.Add("a", history.Record{T: 5, Who: "a", Kind: history.Note, Op: "x"})
			if tt.flush {
				if err := r.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			r.Add("b", history.Record{T: 4, Who: "b", Kind: history.Note, Op: "y"})
			h, _, err := r.Close(6, "")
			if err == nil || h.Complete {
				t.Errorf("Close = complete %t, %v", h.Complete, err)
			}
			again, err := history.Decode(&file)
			if err != nil || again.Complete {
				t.Errorf("the file counts as complete %t, %v", again.Complete, err)
			}
		})
	}
}

type brokenWriter struct{ left int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(b), nil
}

func TestRecorderTellsOfAFullDisk(t *testing.T) {
	r, err := history.NewRecorder(&brokenWriter{left: 1000}, header())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		r.Add("a", history.Record{T: time.Duration(i), Who: "a", Kind: history.Note, Op: "x"})
	}
	h, _, err := r.Close(2000, "")
	if err == nil || h.Complete {
		t.Errorf("Close = complete %t, %v", h.Complete, err)
	}
	if _, err := history.NewRecorder(&brokenWriter{}, header()); err == nil {
		t.Error("NewRecorder does not tell that it could not write")
	}
	if _, err := history.NewRecorder(&bytes.Buffer{}, history.Header{}); err == nil {
		t.Error("NewRecorder takes an empty header")
	}
}

// Whatever comes no later than the recorder allows is written in order, by time,
// then source, then as it came.
func TestRecorderTakesLateRecords(t *testing.T) {
	const lag = 10
	rng := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		var file bytes.Buffer
		r, err := history.NewRecorder(&file, header(), history.Late(lag))
		if err != nil {
			t.Fatal(err)
		}
		newest := time.Duration(0)
		for i := range 50 {
			at := max(newest+time.Duration(rng.IntN(2*lag)-lag), 0)
			newest = max(newest, at)
			source := string('a' + rune(rng.IntN(3)))
			r.Add(source, history.Record{T: at, Who: source, Kind: history.Note, Op: "x", ID: i + 1})
		}
		h, _, err := r.Close(newest, "")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(h.Records); n != 51 || h.Records[50].Op != history.End {
			t.Fatalf("%d records, the last of them %s", n, h.Records[n-1].Op)
		}
		if !slices.IsSortedFunc(h.Records[:50], func(a, b history.Record) int {
			return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Who, b.Who), cmp.Compare(a.ID, b.ID))
		}) {
			t.Errorf("not in order: %v", h.Records)
		}
		if read, err := history.Decode(&file); err != nil || !slices.EqualFunc(read.Records, h.Records, func(a, b history.Record) bool { return a.ID == b.ID }) {
			t.Errorf("the file says otherwise (%v)", err)
		}
	}
}

func TestRecorderRefusesWhatIsTooLate(t *testing.T) {
	tests := []struct {
		name  string
		lag   time.Duration
		flush bool
		at    time.Duration // after a record at 100
		ok    bool
	}{
		{"of the same instant", 0, false, 100, true},
		{"of an instant before", 0, false, 99, false},
		{"as late as allowed", 10, false, 90, true},
		{"later than allowed", 10, false, 89, false},
		{"from before what was written", 10, true, 99, false},
		{"with what was written", 10, true, 100, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := history.NewRecorder(io.Discard, header(), history.Late(tt.lag))
			if err != nil {
				t.Fatal(err)
			}
			note := func(at time.Duration) { r.Add("a", history.Record{T: at, Who: "a", Kind: history.Note, Op: "x"}) }
			note(100)
			if tt.flush {
				if err := r.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			note(tt.at)
			h, _, err := r.Close(200, "")
			if (err == nil) != tt.ok || h.Complete != tt.ok {
				t.Errorf("Close = complete %t, %v; want it to be well: %t", h.Complete, err, tt.ok)
			}
		})
	}
}

// FuzzDecode: what can be read can be written and read again; nothing panics.
func FuzzDecode(f *testing.F) {
	var file bytes.Buffer
	r, err := history.NewRecorder(&file, header())
	if err != nil {
		f.Fatal(err)
	}
	for _, rec := range records() {
		r.Add("one", rec)
	}
	if _, _, err := r.Close(9, ""); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:file.Len()/2])
	f.Add([]byte("{}"))
	if head, err := json.Marshal(several()); err == nil {
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := history.Decode(bytes.NewReader(b))
		if err != nil {
			if h != nil && h.Complete {
				t.Fatal("an error, and complete")
			}
			return
		}
		var again bytes.Buffer
		r, err := history.NewRecorder(&again, h.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range h.Records {
			if h.Complete && rec.Op == history.End && rec.Kind == history.Note {
				if _, _, err := r.Close(rec.T, rec.Text); err != nil {
					t.Fatal(err)
				}
				continue
			}
			r.Add("one", rec)
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := history.Decode(&again)
		if err != nil {
			t.Fatal(err)
		}
		if got.Complete != h.Complete || len(got.Records) != len(h.Records) {
			t.Fatalf("the round trip changed the history")
		}
	})
}
