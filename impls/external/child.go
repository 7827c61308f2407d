package external

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"lockpick/impls"
	"lockpick/internal/child"
)

var (
	// ErrProtocol means that a client does not speak the adapter protocol. It has
	// been killed.
	ErrProtocol = errors.New("external: the client does not keep to the adapter protocol")

	// ErrDied means that the client's process has ended, or was killed. What it was
	// about to do is unknown.
	ErrDied = errors.New("external: the client's process has ended")
)

const (
	// patience is how long a client may take to open and to close a lock, which
	// wait for nobody.
	patience = 10 * time.Second

	// backlog is how many requests a client may leave unread.
	backlog = 1024

	// lastWords is how much of what a client wrote to standard error is kept.
	lastWords = 4 << 10
)

// Child is a client that runs. Its methods are safe for concurrent use.
type Child struct {
	process *child.Process
	out     chan []byte   // requests that are not written yet
	over    chan struct{} // closed when there will be no more of them
	once    sync.Once     // closes over
	ended   chan struct{} // closed when it has ended and everything it wrote is read

	mu      sync.Mutex // guards what follows
	ids     int64
	waiting map[int64]chan reply
	leases  map[int64]chan struct{} // Lost, by the request that was granted the lease
	wrong   error                   // why it was killed
	said    tail
}

// Start starts the program of cmd, whose standard streams must not be set. The
// program is killed when this process ends, however that is.
func Start(cmd *exec.Cmd) (*Child, error) {
	c := &Child{
		out: make(chan []byte, backlog), over: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[int64]chan reply{}, leases: map[int64]chan struct{}{},
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("external: start a client: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("external: start a client: %w", err), theirIn.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &c.said
	cmd.WaitDelay = time.Second // for a grandchild that keeps standard error open
	c.process, err = child.Start(cmd)
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("external: start a client: %w", err), in.Close(), out.Close())
	}
	go c.write(in)
	go c.read(out)
	return c, nil
}

// write sends the requests, until the client has ended.
func (c *Child) write(in io.WriteCloser) {
	defer in.Close()
	for {
		select {
		case line := <-c.out:
			if _, err := in.Write(line); err != nil {
				return // it has ended, or does not read any more; read finds out
			}
		case <-c.over:
			return
		case <-c.ended:
			return
		}
	}
}

// read takes what the client says, until it has ended.
func (c *Child) read(out io.ReadCloser) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if err := c.hear(lines.Bytes()); err != nil {
			c.kill(fmt.Errorf("%w: line %d of its output %w", ErrProtocol, n, err))
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		c.kill(fmt.Errorf("%w: a line of its output is longer than %d bytes", ErrProtocol, maxLine))
	}
	<-c.process.Ended()
	close(c.ended)
}

// hear takes one line. The error continues "line 3 of its output".
func (c *Child) hear(line []byte) error {
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("is no JSON object of the protocol: %s", excerpt(line))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Lost != 0 {
		lost := c.leases[r.Lost]
		if lost == nil {
			return fmt.Errorf("tells of the loss of a lease of request %d, which has none to lose", r.Lost)
		}
		delete(c.leases, r.Lost)
		close(lost)
		return nil
	}
	call := c.waiting[r.ID]
	if call == nil {
		return fmt.Errorf("answers request %d, which waits for no answer: %s", r.ID, excerpt(line))
	}
	delete(c.waiting, r.ID)
	if r.Lease != nil && r.Lease.Tells {
		r.lost = make(chan struct{})
		c.leases[r.ID] = r.lost // before the news can come
	}
	call <- r
	return nil
}

