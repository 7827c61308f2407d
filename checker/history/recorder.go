package history

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Recorder writes a history as it happens. It is safe for concurrent use.
//
// Records of one instant may be added by several goroutines in any order. The
// recorder sorts them by source, so that equal runs give equal files: it holds
// back the records of the newest instant until a later one arrives, or Flush. Where
// records may come late (Late), it holds back those of so long a time.
type Recorder struct {
	lag time.Duration

	mu      sync.Mutex
	out     *bufio.Writer
	sum     hash.Hash
	line    []byte    // the newest, to be used again
	pending []pending // not written yet
	seq     int
	newest  time.Duration // the instant of the newest record
	settled time.Duration // the instant of the newest record that was written
	history History
	err     error
}

// Option changes a Recorder.
type Option func(*Recorder)

// Late lets records arrive by up to d after newer ones. Without it none may.
func Late(d time.Duration) Option { return func(r *Recorder) { r.lag = d } }

type pending struct {
	source string
	seq    int
	rec    Record
}

// bufferSize is what may be lost of a history whose process is killed, in bytes:
// some 20 records.
const bufferSize = 4 << 10

// usual is how many records a short run has: growing up to there would allocate
// more than all else does.
const usual = 192

// NewRecorder writes the header to w, at once, and returns a recorder for the
// run. The error is a header that is not valid or a write that failed.
func NewRecorder(w io.Writer, h Header, opts ...Option) (*Recorder, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	r := &Recorder{sum: sha256.New(), history: History{Header: h, Records: make([]Record, 0, usual)}}
	for _, o := range opts {
		o(r)
	}
	r.out = bufio.NewWriterSize(io.MultiWriter(w, r.sum), bufferSize)
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	r.write(append(b, '\n'))
	r.flush()
	return r, r.err
}

// Add takes a record of the given source: whoever adds records one after the
// other. Two goroutines that may add at the same instant need two sources; the
// names decide the order within the instant. A record that is later than the
// recorder allows, or older than one that was already written, is an error that
// Close returns.
func (r *Recorder) Add(source string, rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec.T < max(r.newest-r.lag, r.settled) {
		r.fail(fmt.Errorf("history: %s of %s at %v arrives after %v was recorded", rec.Op, rec.Who, rec.T, r.newest))
		return
	}
	if rec.T > r.newest {
		r.newest = rec.T
		r.settle(rec.T - r.lag - 1)
	}
	r.seq++
	r.pending = append(r.pending, pending{source, r.seq, rec})
}

// settle writes the records up to the instant, and of it, in their order.
func (r *Recorder) settle(upTo time.Duration) {
	ready := 0
	for i := range r.pending {
		if r.pending[i].rec.T <= upTo {
			ready++
		}
	}
	if ready == 0 {
		return
	}
	if len(r.pending) > 1 {
		slices.SortFunc(r.pending, byTime)
	}
	if n := len(r.history.Records); n+ready > cap(r.history.Records) {
		r.history.Records = slices.Grow(r.history.Records, n) // twofold: a record is large, and append would copy it more often
	}
	for i := range ready {
		r.line = appendRecord(r.line[:0], &r.pending[i].rec)
		r.write(r.line)
		r.history.Records = append(r.history.Records, r.pending[i].rec)
		r.settled = r.pending[i].rec.T
	}
	r.pending = slices.Delete(r.pending, 0, ready)
}

// byTime orders what is pending: those of one instant by their source.
func byTime(a, b pending) int {
	switch {
	case a.rec.T != b.rec.T:
		return cmp.Compare(a.rec.T, b.rec.T)
	case a.source != b.source:
		return strings.Compare(a.source, b.source)
	default:
		return a.seq - b.seq
	}
}

func (r *Recorder) write(line []byte) {
	if _, err := r.out.Write(line); err != nil {
		r.fail(err)
	}
}

// Newest is the time of the newest record.
func (r *Recorder) Newest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// Flush hands everything that was added to the underlying writer. After it, a
// record of the newest instant may still be added, and none from before.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(math.MaxInt64)
	r.flush()
	return r.err
}

func (r *Recorder) flush() {
	if err := r.out.Flush(); err != nil {
		r.fail(err)
	}
}

func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// last is a source that sorts after every name.
const last = "\U0010FFFF"

// Close ends the history at time t with an End note, whose text is empty or
// says why the run is undecided, and returns what was recorded with the
// hexadecimal SHA-256 of the file. The error is the first that any write met.
// A history that lacks a record because of it gets no End, so that whoever reads
// the file sees that it is cut short.
func (r *Recorder) Close(t time.Duration, text string) (*History, string, error) {
	if r.Flush() == nil {
		r.Add(last, Record{T: t, Who: World, Kind: Note, Op: End, Text: text})
	}
	err := r.Flush()
	r.history.Complete = err == nil
	return &r.history, hex.EncodeToString(r.sum.Sum(nil)), err
}
