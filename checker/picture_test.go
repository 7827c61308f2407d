package checker

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The picture has the operations around the violation and leaves the others out.
func TestPicture(t *testing.T) {
	before := ""
	for i := range 400 {
		before += fmt.Sprintf("client-9 acquire %dus..%dus ok z%d round=%d\n", 10*i, 10*i+1, i, i+1)
		before += fmt.Sprintf("client-9 release %dus..%dus ok z%d round=%d\n", 10*i+2, 10*i+3, i, i+1)
	}
	stories := map[string]string{
		"two holds overlap": `
			client-1 acquire 11ms..12ms ok a
			client-2 acquire 13ms..14ms ok b
			client-1 release 15ms..16ms ok a`,
		"a lease was not over": `
			lock ttl=10ms
			client-1 acquire 11ms..12ms ok a
			client-2 acquire 13ms..14ms ok b`,
		"refused though free": `
			client-1 acquire 11ms..12ms ok a
			client-1 release 13ms..14ms ok a
			client-2 acquire 15ms..16ms fail`,
		"released twice": `
			client-1 acquire 11ms..12ms ok a
			client-1 release 13ms..14ms ok a
			client-1 release 15ms..16ms ok a`,
		"never granted": `
			client-1 release 13ms..14ms ok a`,
	}
	for name, text := range stories {
		t.Run(name, func(t *testing.T) {
			page, err := Picture(mustTell(t, before+text+"\nend 20ms").h)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"<html", "client-1: "} {
				if !bytes.Contains(page, []byte(want)) {
					t.Errorf("the page lacks %q", want)
				}
			}
			if bytes.Contains(page, []byte("client-9: ")) {
				t.Error("the page has what came long before")
			}
		})
	}
}

// Of several locks the picture is of the one that is violated.
func TestPictureOfSeveralLocks(t *testing.T) {
	const text = `
		lock key=order count=2
		clients client-1 client-2 client-3 client-4
		client-1 acquire 1ms..2ms ok a
		client-2 acquire 1ms..2ms ok b
		client-4 acquire 3ms..4ms ok d
		end 20ms`
	page, err := Picture(mustTell(t, text).h)
	if err != nil {
		t.Fatal(err)
	}
	for client, want := range map[string]bool{"client-1: ": false, "client-2: ": true, "client-4: ": true} {
		if bytes.Contains(page, []byte(client)) != want {
			t.Errorf("the page has %q: %v, want %v", client, !want, want)
		}
	}
	if page, err := Picture(mustTell(t, strings.ReplaceAll(text, "client-4 acquire 3ms..4ms ok d", "")).h); err == nil {
		t.Errorf("a picture of no violation, of %d bytes", len(page))
	}
}

// Porcupine finds no order in the window either.
func TestPictureIsOfAViolation(t *testing.T) {
	ops := []lockOp{
		{span{1, 2}, 0, "acquire", 1, yes},
		{span{3, 4}, 1, "acquire", 2, yes},
		{span{5, 6}, 0, "release", 1, yes},
	}
	if _, verdict, err := drawLock(ops, []string{"a", "b"}, drawLimit); err != nil || verdict != Violated {
		t.Errorf("drawLock = %v, %v", verdict, err)
	}
	if _, verdict, err := drawLock(ops[:1], []string{"a", "b"}, drawLimit); err != nil || verdict != Holds {
		t.Errorf("drawLock = %v, %v", verdict, err)
	}
}

func TestNoPictureWithoutAViolation(t *testing.T) {
	_, err := Picture(mustTell(t, "client-1 acquire 1ms..2ms ok a\nend 3ms").h)
	if err == nil || !strings.Contains(err.Error(), "no violation") {
		t.Errorf("the error is %v", err)
	}
}
