package harness

import (
	"errors"
	"strings"
	"testing"

	"lockpick/internal/testbed"
)

type named struct{ name string }

func (n *named) String() string { return n.name }

type mute struct{ text *string }

func (m mute) Error() string { return *m.text }

func fill(m map[string]int) error {
	m["a"] = 1
	return nil
}

// What is said of a panic is the same in every run: no address shows. The place is
// left out, since these methods are no lock's but the harness's own.
func TestPanicText(t *testing.T) {
	var nothing *named
	for _, tt := range []struct {
		name   string
		method func() error
		want   string // it begins with
	}{
		{"a text", func() error { panic("boom") }, "panic: boom"},
		{"a number", func() error { panic(7) }, "panic: 7"},
		{"an error", func() error { panic(errors.New("not locked")) }, "panic: not locked"},
		{"what says itself", func() error { panic(&named{"a monitor"}) }, "panic: a monitor"},
		{"an error that cannot be read", func() error { panic(mute{}) }, "panic: %!v(PANIC=Error method: runtime error: invalid memory address or nil pointer dereference)"},
		{"a pointer", func() error { panic(new(int)) }, "panic: *int"},
		{"a struct of pointers", func() error { panic(struct{ p *int }{new(int)}) }, "panic: struct { p *int }"},
		{"nothing", func() error { panic(nil) }, "panic: panic called with nil argument"},
		{"a nil pointer", func() error { return errors.New(nothing.name) }, "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"a nil map", func() error { return fill(nil) }, "panic: assignment to entry in nil map"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := call(tt.method)
			if !isPanic(err) || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "0x") {
				t.Errorf("call = %v, want %s", err, tt.want)
			}
		})
	}
	refused := errors.New("refused")
	if err := call(func() error { return refused }); err != refused || isPanic(err) { //nolint:errorlint // the very same
		t.Errorf("call = %v, want what the method returned", err)
	}
}

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"runtime.gopanic":                              "runtime",
		"lockpick/impls/watchdog.(*lock).Release":      "lockpick/impls/watchdog",
		"lockpick/impls/watchdog.init.func1":           "lockpick/impls/watchdog",
		"gopkg.in/yaml%2ev3.Unmarshal":                 "gopkg.in/yaml%2ev3",
		"slices.SortFunc[go.shape.[]int,go.shape.int]": "slices",
		"main.main": "main",
	} {
		if got := packageOf(function); got != want {
			t.Errorf("packageOf(%q) = %q, want %q", function, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	type answers = testbed.Answers
	for _, tt := range []struct {
		name          string
		before, after answers
		want          bool
	}{
		{"all was answered", answers{Sent: 3}, answers{Sent: 5}, true},
		{"nothing was asked", answers{Sent: 3}, answers{Sent: 3}, false},
		{"one is not answered yet", answers{Sent: 3}, answers{Sent: 5, Waiting: 1}, false},
		{"one will not be", answers{Sent: 3}, answers{Sent: 5, Missed: 1}, false},
		{"one of before will not be", answers{Sent: 3, Missed: 1}, answers{Sent: 5, Missed: 1}, true},
		{"one of before was answered meanwhile", answers{Sent: 3, Waiting: 1}, answers{Sent: 5}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := complete(tt.before, tt.after); got != tt.want {
				t.Errorf("complete(%+v, %+v) = %v", tt.before, tt.after, got)
			}
		})
	}
}
