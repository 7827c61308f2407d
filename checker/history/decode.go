package history

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that Decode accepts, in bytes. The longest that
// lockpick writes is a command with its arguments, a few hundred.
const MaxLine = 1 << 20

// LineError says at which line a history stopped making sense.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Decode reads a history. It is strict: an unknown field, a record out of time
// order or an operation that ends without having begun is a *LineError.
//
// When the header could be read, the history is returned even with an error: it
// holds every record before the line that made no sense, and Complete is false.
// A run that was killed is cut in the middle of a line or lacks its End; the
// second is no error.
func Decode(r io.Reader) (*History, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), MaxLine)
	line := 0
	fail := func(err error) error { return &LineError{Line: max(line, 1), Err: err} }

	if !sc.Scan() {
		if err := sc.Err(); err != nil {
			return nil, fail(err)
		}
		return nil, fail(errors.New("the file is empty"))
	}
	line++
	h := &History{}
	if err := decodeHeader(sc.Bytes(), &h.Header); err != nil {
		return nil, fail(err)
	}
	v := validator{}
	for sc.Scan() {
		line++
		var rec Record
		if err := strict(sc.Bytes(), &rec); err != nil {
			return h, fail(err)
		}
		if err := v.next(rec); err != nil {
			return h, fail(err)
		}
		h.Records = append(h.Records, rec)
	}
	if err := sc.Err(); err != nil {
		line++
		return h, fail(err)
	}
	h.Complete = v.ended
	return h, nil
}

// DecodeSum is Decode with the hexadecimal SHA-256 of the whole input, whether it
// makes sense or not.
func DecodeSum(r io.Reader) (*History, string, error) {
	sum := sha256.New()
	tee := io.TeeReader(r, sum)
	h, err := Decode(tee)
	if _, rest := io.Copy(io.Discard, tee); err == nil {
		err = rest
	}
	return h, hex.EncodeToString(sum.Sum(nil)), err
}

// decodeHeader first asks whether the line is a lockpick header at all, so that
// a foreign file is called foreign and not a file with an unknown field.
func decodeHeader(line []byte, h *Header) error {
	var probe struct {
		Lockpick *int `json:"lockpick"`
	}
	if err := json.Unmarshal(line, &probe); err != nil || probe.Lockpick == nil {
		return errors.New("this is not a lockpick history: its first line has no \"lockpick\" format number")
	}
	if *probe.Lockpick != Format {
		return Header{Lockpick: *probe.Lockpick}.Validate()
	}
	if err := strict(line, h); err != nil {
		return err
	}
	return h.Validate()
}

func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the line ends in the middle")
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on the line")
	}
	return nil
}

// validator holds what makes a sequence of records a history.
type validator struct {
	last  Record
	any   bool
	ended bool
	open  map[int]Record // operations that have begun, by ID
	used  map[int]bool   // IDs that have ended
}

func (v *validator) next(r Record) error {
	if v.ended {
		return errors.New("a record after the end of the run")
	}
	switch r.Kind {
	case Invoke, OK, Fail, Unknown, Observe, Fault, Note:
	default:
		return fmt.Errorf("%q is not a kind of record", r.Kind)
	}
	if r.Who == "" || r.Op == "" {
		return errors.New("a record needs \"who\" and \"op\"")
	}
	if r.T < 0 || v.any && r.T < v.last.T {
		return fmt.Errorf("time runs backwards: %d ns after %d ns", r.T, v.last.T)
	}
	if r.Kind == Invoke || r.Ends() {
		if err := v.operation(r); err != nil {
			return err
		}
	}
	v.last, v.any = r, true
	v.ended = r.Kind == Note && r.Op == End
	return nil
}

func (v *validator) operation(r Record) error {
	if v.open == nil {
		v.open, v.used = map[int]Record{}, map[int]bool{}
	}
	begin, isOpen := v.open[r.ID]
	switch {
	case r.ID < 1:
		return fmt.Errorf("%s %s has no id", r.Kind, r.Op)
	case r.Kind == Invoke && (isOpen || v.used[r.ID]):
		return fmt.Errorf("operation %d begins twice", r.ID)
	case r.Kind == Invoke:
		v.open[r.ID] = r
	case !isOpen:
		return fmt.Errorf("operation %d ends without having begun", r.ID)
	case begin.Who != r.Who || begin.Op != r.Op:
		return fmt.Errorf("operation %d began as %s of %s and ends as %s of %s", r.ID, begin.Op, begin.Who, r.Op, r.Who)
	default:
		delete(v.open, r.ID)
		v.used[r.ID] = true
	}
	return nil
}
