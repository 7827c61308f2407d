package links

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// witness writes down what hooks are told, and holds it to what they promise.
type witness struct {
	mu       sync.Mutex
	events   []string
	open     map[*Conn]bool
	fate     map[*Command]string
	telling  map[*Conn]bool
	problems []string
	sending  func(context.Context, *Command) bool
	answered func(*Command, []byte) bool
}

func newWitness() *witness {
	return &witness{open: map[*Conn]bool{}, fate: map[*Command]string{}, telling: map[*Conn]bool{}}
}

func (w *witness) hooks() Hooks {
	return Hooks{
		Opened: func(c *Conn) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.open[c] = true
			w.note("opened %d", c.Number)
		},
		Sending: func(ctx context.Context, m *Command) bool {
			w.mu.Lock()
			w.require(w.open[m.Conn], "a command is sent outside of its connection")
			w.fate[m] = ""
			w.note("sending %d.%d %s", m.Conn.Number, m.Number, strings.Join(m.Args, " "))
			w.mu.Unlock()
			return w.sending != nil && w.sending(ctx, m)
		},
		Answered: func(m *Command, reply []byte) bool {
			defer w.tell(m)()
			w.note("answered %d.%d %s", m.Conn.Number, m.Number, strings.TrimSpace(string(reply)))
			return w.answered != nil && w.answered(m, reply)
		},
		Delivered: func(m *Command) { w.end(m, "delivered") },
		Lost:      func(m *Command) { w.end(m, "lost") },
		Closed: func(c *Conn) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.require(w.open[c], "a connection is closed that is not open")
			w.open[c] = false
			w.note("closed %d", c.Number)
		},
	}
}

func (w *witness) end(m *Command, how string) {
	defer w.tell(m)()
	before, known := w.fate[m]
	w.require(known && before == "", "command %d.%d is %s after %q", m.Conn.Number, m.Number, how, before)
	w.fate[m] = how
	w.note("%s %d.%d", how, m.Conn.Number, m.Number)
}

// tell begins what must not happen twice at a time for a connection. It returns
// with w.mu held what ends it.
func (w *witness) tell(m *Command) func() {
	w.mu.Lock()
	w.require(!w.telling[m.Conn], "two hooks of a connection at a time")
	w.require(w.open[m.Conn], "a hook outside of its connection")
	w.telling[m.Conn] = true
	w.mu.Unlock()
	runtime.Gosched()
	w.mu.Lock()
	return func() {
		w.telling[m.Conn] = false
		w.mu.Unlock()
	}
}

func (w *witness) require(is bool, format string, args ...any) {
	if !is {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

func (w *witness) note(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

func (w *witness) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func (w *witness) await(t testing.TB, events ...string) {
	t.Helper()
	for _, e := range events {
		ok := func() bool { return slices.Contains(w.all(), e) }
		for end := time.Now().Add(bound); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q has not happened, but %q", e, w.all())
			}
		}
	}
}

// want says what has become of everything once the network is closed.
func (w *witness) want(t testing.TB, want ...string) {
	t.Helper()
	if got := w.all(); !slices.Equal(got, want) {
		t.Errorf("hooks were told\n%q, want\n%q", got, want)
	}
}

// over holds hooks to what they promise when the network is closed.
func (w *witness) over(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for m, how := range w.fate {
		w.require(how != "", "command %d.%d is neither delivered nor lost", m.Conn.Number, m.Number)
	}
	for c, open := range w.open {
		w.require(!open, "connection %d was not closed", c.Number)
	}
	for _, p := range w.problems {
		t.Error(p)
	}
}
