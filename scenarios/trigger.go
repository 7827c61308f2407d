package scenarios

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lockpick/faults"
)

// whenFields are the fields of when beside the one that is called as a client.
var whenFields = []field[faults.Trigger]{
	countField("nth", optional, 1, maxCount, func(t *faults.Trigger) *int { return &t.Nth }),
	durationField("after", optional, anyTime, func(t *faults.Trigger) *time.Duration { return &t.After }),
}

var wireFields = []field[faults.Wire]{
	{name: "command", required: true, read: readCommand},
	choiceField("during", optional, faults.Phases(), func(w *faults.Wire) *faults.Phase { return &w.During }),
	choiceField("point", required, faults.Points(), func(w *faults.Wire) *faults.Point { return &w.Point }),
}

// readWhen reads a trigger: one client with what it did, and the other fields.
func readWhen(r *reader, n *yaml.Node, d *draft) {
	const example = "expected one, such as {client-1: acquired, after: 1s}"
	before := len(r.problems)
	pairs, ok := r.pairs(n, "when", example)
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
	isClient := func(p pair) bool { return clientText.MatchString(p.key.Value) }
	named := slices.ContainsFunc(pairs, isClient)
	var client *yaml.Node
	for _, p := range pairs {
		switch {
		case isField(whenFields, p.key.Value):
			rest.Content = append(rest.Content, p.key, p.value)
		case named && !isClient(p):
			r.wrong(p.key, "unknown field %s in when; %s", quote(p.key.Value), meant(p.key.Value, names(whenFields)))
		case client != nil:
			r.wrong(p.key, "a second client, %s, in when; %s", quote(p.key.Value), example)
		default:
			client = p.key
			d.when.Client, _ = r.client(p.key, p.key.Value, d.scenario.Workload.Clients, names(whenFields)...)
			r.happening(p.value, &d.when)
		}
	}
	if ok && client == nil {
		r.wrong(n, "when names no client; %s", example)
	}
	given := mapping(r, rest, "when", whenFields, &d.when)
	d.broken = d.broken || len(r.problems) > before || !ok
	if w := d.when.Wire; !d.broken && w != nil && w.Command > 0 && w.During == "" && d.when.Nth > 1 {
		r.wrong(given["nth"], "nth is %d, but a client has only one command %d; expected no nth, or during: to count in every phase",
			d.when.Nth, w.Command)
	}
}

// happening reads what a client does: an event, or a command on the wire.
func (r *reader) happening(n *yaml.Node, t *faults.Trigger) {
	if n.Kind != yaml.MappingNode {
		t.Event, _ = choice(r, n, "the event", faults.Events())
		return
	}
	t.Wire = &faults.Wire{}
	mapping(r, n, "a command's trigger", wireFields, t.Wire)
}

// commandText is how commands are called; the capitals are ours to make.
var commandText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*$`)

// readCommand reads a command's number, its name, or a list of names.
func readCommand(r *reader, n *yaml.Node, w *faults.Wire) {
	const example = "expected a number from 1, a name such as SET, or a list of names"
	switch {
	case n.Tag == "!!int" && n.Kind == yaml.ScalarNode:
		v, _ := r.integer(n, "command", 1, maxCount)
		w.Command = int(v)
		return
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		r.wrong(n, "command is an empty list; %s", example)
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	w.Names = r.commandNames(list, example)
}

// commandNames reads names of commands, in capitals or not.
func (r *reader) commandNames(list []*yaml.Node, example string) []string {
	var names []string
	for _, item := range list {
		switch name := strings.ToUpper(item.Value); {
		case unreadable(item):
		case item.Kind != yaml.ScalarNode || item.Tag != "!!str" || !commandText.MatchString(item.Value):
			r.wrong(item, "command is %s; %s", describe(item), example)
		case slices.Contains(names, name):
			r.wrong(item, "command %s is listed twice; expected it once", name)
		default:
			names = append(names, name)
		}
	}
	return names
}

func isField[T any](fields []field[T], name string) bool {
	return slices.ContainsFunc(fields, func(f field[T]) bool { return f.name == name })
}

// droppable checks that the trigger of a drop is set off by a message that can
// still be lost. drop, at and when are the values of those fields.
func (r *reader) droppable(drop, at, when *yaml.Node, d *draft) {
	fits := map[faults.Message]faults.Point{faults.Request: faults.BeforeSend, faults.Reply: faults.Applied}
	point, ok := fits[d.message]
	switch w := d.when.Wire; {
	case !ok: // and reported
	case at != nil:
		r.wrong(at, "drop has a time for its trigger; expected the command to lose, as in when: {client-1: {command: 1, point: %s}}", point)
	case w == nil:
		r.wrong(when, "drop has an event for its trigger; expected the command to lose, as in when: {client-1: {command: 1, point: %s}}", point)
	case w.Point != point:
		r.wrong(drop, "a %s cannot be lost when its command is at the point %s; expected point: %s", d.message, w.Point, point)
	case d.when.After > 0:
		r.wrong(when, "drop loses the message that sets it off, and %s after that is too late; expected no after", d.when.After)
	}
}
