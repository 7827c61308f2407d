package scenarios

import (
	"cmp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"lockpick/faults"
)

// draft is a step while its fields are being read.
type draft struct {
	scenario *Scenario

	client, node string
	link         faults.Link
	side         []faults.Use
	direction    faults.Direction
	message      faults.Message
	with         faults.Refusal
	commands     []string
	by, jump     time.Duration
	rate         float64
	key, data    string
	last         time.Duration

	lasts  time.Duration
	when   faults.Trigger
	broken bool // the trigger could not be read, so nothing can be said about it
}

// kind is one fault as a step can name it: the fields beside its word, and the
// fault that they make.
type kind struct {
	word   string
	fields []field[draft]
	build  func(d *draft) faults.Fault
}

// kinds lists every fault. Its words are those of faults.Catalog.
var kinds = []kind{
	lasting("pause", func(d *draft) faults.Fault { return faults.Pause{Client: d.client, Node: d.node} },
		partyField("pause", withSentinels)),
	momentary("crash", "a crashed client never speaks again, so crash takes no \"for\"; to stop it for a while, use pause",
		func(d *draft) faults.Fault { return faults.Crash{Client: d.client} }, clientField("crash")),
	momentary("cancel", "what is cancelled does not go on, so cancel takes no \"for\"; the client's next section is not struck",
		func(d *draft) faults.Fault { return faults.Cancel{Client: d.client} }, clientField("cancel")),
	lasting("cut", func(d *draft) faults.Fault { return faults.Cut{Link: d.link, Direction: d.direction} },
		linkField("cut"), directionField),
	lasting("partition", func(d *draft) faults.Fault { return faults.Partition{Side: d.side} },
		field[draft]{name: "partition", required: true, read: readSide}),
	lasting("hold", func(d *draft) faults.Fault { return faults.Hold{Link: d.link, Direction: d.direction} },
		linkField("hold"), directionField),
	lasting("slow", func(d *draft) faults.Fault { return faults.Slow{Link: d.link, Direction: d.direction, By: d.by} },
		linkField("slow"), directionField,
		durationField("by", required, someTime, func(d *draft) *time.Duration { return &d.by })),
	momentary("reset", "a reset is over at once, so it takes no \"for\"; to break a link for a while, use cut",
		func(d *draft) faults.Fault { return faults.Reset{Link: d.link} }, linkField("reset")),
	momentary("drop", "a drop loses one message, so it takes no \"for\"; to lose all for a while, use cut",
		func(d *draft) faults.Fault { return faults.Drop{What: d.message} },
		choiceField("drop", required, []faults.Message{faults.Request, faults.Reply},
			func(d *draft) *faults.Message { return &d.message })),
	momentary("clock", "a clock stays where it is moved, so it takes no \"for\"; to move it back, add a step with a negative jump",
		func(d *draft) faults.Fault { return faults.Clock{Client: d.client, Node: d.node, Jump: d.jump} },
		partyField("clock", withoutSentinels), field[draft]{name: "jump", required: true, read: readJump}),
	lasting("drift", func(d *draft) faults.Fault { return faults.Drift{Node: d.node, Rate: d.rate} },
		nodeField("drift", withoutSentinels), field[draft]{name: "rate", required: true, read: readRate}),
	momentary("evict", "what is evicted does not come back, so evict takes no \"for\"",
		func(d *draft) faults.Fault {
			return faults.Evict{Node: d.node, Key: cmp.Or(d.key, d.scenario.KeyOf(1))}
		},
		nodeField("evict", withoutSentinels), field[draft]{name: "key", read: readKey}),
	momentary("forget-scripts", "clients load again what is forgotten, so forget-scripts takes no \"for\"; to fail scripts for a while, use refuse",
		func(d *draft) faults.Fault { return faults.ForgetScripts{Node: d.node} }, nodeField("forget-scripts", withoutSentinels)),
	lasting("refuse", func(d *draft) faults.Fault {
		return faults.Refuse{Node: d.node, With: d.with, Commands: d.commands}
	},
		nodeField("refuse", withoutSentinels),
		choiceField("with", required, faults.Refusals(), func(d *draft) *faults.Refusal { return &d.with }),
		field[draft]{name: "commands", read: readCommands}),
	lasting("stop", func(d *draft) faults.Fault {
		return faults.Stop{Node: d.node, Lose: max(d.last, loses[d.data])}
	},
		nodeField("stop", withSentinels),
		choiceField("data", optional, []string{"kept", "lost"}, func(d *draft) *string { return &d.data }),
		field[draft]{name: "last", read: readLast}),
}

