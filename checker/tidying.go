package checker

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// A node may answer, or be reached, only after the operation that asked it is over:
// a quorum lock goes on without the slow ones. What such a node was granted, or may
// have been, has to be taken away then (redisson/redisson#1606); and what was
// meant for all nodes reaches the slow one last.

// tidying is what the commands of a history say of taking values away.
type tidying struct {
	scripts  map[string]bool    // by SHA-1: they take something away
	taken    map[taking]bool    // by the process that had stored the value
	answered map[clearing][]int // the records of the commands that a node did not refuse
}

// taking is the deletion of a value by the client that had stored it, or by another of
// its process.
type taking struct {
	node, client string
	at           time.Duration
}

// clearing is a node that was asked to take a value away.
type clearing struct{ node, value string }

// tidies reports whether with record i, a command, a client cleans up behind
// itself: it takes away a value of its own; or it tries to, on a node that has
// answered no such command since the value last came to it.
func (ix *index) tidies(i int) bool {
	r, t := ix.rec(i), ix.clearings()
	if t.taken[taking{r.Who, r.Client, r.T}] {
		return true
	}
	if !t.clears(r) {
		return false
	}
	for _, value := range r.Command[1:] {
		if by := ix.namer(value); by == "" || !ix.sameProcess(by, r.Client) {
			continue
		}
		return !slices.ContainsFunc(t.answered[clearing{r.Who, value}], func(k int) bool {
			return k < i && !ix.cameBetween(r.Who, r.Client, value, k, i)
		})
	}
	return false
}

// straggles reports whether record i is a command that its client sent other nodes
// during an operation, and that this one has for the first time.
func (ix *index) straggles(i int) bool {
	r := ix.rec(i)
	if ix.h.Header.Topology.Quorum < 2 {
		return false
	}
	sent := false
	for _, k := range ix.alike(r) {
		o := ix.rec(k)
		switch {
		case k >= i:
		case o.Who != r.Who:
			sent = sent || ix.busyAt(o.Client, cmp.Or(o.Sent, o.T)) != nil
		case !strings.HasPrefix(o.Reply, "(error)"):
			return false
		}
	}
	return sent
}

// alike returns the commands of r's client that say what r does, in order, whether a
// script comes by its text or by its name.
func (ix *index) alike(r *history.Record) []int {
	if ix.said == nil {
		ix.said = map[string][]int{}
		for i := range ix.h.Records {
			if o := ix.rec(i); o.Kind == history.Observe && o.Op == history.Command && o.Client != "" {
				what := saying(o)
				ix.said[what] = append(ix.said[what], i)
			}
		}
	}
	return ix.said[saying(r)]
}

// saying is what is the same for commands of a client that say the same.
func saying(r *history.Record) string {
	words := r.Command
	if script := scriptOf(words); script != "" {
		words = append([]string{script}, words[2:]...)
	}
	return r.Client + "\x00" + strings.Join(words, "\x00")
}

// cameBetween reports whether a process stored a value on a node between two records.
func (ix *index) cameBetween(node, client, value string, from, to int) bool {
	return slices.ContainsFunc(ix.process(client), func(name string) bool {
		return slices.ContainsFunc(ix.keys().of(name, value), func(l *life) bool {
			return l.node == node && l.begin > from && l.begin < to
		})
	})
}

// clearings arranges the commands that take values away.
func (ix *index) clearings() *tidying {
	if ix.tidying != nil {
		return ix.tidying
	}
	t := &tidying{scripts: map[string]bool{}, taken: map[taking]bool{}, answered: map[clearing][]int{}}
	ix.tidying = t
	for _, l := range ix.keys().lives {
		if l.how != deleted {
			continue
		}
		if ix.sameProcess(l.holder, l.by) {
			t.taken[taking{l.node, l.by, l.to}] = true
		}
		if c := ix.commandAt(l.end); c >= 0 {
			if id := scriptOf(ix.rec(c).Command); id != "" {
				t.scripts[id] = true
			}
		}
	}
	for i := range ix.h.Records {
		r := ix.rec(i)
		if r.Kind != history.Observe || r.Op != history.Command || !t.clears(r) || strings.HasPrefix(r.Reply, "(error)") {
			continue
		}
		for _, value := range r.Command[1:] {
			at := clearing{r.Who, value}
			t.answered[at] = append(t.answered[at], i)
		}
	}
	return t
}

// removing finds the calls in a script that take something away.
var removing = regexp.MustCompile(`(?i)['"](del|unlink|hdel|lrem|srem|zrem)['"]`)

// clears reports whether a command is one that takes something away.
func (t *tidying) clears(r *history.Record) bool {
	if len(r.Command) == 0 {
		return false
	}
	switch strings.ToUpper(r.Command[0]) {
	case "DEL", "UNLINK", "GETDEL", "HDEL", "LREM", "SREM", "ZREM":
		return true
	case "EVAL":
		if len(r.Command) > 1 && removing.MatchString(r.Command[1]) {
			t.scripts[scriptOf(r.Command)] = true
		}
	}
	return t.scripts[scriptOf(r.Command)]
}

// scriptOf names the script that a command runs, or returns "".
func scriptOf(command []string) string {
	if len(command) < 2 {
		return ""
	}
	switch strings.ToUpper(command[0]) {
	case "EVAL":
		sum := sha1.Sum([]byte(command[1]))
		return hex.EncodeToString(sum[:])
	case "EVALSHA":
		return strings.ToLower(command[1])
	}
	return ""
}