// excerpt is the beginning of a line, quoted.
func excerpt(line []byte) string {
	const most = 80
	text := strings.ToValidUTF8(string(line), string(utf8.RuneError))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// kill ends the client because of err, unless it was killed before.
func (c *Child) kill(err error) {
	c.mu.Lock()
	if c.wrong == nil {
		c.wrong = err
	}
	c.mu.Unlock()
	_ = c.process.Kill() // it can only have ended by itself
}

// Process is the client's process, to be paused, resumed and killed.
func (c *Child) Process() *child.Process { return c.process }

// Err says how the client ended, nil while it runs.
func (c *Child) Err() error {
	select {
	case <-c.ended:
	default:
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.wrong
	if err == nil {
		how := "with exit status 0"
		if ending := c.process.Err(); ending != nil {
			how = "with " + ending.Error()
		}
		err = fmt.Errorf("%w %s", ErrDied, how)
	}
	if words := c.said.String(); words != "" {
		err = fmt.Errorf("%w; the last that it wrote to standard error:\n%s", err, words)
	}
	return err
}

// call sends a request and waits for its answer. When ctx ends, the client is
// told so and is waited for all the same, as a lock in this process would be.
// sent is when the request left.
func (c *Child) call(ctx context.Context, r request) (got reply, sent time.Time, err error) {
	answer := make(chan reply, 1)
	c.mu.Lock()
	c.ids++
	r.ID = c.ids
	c.waiting[r.ID] = answer
	c.mu.Unlock()
	sent = time.Now()
	done := ctx.Done()
	if r.Cancelled = ctx.Err() != nil; r.Cancelled {
		done = nil
	}
	c.send(r)
	for {
		select {
		case got = <-answer:
			return got, sent, got.Error.err()
		case <-done:
			done = nil
			c.send(request{ID: c.number(), Op: opCancel, Of: r.ID})
		case <-c.ended:
			select {
			case got = <-answer: // its last words
				return got, sent, got.Error.err()
			default:
				return reply{}, sent, c.Err()
			}
		}
	}
}

func (c *Child) number() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return c.ids
}

func (c *Child) send(r request) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // requests have nothing that JSON cannot say
	}
	select {
	case c.out <- append(line, '\n'):
	case <-c.ended:
	default:
		c.kill(fmt.Errorf("%w: it leaves %d requests unread", ErrProtocol, backlog))
	}
}

// soon is call for what waits for nobody.
func (c *Child) soon(r request) (reply, error) {
	type result struct {
		reply reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		got, _, err := c.call(context.Background(), r)
		done <- result{got, err}
	}()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case got := <-done:
		return got.reply, got.err
	case <-limit.C:
		c.kill(fmt.Errorf("%w: it has not answered %q within %v", ErrProtocol, r.Op, patience))
		got := <-done
		return got.reply, got.err
	}
}

// Ping returns when the client has answered, and so is ready.
func (c *Child) Ping() error {
	_, err := c.soon(request{Op: opPing})
	return err
}

// SetClock sets the client's wall clock to be so far ahead of the machine's, in whole
// milliseconds. It has been when SetClock returns.
func (c *Child) SetClock(ahead time.Duration) error {
	_, err := c.soon(request{Op: opClock, Ahead: ahead.Milliseconds()})
	return err
}

// Open makes a handle on a lock over there.
func (c *Child) Open(o Open) (impls.Lock, error) {
	o.Protocol = Protocol
	got, err := c.soon(request{Op: opOpen, Open: &o})
	switch {
	case err != nil:
		return nil, err
	case got.Open == nil || got.Open.Protocol != Protocol:
		err := fmt.Errorf("%w: its answer to open does not say that it speaks version %d", ErrProtocol, Protocol)
		c.kill(err)
		return nil, err
	}
	l := &lock{child: c, number: got.ID, leases: map[string]int64{}}
	return l.withAbilities(*got.Open), nil
}

// Stop ends the client in an orderly way: its input ends, and so should it. What
// has not ended after the given time is killed.
func (c *Child) Stop(within time.Duration) {
	c.once.Do(func() { close(c.over) })
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-c.ended:
	case <-limit.C:
		_ = c.process.Kill() // it can only have ended by itself
		<-c.ended
	}
}

// tail keeps the last of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if over := len(t.last) - lastWords; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(bytes.ToValidUTF8(t.last, []byte("\uFFFD"))))
}