// loses says how much of a node's data is gone by the value of data.
var loses = map[string]time.Duration{"kept": 0, "lost": faults.Everything}

// lasting is a fault that ends after a while.
func lasting(word string, build func(*draft) faults.Fault, fields ...field[draft]) kind {
	fields = append(fields, durationField("for", optional, someTime, func(d *draft) *time.Duration { return &d.lasts }))
	return kind{word, append(fields, triggerFields...), build}
}

// momentary is a fault that cannot be healed, and says why to whoever tries.
func momentary(word, why string, build func(*draft) faults.Fault, fields ...field[draft]) kind {
	return kind{word, append(append(fields, refusedField[draft]("for", why)), triggerFields...), build}
}

var triggerFields = []field[draft]{
	{name: "at", read: func(r *reader, n *yaml.Node, d *draft) {
		at, ok := r.duration(n, "at", anyTime)
		d.when.At, d.broken = at, d.broken || !ok
	}},
	{name: "when", read: readWhen},
}

func readSteps(r *reader, n *yaml.Node, s *Scenario) {
	items, _ := r.list(n, "steps", "of faults with their triggers, or [] when nothing goes wrong")
	for _, item := range items {
		if r.full {
			return
		}
		if step, ok := r.step(item, s); ok {
			s.Steps = append(s.Steps, step)
		}
	}
}

// step reads one step by the fields of the fault that it names.
func (r *reader) step(n *yaml.Node, s *Scenario) (faults.Step, bool) {
	d := &draft{scenario: s, direction: faults.Both}
	k, rest := r.kind(n)
	switch {
	case rest == nil:
		return faults.Step{}, false
	case k == nil:
		r.faultless(rest, d)
		return faults.Step{}, false
	}
	given := mapping(r, rest, k.word, k.fields, d)
	at, when := given["at"], given["when"]
	switch {
	case at == nil && when == nil:
		r.wrong(n, "%s has no trigger; expected at: or when:", k.word)
	case at != nil && when != nil:
		r.wrong(when, "%s has two triggers, at and when; expected one of them", k.word)
	case k.word == "drop" && !d.broken:
		r.droppable(given["drop"], at, when, d)
	}
	return faults.Step{Fault: k.build(d), When: d.when, For: d.lasts}, true
}

// kind finds the fault that a step names, nil if there is none, and returns the
// step without the words of any further ones, nil if it is no mapping.
func (r *reader) kind(n *yaml.Node) (*kind, *yaml.Node) {
	if unreadable(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "a step is %s; expected a mapping such as {pause: client-1, for: 40s, at: 1s}", describe(n))
		return nil, nil
	}
	var found *kind
	rest := *n
	rest.Content = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.word == key.Value && key.Kind == yaml.ScalarNode })
		if at >= 0 && found != nil && found.word != key.Value {
			r.wrong(key, "a second fault, %s, in a step of %s; expected a step for each", key.Value, found.word)
			continue
		}
		if at >= 0 {
			found = &kinds[at]
		}
		rest.Content = append(rest.Content, key, n.Content[i+1])
	}
	return found, &rest
}

// faultless reports a step without a fault, at the word that was meant to be one
// if there is such a word. Whatever the fault, the trigger can still be read.
func (r *reader) faultless(n *yaml.Node, d *draft) {
	var words, fields []string
	for _, k := range kinds {
		words = append(words, k.word)
		for _, f := range k.fields {
			fields = append(fields, f.name)
		}
	}
	trigger := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
	named := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key := n.Content[i]; {
		case isField(triggerFields, key.Value):
			trigger.Content = append(trigger.Content, key, n.Content[i+1])
		case key.Kind == yaml.ScalarNode && !unreadable(key) && !slices.Contains(fields, key.Value) && !named:
			named = true
			r.wrong(key, "unknown fault %s; %s", quote(key.Value), meant(key.Value, words))
		}
	}
	if !named {
		r.wrong(n, "a step has no fault; %s", meant("", words))
	}
	mapping(r, trigger, "the step", triggerFields, d)
}
