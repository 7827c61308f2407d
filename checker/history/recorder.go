package history

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"
	"time"
)

// Recorder writes a history as it happens. It is safe for concurrent use.
//
// Records of one instant may be added by several goroutines in any order. The
// recorder sorts them by source, so that equal runs give equal files: it holds
// back the records of the newest instant until a later one arrives, or Flush.
type Recorder struct {
	mu      sync.Mutex
	out     *bufio.Writer
	sum     hash.Hash
	line    []byte    // the newest, to be used again
	pending []pending // of one instant
	seq     int
	settled time.Duration // the instant of the newest record that was written
	history History
	err     error
}

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
func NewRecorder(w io.Writer, h Header) (*Recorder, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	r := &Recorder{sum: sha256.New(), history: History{Header: h, Records: make([]Record, 0, usual)}}
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
// names decide the order within the instant. A record that is older than one
// that was already written is an error that Close returns.
func (r *Recorder) Add(source string, rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := r.newest()
	if rec.T < newest {
		r.fail(fmt.Errorf("history: %s of %s at %v arrives after %v was recorded", rec.Op, rec.Who, rec.T, newest))
		return
	}
	if rec.T > newest {
		r.settle()
	}
	r.seq++
	r.pending = append(r.pending, pending{source, r.seq, rec})
}

// settle writes the records of the pending instant in their order.
func (r *Recorder) settle() {
	if len(r.pending) > 1 {
		slices.SortFunc(r.pending, func(a, b pending) int {
			if a.source != b.source {
				if a.source < b.source {
					return -1
				}
				return 1
			}
			return a.seq - b.seq
		})
	}
	if n := len(r.history.Records); n+len(r.pending) > cap(r.history.Records) {
		r.history.Records = slices.Grow(r.history.Records, n) // twofold: a record is large, and append would copy it more often
	}
	for i := range r.pending {
		r.line = appendRecord(r.line[:0], &r.pending[i].rec)
		r.write(r.line)
		r.history.Records = append(r.history.Records, r.pending[i].rec)
		r.settled = r.pending[i].rec.T
	}
	r.pending = r.pending[:0]
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
	return r.newest()
}

func (r *Recorder) newest() time.Duration {
	if len(r.pending) > 0 {
		return r.pending[0].rec.T
	}
	return r.settled
}

// Flush hands everything that was added to the underlying writer. After it, a
// record of the same instant may still be added.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
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
